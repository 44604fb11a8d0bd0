output "components" {
  description = "All outputs by component, the shape that Salt sees as pillar `terraform:production`."
  value = {
    networking = module.networking
    consul     = module.consul
    vault      = module.vault
    boundary   = module.boundary
    hera       = module.hera
    hecate     = module.hecate
    backups    = module.backups
  }
}

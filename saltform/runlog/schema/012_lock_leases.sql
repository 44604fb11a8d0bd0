-- Across masters a lock is a lease: until `expires`, by the database's clock, its holder counts as alive, connected or not.
ALTER TABLE locks ADD COLUMN expires TEXT NOT NULL DEFAULT '';
-- 'stopping': its holder could not renew it in time and has interrupted its terraform.
ALTER TABLE locks ADD COLUMN state TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN expires TEXT NOT NULL DEFAULT '';

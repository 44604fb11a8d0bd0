"""Whatever the master's shell and home folder say, terraform does the same."""

from __future__ import annotations

import pytest

from saltform.terraform import apply, init, planning

ROOT = """
variable "cidr" { default = "from the root" }

resource "terraform_data" "seen" {
  input = var.cidr
  provisioner "local-exec" { command = "env | sort > environment" }
}

output "cidr" { value = var.cidr }
"""
AWS_ROOT = {
    "terraform": {"required_providers": {"aws": {"source": "registry.terraform.io/hashicorp/aws"}}},
    "provider": {
        "aws": {
            "region": "ap-southeast-2",
            "skip_credentials_validation": True,
            "skip_requesting_account_id": True,
            "skip_metadata_api_check": True,
            "skip_get_ec2_platforms": True,
        }
    },
    "resource": {"aws_vpc": {"main": {"cidr_block": "10.0.0.0/16"}}},
}


@pytest.fixture
def planted(monkeypatch, tmp_path):
    """A master whose administrator has used AWS, Azure and Terraform by hand."""
    home = tmp_path / "planted-home"
    (home / ".aws").mkdir(parents=True)
    (home / ".aws/config").write_text("[default]\ncredential_process = /bin/false\n[profile x]\nregion = mars-1\n")
    (home / ".aws/credentials").write_text("nonsense that no SDK can parse [[[\n")
    (home / ".terraformrc").write_text("this is no configuration {{{\n")
    (home / ".terraform.d").mkdir()
    (home / ".terraform.d/credentials.tfrc.json").write_text("{{{")
    names = {
        "HOME": str(home),
        "AWS_PROFILE": "does-not-exist",
        "AWS_CA_BUNDLE": "/nowhere/ca.pem",
        "AWS_SDK_LOAD_CONFIG": "1",
        "SSL_CERT_FILE": "/nowhere/ca.pem",
        "ARM_CLIENT_ID": "planted",
        "ARM_CLIENT_SECRET": "planted",
        "TF_VAR_cidr": "from the shell",
        "TF_CLI_ARGS": "-no-such-option",
        "TF_CLI_ARGS_plan": "-destroy",
        "TF_CLI_CONFIG_FILE": str(home / ".terraformrc"),
        "TF_DATA_DIR": "/nowhere/data",
        "TF_WORKSPACE": "planted",
        "TF_LOG": "TRACE",
        "TF_PLUGIN_CACHE_DIR": "/nowhere/plugins",
        "TF_REATTACH_PROVIDERS": "{{{",
    }
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    return names


def test_nothing_planted_matters_to_terraform(planted, make_session, binary):
    session = make_session(binary, ROOT)
    init.run(session)
    plan = planning.run(session, session.workspace / "plan")
    assert [change["action"] for change in plan.changes] == ["create"]
    apply.run(session, session.workspace / "plan")
    seen = (session.workspace / "environment").read_text()
    for name in planted.keys() - {"HOME", "TF_CLI_CONFIG_FILE"}:
        assert f"\n{name}=" not in f"\n{seen}"
    assert "from the root" in (session.workspace / "terraform.tfstate").read_text()


def test_nothing_planted_matters_to_the_aws_provider(planted, make_session, binary):
    lent = {"AWS_ACCESS_KEY_ID": "lent", "AWS_SECRET_ACCESS_KEY": "lent"}
    session = make_session(binary, AWS_ROOT, env=lent)
    init.run(session)
    assert planning.run(session, None).counts["add"] == 1

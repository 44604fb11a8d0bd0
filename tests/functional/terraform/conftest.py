"""Plain Terraform on a copy of terraform/, with every provider version there is."""

from __future__ import annotations

import shutil

import pytest

from tests.support.plain_terraform import PlainTerraform, provider_mirrors
from tests.support.terraform_files import ROOT


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Mirror and versions of the binary, made once."""
    folder = tmp_path_factory.mktemp("terraform-cache")
    yield folder
    shutil.rmtree(folder)  # the provider alone is 170 MB


@pytest.fixture(scope="module", params=provider_mirrors(), ids=["packaged", "newer"][: len(provider_mirrors())])
def terraform_in(request, cache, tmp_path_factory):
    """`terraform_in("environments/staging")`: Terraform in that folder of a fresh copy of terraform/."""
    tree = tmp_path_factory.mktemp("tree") / "terraform"
    shutil.copytree(
        ROOT / "terraform", tree, ignore=shutil.ignore_patterns(".terraform", "*.tfstate*", ".terraform.lock.hcl")
    )

    def make(folder: str, **environment: str) -> PlainTerraform:
        (tree / folder).mkdir(parents=True, exist_ok=True)
        return PlainTerraform(tree / folder, cache, request.param, environment)

    return make

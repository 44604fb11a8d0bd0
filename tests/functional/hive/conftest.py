"""A running emulator, and real Terraform on it. Shared by all functional tests of the emulator."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hive_emulator.testing import RunningHive, running_emulator

sys.path.insert(0, str(Path(__file__).parent))

from hive_inventory import inventory
from hive_terraform import Provider, Workspace, mirrored_version, packaged_mirror, workspace


@pytest.fixture(scope="session")
def hive() -> Iterator[RunningHive]:
    """One emulator for all of these tests."""
    with running_emulator() as running:
        yield running


@pytest.fixture(scope="session")
def providers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Provider]]:
    """The packaged provider as "packaged"; the newest in HIVE_TEST_PROVIDERS, a mirror's folder, as "newer"."""
    scratch = tmp_path_factory.mktemp("providers")
    mirror = packaged_mirror(scratch / "mirror")
    found = {"packaged": Provider(mirror, mirrored_version(mirror), scratch)}
    given = os.environ.get("HIVE_TEST_PROVIDERS")
    if given:
        other = tmp_path_factory.mktemp("newer")
        found["newer"] = Provider(Path(given), mirrored_version(Path(given)), other)
    yield found
    shutil.rmtree(mirror)


@pytest.fixture(params=["packaged", "newer"])
def provider(request: pytest.FixtureRequest, providers: dict[str, Provider]) -> Provider:
    """Each provider in turn."""
    if request.param not in providers:
        pytest.skip("set HIVE_TEST_PROVIDERS to a filesystem mirror with a newer hashicorp/aws")
    return providers[request.param]


@pytest.fixture
def newer_provider(providers: dict[str, Provider]) -> Provider:
    """For resource types that only newer providers have."""
    if "newer" not in providers:
        pytest.skip("set HIVE_TEST_PROVIDERS to a filesystem mirror with a newer hashicorp/aws")
    return providers["newer"]


@pytest.fixture
def tf(hive: RunningHive, provider: Provider, tmp_path: Path) -> Callable[[str], Workspace]:
    """``tf(config_text)``: a workspace, initialised, with this provider."""

    def make(config: str) -> Workspace:
        return workspace(hive, provider, tmp_path, config)

    return make


@pytest.fixture
def nothing_left(hive: RunningHive) -> Iterator[None]:
    """After the test the account has what it had before it, and nothing else."""
    ec2 = hive.client("ec2")
    before = inventory(ec2)
    yield
    assert inventory(ec2) == before


@pytest.fixture
def life_cycle(
    tf: Callable[[str], Workspace], nothing_left: None
) -> Callable[[str, str], tuple[Workspace, dict[str, object]]]:
    """``life_cycle(before, after)``: apply, empty plan, update in place, empty plan; destroyed at the end.

    Returns the workspace and its outputs after the update.
    """
    made: list[Workspace] = []

    def run(before: str, after: str) -> tuple[Workspace, dict[str, object]]:
        made.append(tf(before))
        space = made[0]
        space.apply()
        assert space.plan() == {}
        changed = space.apply(after)
        assert changed, "the second configuration changes nothing"
        assert set(changed.values()) <= {"update", "create", "delete"}, f"replaced: {changed}"
        assert "update" in changed.values()
        assert space.plan() == {}
        return space, space.outputs()

    yield run
    for space in made:
        space.destroy()

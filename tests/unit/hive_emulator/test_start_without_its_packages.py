"""Who has installed Saltform without the extra `emulator` is told so, and doesn't see a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


# Those that it can't start without; the extra brings all.
@pytest.mark.parametrize("package", ["httptools", "orjson", "uvloop"])
def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(package: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from hive_emulator.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "serve", "--port", "0", "--data-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    fix = "pip install '.[emulator]' in a checkout of Saltform"
    why = f"hive-emulator: the Python package {package} is not installed here: {fix}\n"
    assert (done.returncode, done.stderr) == (1, why)

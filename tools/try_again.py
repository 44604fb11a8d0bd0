"""Run once more, one after another, the tests that a log of pytest calls failed: `try_again.py LOG`.

The first try runs beside everything else on all cores, with live masters and real processes. A test that fails there
and passes alone met a busy machine; a defect fails twice. Both tries are printed. More than a few failures, or none
in the log of a run that failed, are not tried again.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

MOST = 5


def failed(log: str) -> list[str]:
    """The functions of the tests that failed, each once: their parameters may have spaces in them, so all are run."""
    return sorted(set(re.findall(r"^(?:FAILED|ERROR) (tests/[^\s\[]+)", log, re.M)))


def main(log: Path) -> int:
    tests = failed(log.read_text(errors="replace"))
    if not 0 < len(tests) <= MOST:
        return 1
    print(f"\nfailed beside the others, tried again alone: {', '.join(tests)}", flush=True)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *tests]).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

"""``python -m hive_emulator``."""

from __future__ import annotations

import sys

from hive_emulator.cli import main

sys.exit(main())

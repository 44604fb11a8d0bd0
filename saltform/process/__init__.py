"""The only room that starts processes: their environment, output, signals, time-outs."""

from saltform.process.environment import BACKEND_PROFILE, BACKEND_VARIABLE, MANAGED, clean_environment
from saltform.process.interface import HURRY, Cancel, OnBlock, OnLine, Processes, Result
from saltform.process.real import RealProcesses

__all__ = [
    "BACKEND_PROFILE",
    "BACKEND_VARIABLE",
    "HURRY",
    "MANAGED",
    "Cancel",
    "OnBlock",
    "OnLine",
    "Processes",
    "RealProcesses",
    "Result",
    "clean_environment",
]

"""The only room that starts processes: their environment, output, signals, time-outs."""

from saltform.process.environment import (
    BACKEND_PROFILE,
    BACKEND_VARIABLE,
    GIT_PROTOCOLS,
    clean_environment,
    steers,
)
from saltform.process.interface import HURRY, LOST_LOCK, Cancel, OnBlock, OnLine, Processes, Result
from saltform.process.lease import Lease
from saltform.process.real import RealProcesses

__all__ = [
    "BACKEND_PROFILE",
    "BACKEND_VARIABLE",
    "GIT_PROTOCOLS",
    "HURRY",
    "LOST_LOCK",
    "Cancel",
    "Lease",
    "OnBlock",
    "OnLine",
    "Processes",
    "RealProcesses",
    "Result",
    "clean_environment",
    "steers",
]

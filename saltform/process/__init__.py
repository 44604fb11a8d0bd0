"""The only room that starts processes: their environment, output, signals, time-outs, and a twin for tests."""

from saltform.process.environment import BACKEND_PROFILE, BACKEND_VARIABLE, MANAGED, clean_environment
from saltform.process.interface import HURRY, Cancel, OnBlock, OnLine, Processes, Result
from saltform.process.real import RealProcesses
from saltform.process.scripted import Answer, Call, ScriptedProcesses

__all__ = [
    "BACKEND_PROFILE",
    "BACKEND_VARIABLE",
    "HURRY",
    "MANAGED",
    "Answer",
    "Call",
    "Cancel",
    "OnBlock",
    "OnLine",
    "Processes",
    "RealProcesses",
    "Result",
    "ScriptedProcesses",
    "clean_environment",
]

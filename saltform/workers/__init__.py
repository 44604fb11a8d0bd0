"""Where a step runs: a small pool of threads on this host."""

from saltform.workers.pool import pump
from saltform.workers.signals import cancelling
from saltform.workers.watching import CANCEL, watching

__all__ = ["CANCEL", "cancelling", "pump", "watching"]

"""The one room of the engine that knows Salt: from a loader module's dunders to the engine's services.

Salt is imported inside the functions, so that the engine itself never needs it.
"""

from saltform.bridge.minion import minion_call, state_call
from saltform.bridge.runner import call, runner_call

__all__ = ["call", "minion_call", "runner_call", "state_call"]

"""The one room of the engine that knows Salt: from a loader module's dunders to the engine's services.

Salt is imported inside the functions, so that the engine itself never needs it.
"""

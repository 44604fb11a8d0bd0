"""An environment opened for a verb: its components as pillar, modules, records and releases say, before any work."""

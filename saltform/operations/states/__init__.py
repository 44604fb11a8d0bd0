"""The states of an environment: where they are, read, moved, copied for pillar, mended; and what no state knows."""

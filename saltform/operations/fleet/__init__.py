"""Instances and their minions: room for them, whose keys are accepted, and when they are as they should be."""

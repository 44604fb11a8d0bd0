"""Releases: what a component was made of, how two differ, and what has to hold before they travel."""

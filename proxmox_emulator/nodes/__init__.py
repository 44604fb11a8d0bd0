"""Nodes and the cluster that they form."""

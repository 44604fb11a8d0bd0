"""Calls as data: which there are, what they take, who may; and the HTTP in front of them."""

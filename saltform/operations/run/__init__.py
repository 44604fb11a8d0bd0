"""A run: who asks for it and may, what it is given, how it is pumped, goes on and is undone, what it returns."""

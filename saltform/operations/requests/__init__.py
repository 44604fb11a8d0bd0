"""What minions ask for by events: the form of a request, who may ask, and how many may ask at once."""

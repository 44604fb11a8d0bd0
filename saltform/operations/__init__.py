"""One file for each verb, named like it; the only place that joins rooms. What they share is in the rooms below."""

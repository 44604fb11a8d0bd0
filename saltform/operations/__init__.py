"""One file for each verb, named like it; the only place that joins rooms."""

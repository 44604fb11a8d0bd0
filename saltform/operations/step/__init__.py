"""One component in a run: planned, judged, applied, destroyed or checked. Imported only when there is work."""

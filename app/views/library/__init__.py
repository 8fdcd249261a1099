"""Pages about the available runs, data sets and words."""

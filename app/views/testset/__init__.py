"""Pages about the rows of a test set."""

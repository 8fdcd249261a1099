"""Pages about one sentence."""

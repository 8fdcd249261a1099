"""Pages about how a model was trained."""

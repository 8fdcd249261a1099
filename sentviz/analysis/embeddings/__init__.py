"""Pictures of pooled vectors, what they are kept in, and how far they can be trusted."""

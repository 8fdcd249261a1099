"""A page per paper, and their claims."""

"""Data sets from the public hub, resumable and checked by digest."""

"""Pieces that several pages show: a figure with its exports, rows, choices of a run, the sentence box."""

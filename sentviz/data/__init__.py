"""Data sets, their texts, and how texts become tokens."""

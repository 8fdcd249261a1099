"""Attention taken apart: cells, layers, heads, components, the lexicon's part, and maps small enough for a browser."""

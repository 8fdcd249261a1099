"""Clustering in pure-attention hardmax transformers (arXiv 2407.01602)."""

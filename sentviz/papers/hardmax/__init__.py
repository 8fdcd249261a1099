"""Clustering in pure-attention hardmax transformers and its role in sentiment analysis (arXiv 2407.01602)."""

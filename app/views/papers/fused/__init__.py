"""Sections of the page of Sentiment-Fused Attention."""

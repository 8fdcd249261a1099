"""Sentiment-Fused Attention (Jang, Kim and Shin)."""

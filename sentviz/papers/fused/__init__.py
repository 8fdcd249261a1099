"""Enhancing Self-Attention via Knowledge Fusion, or Sentiment-Fused Attention (Jang, Kim and Shin)."""

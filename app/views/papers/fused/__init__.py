"""The page of Sentiment-Fused Attention."""

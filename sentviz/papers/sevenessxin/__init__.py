"""7ess-Xin: sentiment analysis with transformers (Guenfoudi and Liu)."""

"""NDT: Non-Differential Transformer and Its Application to Sentiment Analysis (arXiv 2603.20704)."""

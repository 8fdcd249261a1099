"""SentiFormer: A Theoretical Framework for Transformer-Based Sentiment Analysis (Gupta, Gupta, Agrawal, Shrivastava)."""

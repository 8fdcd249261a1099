"""Replace states inside a model and measure what happens to its prediction; take its logits apart; find circuits and directions."""

"""Follow a model through training: predictions for a fixed sample of rows and an example sentence after every stored epoch."""

"""The page of the hardmax paper."""

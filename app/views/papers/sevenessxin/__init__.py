"""The page of 7ess-Xin."""

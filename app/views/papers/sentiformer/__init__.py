"""The page of the SentiFormer paper."""

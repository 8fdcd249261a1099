"""The page of SentiFormer, part by part."""

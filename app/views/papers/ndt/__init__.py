"""The page of the NDT paper, part by part."""

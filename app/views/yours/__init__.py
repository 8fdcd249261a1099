"""The page of the visitor's own files and data sets."""

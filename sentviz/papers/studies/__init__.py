"""Tools for all studies: runs by configuration, means over seeds, comparisons, claims, items, files."""

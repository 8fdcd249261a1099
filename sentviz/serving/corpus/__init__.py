"""Many files of texts answered by one run: a data set of parquet parts, the same whoever computes them, resumed where it stopped."""

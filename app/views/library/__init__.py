"""What is there: runs, data sets, words."""

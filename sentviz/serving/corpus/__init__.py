"""Predict the texts of many files with one run, and write the predictions as a data set of parquet parts.

Every backend writes the same bytes, and a stopped command can be continued.
"""

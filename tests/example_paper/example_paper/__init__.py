"""An example of a paper: `paper.toml`, its page, items, tables, a figure and a claim."""

"""The papers: each is a folder with a file paper.toml, found by `sentviz.runs.registry`.

A later one needs its folder alone; one of another package needs an entry point of the group ``sentviz.papers``.
"""

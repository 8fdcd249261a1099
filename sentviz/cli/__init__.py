"""The `sentviz` command."""

from sentviz.cli import behave, compare, data, measure, runs, score, serve, show, train
from sentviz.cli.terminal import main

__all__ = ["behave", "compare", "data", "main", "measure", "runs", "score", "serve", "show", "train"]

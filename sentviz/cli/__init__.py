"""The `sentviz` command."""

from sentviz.cli import compare, data, measure, runs, score, serve, show, train
from sentviz.cli.terminal import main

__all__ = ["compare", "data", "main", "measure", "runs", "score", "serve", "show", "train"]

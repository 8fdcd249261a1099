"""The `sentviz` command."""

from sentviz.cli import behave, compare, data, judge, measure, patch, runs, score, serve, show, train
from sentviz.cli.terminal import main

__all__ = ["behave", "compare", "data", "judge", "main", "measure", "patch", "runs", "score", "serve", "show", "train"]

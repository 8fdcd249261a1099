"""The `sentviz` command."""

from sentviz.cli import data, measure, runs, score, serve, show, train
from sentviz.cli.terminal import main

__all__ = ["data", "main", "measure", "runs", "score", "serve", "show", "train"]

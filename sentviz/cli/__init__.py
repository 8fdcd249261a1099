"""The `sentviz` command."""

from sentviz.cli import app, data, measure, runs, score, serve, show, train
from sentviz.cli.terminal import main

__all__ = ["app", "data", "main", "measure", "runs", "score", "serve", "show", "train"]

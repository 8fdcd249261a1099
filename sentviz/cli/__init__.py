"""The `sentviz` command."""

from sentviz.cli import app, bases, data, measure, runs, score, serve, show, train
from sentviz.cli.terminal import main

__all__ = ["app", "bases", "data", "main", "measure", "runs", "score", "serve", "show", "train"]

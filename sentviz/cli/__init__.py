"""The `sentviz` command."""

from sentviz.cli import data, measure, show, train
from sentviz.cli.terminal import main

__all__ = ["data", "main", "measure", "show", "train"]

"""The `sentviz` command: a command for each verb, and those for files, servers and training."""

from sentviz.cli import data, export, runs, serve, train
from sentviz.cli.commands import command_of
from sentviz.cli.terminal import main
from sentviz.verbs import VERBS

for verb in VERBS.values():
    main.add_command(command_of(verb))

__all__ = ["data", "export", "main", "runs", "serve", "train"]

"""The `sentviz` command: a command for each verb, and those for files, servers and training."""

from click import Command

from sentviz.cli import data, export, runs, serve
from sentviz.cli.commands import command_of
from sentviz.cli.listings import CLASSES
from sentviz.cli.terminal import main
from sentviz.verbs import VERBS

for verb in VERBS.values():
    main.add_command(command_of(verb, CLASSES.get(verb.name, Command)))

__all__ = ["data", "export", "main", "runs", "serve"]

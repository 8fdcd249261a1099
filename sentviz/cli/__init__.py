"""The `sentviz` command: a command for each verb, and those that open the app and servers."""

from click import Command, Group

from sentviz.cli import serve
from sentviz.cli.commands import command_of
from sentviz.cli.listings import CLASSES
from sentviz.cli.terminal import main
from sentviz.verbs import GROUPS, VERBS

for name, help_text in GROUPS.items():
    main.add_command(Group(name, help=help_text))
for verb in VERBS.values():
    group = main.commands.get(verb.group, main)
    assert isinstance(group, Group)
    group.add_command(command_of(verb, CLASSES.get(verb.name, Command)))

__all__ = ["main", "serve"]

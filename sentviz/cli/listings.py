"""Names that the help texts of some commands end with; they are read only when the help text is printed."""

from __future__ import annotations

from collections.abc import Callable

import click

Rows = list[tuple[str, str]]


def listing(title: str, rows: Callable[[], Rows]) -> type[click.Command]:
    """Return a command class whose help text ends with a list of (name, description)."""

    class Listing(click.Command):
        def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            from sentviz.runs.registry import problems

            with formatter.section(title):
                formatter.write_dl(rows())
            for problem in problems():
                formatter.write_text(problem)

    return Listing


def models() -> Rows:
    """Return the presets of each paper, what can be added to their names, and the recipes."""
    from sentviz.runs.presets import additions, injections
    from sentviz.runs.registry import papers
    from sentviz.training.recipe import recipe_names

    rows = [(paper.short, ", ".join(paper.presets)) for paper in papers().values() if paper.presets]
    behind = {"with a lexicon": injections(), "with more": additions()}
    rows += [(title, f"a name with -{', -'.join(endings)} at its end") for title, endings in behind.items()]
    return [*rows, ("recipes", ", ".join(recipe_names()))]


def studies() -> Rows:
    """Return the studies with their data sets."""
    from sentviz.runs import registry

    return [(name, f"{study.about}: {', '.join(study.datasets)}") for name, (_, study) in registry.studies().items()]


def papers() -> Rows:
    """Return the papers."""
    from sentviz.runs import registry

    return [(name, f"{paper.title} ({paper.citation})") for name, paper in registry.papers().items()]


CLASSES = {"train": listing("Models", models), "study": listing("Studies", studies), "paper": listing("Papers", papers)}
"""Command -> its class."""

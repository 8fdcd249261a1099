"""The papers: each is a folder with a `PAPER`, found here; others' join by an entry point of the group ``sentviz.papers``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sentviz.errors import InputError
from sentviz.papers.paper import Paper, Study

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["named", "papers", "printed", "problems", "recipes", "studies"]

BUILT_IN = ("ndt", "hardmax", "fused")
GROUP = "sentviz.papers"
OF_A_LEXICON = {"lexicon", "lexicon_heads", "lexicon_scaled"}


def papers() -> dict[str, Paper]:
    """Every paper by its name: ours, then those of other packages."""
    return _found()[0]


def problems() -> list[str]:
    """A sentence for each paper of another package that is left out, and why."""
    return _found()[1]


def named(name: str) -> Paper:
    """A paper by its name.

    Raises:
        InputError: no such paper.
    """
    if name not in papers():
        raise InputError(" ".join([f"There is no paper {name!r}; there are {', '.join(papers())}.", *problems()]))
    return papers()[name]


def studies() -> dict[str, tuple[Paper, Study]]:
    """Every study by its name, with its paper."""
    return {name: (paper, study) for paper in papers().values() for name, study in paper.studies.items()}


def recipes() -> dict[str, Path]:
    """Every recipe that ships, by `<paper>_<data set>`, and by its data set alone for the first paper that has it."""
    found: dict[str, Path] = {}
    for paper in papers().values():
        for dataset, path in paper.recipes().items():
            found.setdefault(dataset, path)
            found[f"{paper.name}_{dataset}"] = path
    return found


def printed(dataset: str, preset: str) -> pd.DataFrame:
    """What the papers print of a preset on a data set: paper, name, layer, component, value.

    Layers and components are counted from 0 and are -1 where they have no meaning, as in a history; "accuracy" is a share (0..1).
    """
    import pandas as pd

    columns = ["paper", "name", "layer", "component", "value"]
    parts = [
        frame.assign(paper=paper.short)[columns]
        for paper in papers().values()
        if paper.printed
        for frame in [paper.load("printed", None)(dataset, preset)]
        if len(frame)
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


@cache
def _found() -> tuple[dict[str, Paper], list[str]]:
    from importlib.metadata import entry_points

    here: dict[str, Paper] = {name: import_module(f"{__name__}.{name}").PAPER for name in BUILT_IN}
    left_out = []
    for point in entry_points(group=GROUP):
        whose = f"The paper {point.name!r}" + (f" of the package {point.dist.name}" if point.dist else "")
        try:
            paper = point.load()
            if reason := _wrong(paper, here.values()):
                left_out.append(f"{whose} is left out: {reason}.")
            else:
                here[paper.name] = replace(paper, page=replace(paper.page, url=f"paper-{paper.name}"))
        except (Exception, SystemExit) as error:
            left_out.append(f"{whose} cannot be loaded: {' '.join(f'{type(error).__name__}: {error}'.split())}.")
    return here, left_out


def _wrong(paper: Any, others: Iterable[Paper]) -> str:
    """Why a paper cannot join others; "" where it can."""
    if not isinstance(paper, Paper):
        return "its entry point is no sentviz.papers.paper.Paper"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", paper.name):
        return f"its name {paper.name!r} is not of small letters, digits and hyphens"
    if odd := [name for name, settings in paper.injections.items() if not settings or settings.keys() - OF_A_LEXICON]:
        return f"its injection {odd[0]!r} may set {', '.join(sorted(OF_A_LEXICON))} and nothing else"
    if paper.page.script is not None and not paper.page.script.is_file():
        return f"its page {paper.page.script} is not there"
    if not re.fullmatch(r":material/[a-z0-9_]+:", paper.page.icon):
        return f"its page's icon {paper.page.icon!r} is not of the form :material/article:"
    for other in others:
        taken = {
            "name": [paper.name] * (paper.name == other.name),
            "heading": [paper.short] * (paper.short == other.short),
            "preset": [name for name in paper.presets if other.preset(name)],
            "injection": [name for name in paper.injections if name in other.injections],
            "study": [name for name in paper.studies if name in other.studies],
        }
        for what, names in taken.items():
            if names:
                return f"its {what} {names[0]!r} is {other.short}'s already"
    return ""

"""Numbers in the sentences of the site's pages: `{{ name }}` in Markdown is replaced by a stored number when the site is built.

A name is one that the article of findings could have (`sentviz.papers.studies.findings`): ``{{ ndt-c7d421 }}`` is the effect of a claim,
``{{ ndt-c7d421:verdict }}`` its verdict, ``{{ n holds }}`` a number of claims. ``{{ cells ndt-c7d421 }}`` are both as two cells of a table.
Further names are in `MEASURED`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from experiments.general import planted
from sentviz.charts.verdicts import effect_in_words
from sentviz.io.numbers import number
from sentviz.papers.studies.findings import fill
from sentviz.papers.studies.verdicts import stored_findings

_PLACE = re.compile(r"\{\{ ([^{}]+) \}\}")


def filled(markdown: str) -> str:
    """Return a page in which each `{{ name }}` is replaced by its number."""
    return _PLACE.sub(lambda match: value(match[1]), markdown)


def value(name: str) -> str:
    """Return the number, or the words, of a name.

    Raises:
        InputError: there is no such name.
    """
    if name in MEASURED:
        return MEASURED[name]()
    findings = stored_findings()
    if name.startswith("cells "):
        key = name.removeprefix("cells ")
        verdict, effect = fill(f"{{{key}:verdict}}", findings), findings[key].effect
        return f"{verdict} | {effect_in_words(effect) if effect else '–'}"
    return fill(f"{{{name}}}", findings)


def _flipped(method: str) -> str:
    """Return the least and the largest share of flipped labels among the first rows of the list of suspicious labels, over test splits."""
    table = planted.measured()
    shares = 100 * table.loc[(table["rows"] == "test split") & (table["method"] == method), "value"]
    ends = dict.fromkeys(number(share, 1) for share in (shares.min(), shares.max()))
    return f"{' to '.join(ends)} %"


MEASURED: Mapping[str, Callable[[], str]] = {
    "flipped labels in the list": partial(_flipped, "cleanlab"),
    "flipped labels by chance": partial(_flipped, "chance"),
}

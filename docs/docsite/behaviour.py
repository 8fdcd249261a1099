"""The behaviour cards of the shipped runs as tables, from the stored measurements."""

from __future__ import annotations

from docsite.text import plain, table
from sentviz.analysis.testset.behaviour import shipped_rates
from sentviz.data.behaviour import DIRECTION, FUNCTIONALITY, INVARIANCE, LANGUAGES, built_in
from sentviz.io.numbers import percent


def capabilities() -> str:
    """Return the capabilities with the kind and the meaning of their tests, as Markdown."""
    every = built_in("en").capabilities
    return table(["capability", "kind of test", "what is tested"], [[each.name, each.kind, plain(each.says)] for each in every])


def behaviour() -> str:
    """Return the rates of every shipped run and baseline, in percent with intervals, as Markdown."""
    parts = []
    for spoken, name in LANGUAGES.items():
        rates = shipped_rates(spoken)
        n = int(rates["n"].groupby(rates["model"]).sum().iloc[0])
        for kinds, title in (((FUNCTIONALITY,), "the class is right"), ((INVARIANCE, DIRECTION), "edits")):
            some = rates[rates["kind"].isin(kinds)]
            columns = list(dict.fromkeys(some["capability"]))
            rows = []
            for model, of in some.groupby("model", sort=False):
                cells = [percent(row.rate, 0, (row.low, row.high)) + _by_chance(row.random) for row in of.itertuples()]
                rows.append([f"`{model}`" if "/" in str(model) else str(model), *cells])
            parts += [f"### {name}: {title}", f"{n:,} cases, {len(rows)} models.", table(["model", *columns], rows)]
    return "\n\n".join(parts)


def _by_chance(rate: float) -> str:
    return f" / {100 * rate:.0f}" if rate == rate else ""

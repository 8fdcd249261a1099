"""The behaviour card: rates of runs by capability, each dot with its interval, and the rates of baselines."""

from __future__ import annotations

from typing import Any

from sentviz.analysis.testset.behaviour import baselines_of, why_not_tested
from sentviz.charts.chart import Axis, Chart, Rule, numbered, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.options import Series
from sentviz.charts.panels import stacked
from sentviz.charts.registry import RunRequirement, figure
from sentviz.charts.subjects import Runs, sourced
from sentviz.charts.text import as_text
from sentviz.data.behaviour import digest
from sentviz.errors import InputError
from sentviz.io.lazy import pd

TESTED = RunRequirement("single texts with negative and positive classes", why_not_tested)

MOST = 6  # runs
BASELINES = ("diamond-open", "square-open", "triangle-up-open")
KINDS = {"minimum functionality": "minimum\nfunctionality", "invariance": "invariance", "direction": "direction"}


@figure("behaviour", "The behaviour card: tests by capability", Runs, TESTED)
def _behaviour(of: Runs, *, series: Series = (), selected: str | None = None) -> Figure:
    """Draw a row per capability in the order of the card, with a dot and an interval for each run and open marks for baselines.

    Args:
        selected: capability to outline.
    Frame:
        model, role (run or baseline), and the columns of `sentviz.analysis.testset.behaviour.Card.frame`.
    """
    cards = of.behaviour
    own = cards[of.run.name]
    if foreign := [card.name for card in cards.values() if card.language != own.language]:
        raise InputError(f"{foreign[0]} was tested in another language than {own.name}, so the two are not comparable.")
    tables = {name: card.frame() for name, card in cards.items()}
    baselines = {card.name: card.frame() for card in baselines_of(own, of.run.config["data"]["name"])}
    runs = list(tables)
    if not 1 <= len(runs) <= MOST or len(baselines) > len(BASELINES):
        raise InputError(f"This figure has room for 1 to {MOST} runs and {len(BASELINES)} baselines.")
    first = tables[runs[0]]
    order = first["capability"].tolist()
    if any(table["capability"].tolist() != order for table in (*tables.values(), *baselines.values())):
        raise InputError("The runs were not tested on the same capabilities.")
    frame = pd.concat([stacked(tables, "model").assign(role="run"), *(t.assign(model=n, role="baseline") for n, t in baselines.items())])
    ours = frame[frame["role"] == "run"]
    words: Any = {"hover": "{model}<br>{rate:.0%} [{low:.0%}, {high:.0%}], n = {n}", "click": ("capability",)}
    edits: Any = {"symbol": "line-ns-open", "size": 1.4, "name": "random edit of the same size", "hover": "random edit<br>{random:.0%}"}
    marks = [
        *(points(t.assign(model=n), "rate", "capability", role="muted", symbol=symbol, name=n, **words)
          for symbol, (n, t) in zip(BASELINES, baselines.items(), strict=False)),
        points(ours[ours["random"].notna()], "random", "capability", by="model", role="muted", **edits, click=("capability",)),
        points(ours, "rate", "capability", low="low", high="high", by="model", **words),
    ]  # fmt: skip
    functional = first.loc[first["kind"] == "minimum functionality", "capability"].tolist()
    rules = [Rule(x=0.5, note="guessing", rows=(functional[0], functional[-1]))] if functional else []
    groups = {text: names for kind, text in KINDS.items() if (names := first.loc[first["kind"] == kind, "capability"].tolist())}
    rows = Axis(rows={name: name for name in order}, groups=groups, striped=True, chosen=selected)
    chart = Chart("Behaviour by capability", marks, Axis(form=".0%", span=(-0.02, 1.02)), rows, rules=rules, series=numbered(runs, series))
    sizes = sorted(set(first["n"]))
    caption = sentence(
        [
            f"Share of passed tests by capability, {sizes[0]}{f' to {sizes[-1]}' if len(sizes) > 1 else ''} cases each, from templates of"
            " sentviz (kinds of tests: Ribeiro et al. 2020).",
            "Bars are Wilson's 95 % intervals over cases.",
            "Vertical ticks: the share that passes with a random edit of the same size. A rate near its tick shows no more than that the"
            " model is stable."
            if first["random"].notna().any()
            else "",
            f"Open marks: {', '.join(as_text(name, 40) for name in baselines)}." if baselines else "",
        ]
    )
    drawn = Figure(file_safe("behaviour", *(runs if len(runs) < 3 else [])), chart, frame.reset_index(drop=True), caption)
    return sourced(drawn, *of.sources, split=f"{len(own.cases):,} behaviour cases {digest(own.cases)}")

"""Every figure on three small runs, and those of studies on the runs that ship: numbers, caption and options are as stored.

`pytest tests/golden --bless` writes what the code draws now; the difference in `tests/golden/figures` is what a reviewer reads. Where a run
cannot give a figure, the sentence that says why is stored.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from sentviz.charts.figure import Figure
from sentviz.charts.gallery import FIGURES, draw
from sentviz.charts.subjects import Answers, Runs, Sentence, Study
from sentviz.errors import SentvizError
from tests import stored
from tests.golden.make import MEASUREMENTS
from tests.golden.outlines import STORED, TOLERANCE, differences
from tests.kit import SHIPPED
from tests.shipped import often

ROWS = 2  # first rows of a table that are stored as they are; of all rows, each column stores three sums or a digest
PAIRS = {  # figures of the minimal pairs that ship, whose words the small runs do not know -> a run that knows them
    "patch-average": "sst2/ndt-unit-2",
    "circuit": "sst2/ndt-unit-2",
    "patch-epochs": "sst2/ndt-unit-2-epochs",
}
STUDIES = PAIRS | {name: spec.names[0] for name, spec in FIGURES.items() if not spec.of.OF_RUN}
OF_RUNS = [name for name in FIGURES if name not in STUDIES]
OPTIONS: dict[str, dict[str, Any]] = {
    "difference": {"versus": "toy/cls-last-scaled-gated-aware"},
    "agreement": {"versus": ("toy/hardmax-d2",)},
}
OPTIONS |= {"comparison": OPTIONS["agreement"], "weak-slices": {"over": "demo"}}
AMPLIFIED = ("direction-words", "direction-rows", "methods", "judged")
"""Figures that divide by small differences, in which machines round otherwise by up to 7e-5; they are compared up to `LOOSE`."""
LOOSE = 1e-4
COLOURS = re.compile(r"#[0-9a-f]{6}\b|rgba?\([^)]*\)")
SECONDS = ("circuit", "claims-board", "patch-average", "patch-epochs", "referee-board", "roc-panels", "separation", "tsne-panels")
"""Figures that take seconds each."""
LEARNED = ("separation", "tsne-panels")
"""Figures whose numbers are learned when they are drawn: their plots differ between machines, and are not stored."""


def stored_value(value: Any) -> Any:
    """Return a value as JSON stores it: whole numbers and texts as they are, other numbers with nine digits."""
    if isinstance(value, float | np.floating):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value.item() if isinstance(value, np.generic) else value if isinstance(value, int | str | None) else str(value)


def column(values: pd.Series[Any]) -> dict[str, Any]:
    """Return what is stored of a column: its kind and, of numbers, the sums of x, of |x| and of x times its place; else a digest."""
    if values.dtype.kind in "iufb":
        numbers = values.to_numpy(float)
        known = np.where(np.isfinite(numbers), numbers, 0.0)
        sums = known.sum(), np.abs(known).sum(), known @ np.arange(1, len(known) + 1) / max(len(known), 1)
        return {"kind": values.dtype.kind, "sums": [stored_value(each) for each in sums], "missing": int((~np.isfinite(numbers)).sum())}
    return {"kind": "text", "digest": hashlib.sha256("\0".join(map(str, values)).encode()).hexdigest()[:12]}


def summary(draw_it: Callable[[], Figure]) -> dict[str, Any]:
    """Return what is stored of a figure: name, caption, origin and table; or the sentence with which it is refused. Its plot is one that
    Plotly accepts: plots are built without Plotly's check, which takes most of the time.
    """
    try:
        figure = draw_it()
    except SentvizError as error:
        return {"refused": str(error)}
    plot = go.Figure(figure.plot.to_dict()).to_plotly_json()
    plot["layout"].pop("template", None)
    frame = figure.frame
    first = [[stored_value(value) for value in row] for row in frame.head(ROWS).itertuples(index=False)]
    columns = {str(name): column(frame.iloc[:, i]) for i, name in enumerate(frame.columns)}
    summaries = {"name": figure.name, "caption": figure.caption, "source": figure.source, "plot": stored.summary(plot, COLOURS)}
    return summaries | {"rows": len(frame), "columns": columns, "first": first}


def compare(name: str, now: dict[str, Any], bless: bool) -> None:
    """Compare a figure with the stored one, or store it."""
    options = {option.name: str(option.default) for option in FIGURES[name].options.values()}
    path, now = STORED / f"{name}.json", json.loads(json.dumps({"options": options} | now))
    for part in now.values() if name in LEARNED else ():
        part.pop("plot", None)
    if bless:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(now, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    wanted = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    tolerances = {True: LOOSE, False: LOOSE if name in AMPLIFIED else TOLERANCE}  # Plots are compared more loosely.
    differing = [each for plot, by in tolerances.items() for each in differences(wanted, now, tolerance=by) if ("/plot/" in each) == plot]
    assert not differing, f"{name} differs; if it should, `pytest tests/golden --bless` stores it"


@pytest.mark.parametrize("name", OF_RUNS)
def test_figures_of_small_runs_are_those_that_are_stored(name: str, small_world: None, request: pytest.FixtureRequest) -> None:
    now = {run: summary(partial(draw, run, name, **OPTIONS.get(name, {}))) for run in MEASUREMENTS}
    assert any("refused" not in each for each in now.values()), next(iter(now.values()))
    compare(name, now, request.config.getoption("--bless"))


@SHIPPED
@pytest.mark.parametrize("name", often(STUDIES, *(name for name in STUDIES if name not in SECONDS)))
def test_figures_of_shipped_runs_are_those_that_are_stored(name: str, request: pytest.FixtureRequest) -> None:
    compare(name, {STUDIES[name]: summary(lambda: draw(STUDIES[name], name))}, request.config.getoption("--bless"))


WITHOUT_INTERVALS = ("head-grid", "word-cloud")  # their tables have intervals, which the pictures do not draw
WITHOUT_RUNS = ("coverage", "coverage-tokenizers", "cost", "product-and-sum", "time-by-length", "separation")  # not of an installed run
SHIPPED_TABLES = ("sentiformer-rows", "sentiformer-smaller")
"""Figures of tables that ship: their origin names the measured runs without digests."""
READ = {Sentence: r"“.+”| minimal pairs", Answers: r"n = \d", Runs: r"n = \d| rows of | behaviour cases |“.+”", Study: r"n = \d| rows of "}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_what_it_shows_by_one_rule(name: str) -> None:
    """The end of an exported caption names each run with its seed, what it read (a sentence, or rows and their number) and its digest."""
    stored = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    for figure in (part for key, part in stored.items() if key != "options" and "refused" not in part):
        source, low = figure["source"], figure["columns"].get("low", {"missing": figure["rows"]})
        if name not in WITHOUT_RUNS + SHIPPED_TABLES and (source or name != "colours"):
            assert "digest" in source and "seed" in source, source
            read = next(pattern for kind, pattern in READ.items() if issubclass(FIGURES[name].of, kind))
            assert re.search(read, source), source
        if low.get("missing", 0) < figure["rows"] and name not in WITHOUT_INTERVALS:
            assert re.search("interval|band", figure["caption"], re.IGNORECASE), figure["caption"]

"""The Confusion page: its figures by what they draw, the page with Streamlit's AppTest on runs that ship and on rows made up here."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from app import cache
from app.blocks import figure
from app.focus import Focus
from app.views.testset import matrix_part
from sentviz.analysis.evaluation import confusion
from sentviz.analysis.testset import operating
from sentviz.analysis.testset.rows import Rows, RowsSource
from sentviz.charts import Figure, gallery
from sentviz.charts.look import Look, Style
from sentviz.charts.subjects import Answers, computed
from sentviz.errors import InputError, RunError
from tests.charts import answers, figure_of, stub
from tests.kit import RUN, SHIPPED, opened, sane

# ---- figures


def texts(plot: Any) -> list[str]:
    """Return the annotations of a figure without their markup."""
    return [re.sub(r"<[^>]+>", " ", note.text) for note in plot.layout.annotations]


def matrix(counts: npt.ArrayLike, classes: Sequence[str], **options: Any) -> Figure:
    """Return the confusion matrix of rows with these counts."""
    return figure_of("confusion", stub(first=answers(counts, classes)), **options)


def agreement(both: int, first: int, second: int, neither: int, **options: Any) -> Figure:
    """Return the agreement of two runs, one and two, by the number of rows in which both, the first, the second, and neither is right."""
    right = np.repeat([[1, 1, 0, 0], [1, 0, 1, 0]], [both, first, second, neither], axis=1).astype(bool)
    rows = [stub(frame=pd.DataFrame({"right": of}), source=stub(name=name)) for of, name in zip(right, ("one", "two"), strict=True)]
    return figure_of("agreement", stub(rows=rows), **options)


def of_answers(labels: npt.ArrayLike, shares: dict[str, Any]) -> Any:
    """Return answers of sources to rows of the classes a and b, in place of `Answers`."""
    rows = [
        stub(
            labels=np.asarray(labels), probabilities=p, predicted=p.argmax(axis=1), classes=["a", "b"], calibration=1.0,
            source=stub(name=name, require=lambda *gives, what: None, calibration=2.0),
        )
        for name, p in shares.items()
    ]  # fmt: skip
    return stub(rows=rows, first=rows[0], threshold=-1.0, statistic=computed)


def test_a_matrix_says_counts_and_shares_and_outlines_the_cell() -> None:
    """A class without rows has counts without shares; the chosen cell at row 1, column 0 is outlined; any place in a cell is clicked."""
    figure = matrix([[8, 2, 0], [5, 1_000, 5], [0, 0, 0]], ["bad", "<b>", "good"], selected=(1, 0))
    assert texts(figure.plot)[:2] == ["8  80.0\u00a0% ", "2  20.0\u00a0% "]
    assert texts(figure.plot)[4].startswith("1,000") and texts(figure.plot).count("0") == 3
    (outline,) = figure.plot.layout.shapes
    assert (round((outline.x0 + outline.x1) / 2), round((outline.y0 + outline.y1) / 2)) == (0, 1)
    assert figure.frame["count"].tolist() == [8, 2, 0, 5, 1_000, 5, 0, 0, 0]
    assert figure.frame["share"].iloc[:2].tolist() == [0.8, 0.2] and figure.frame["share"].iloc[6:].isna().all()
    assert "&lt;b&gt;" in figure.plot.layout.xaxis.ticktext[1] and figure.plot.layout.hoverdistance == -1
    spots = next(trace for trace in figure.plot.data if trace.type == "scatter")
    assert sorted(zip(spots.y, spots.x, strict=True)) == list(product(range(2), range(3))) and spots.marker.opacity == 0
    many = replace(matrix(np.eye(14, dtype=int), [f"class {k}" for k in range(14)]), look=Look("light", 200))
    assert sorted(texts(many.plot)) == ["label", "predicted"] and len(many.frame) == 196


def test_in_greys_wrong_cells_have_a_minus_sign() -> None:
    """Grey cannot tell teal from magenta; agreement has one side only, so no cell of it has a sign."""
    grey = Look(style=Style(palette="grey"))
    marks = [
        [trace for trace in replace(figure, look=grey).plot.data if trace.text == "<b>−</b>"]
        for figure in (matrix([[8, 2], [5, 5]], ["a", "b"]), agreement(6, 2, 1, 1))
    ]
    assert [[place for trace in of for place in zip(trace.x, trace.y, strict=True)] for of in marks] == [[(1, 0), (0, 1)], []]


def test_figures_refuse_what_they_cannot_draw() -> None:
    assert agreement(6, 2, 1, 1).frame["share"].tolist() == [0.6, 0.2, 0.1, 0.1]
    with pytest.raises(InputError, match="needs labelled rows"):
        matrix([[0, 0], [0, 0]], ["a", "b"])
    with pytest.raises(InputError, match="compares two runs"):
        figure_of("agreement", stub(rows=[answers([[1, 0], [0, 1]], ["a", "b"])]))


def test_curves_are_overlaid_with_their_areas_and_thinned() -> None:
    rng = np.random.default_rng(0)
    labels, positive = rng.integers(0, 2, 3_000), rng.random(3_000)
    shares = {"first": np.stack([1 - positive, positive], axis=1), "second": np.stack([positive, 1 - positive], axis=1)}
    areas = operating.areas(labels, shares["second"], ["a", "b"], draws=5)
    for name, metric in (("roc", "AUC"), ("precision-recall", "AP")):
        figure = figure_of(name, of_answers(labels, shares))
        value = areas.query("`class` == 'b' and metric == @metric")["value"].iloc[0]
        assert any(text.startswith(f"{metric} {value:.3f} [") for text in texts(figure.plot))
        sizes = figure.frame.groupby("run").size()
        assert set(sizes.index) == {"first", "second"} and 150 < sizes.min() <= sizes.max() <= 804
        assert figure.frame.groupby("run")["recall"].agg(["min", "max"]).to_numpy().tolist() == [[0, 1], [0, 1]]


def test_a_class_without_a_curve_or_a_number_says_so() -> None:
    answered = of_answers(np.zeros(3, np.int64), {"x": np.array([[0.7, 0.3]] * 3)})
    figure = figure_of("roc", answered)
    assert any("no curve" in text for text in texts(figure.plot)) and figure.frame.empty
    figure = figure_of("classes", of_answers(np.array([0, 0, 1, 1]), {"one": np.array([[1.0, 0.0]] * 4)}))
    notes = [text for trace in figure.plot.data for text in trace.text or ()]
    assert (notes.count("50.0\u00a0%"), notes.count("none"), len(figure.frame)) == (1, 1, 6)  # precision of a, and of b


# ---- the page


@pytest.mark.parametrize(("before", "points", "after"), [("", [(0, 1)], "cell=1,0"), ("cell=1,0", [(0, 1)], ""), ("cell=1,0", [], "")])
def test_a_click_picks_a_cell_and_a_second_one_lets_it_go(
    monkeypatch: pytest.MonkeyPatch, before: str, points: list[tuple[int, int]], after: str
) -> None:
    picked: dict[str, str] = {}
    event = {"selection": {"points": [{"x": x, "y": y} for x, y in points]}}
    monkeypatch.setattr(figure.st, "session_state", {"plot-matrix": event})
    monkeypatch.setattr(matrix_part.visit, "focus", lambda: Focus(slice=before))
    monkeypatch.setattr(matrix_part.visit, "go", lambda **changes: picked.update(changes))

    def click(*_: Any, on_pick: figure.OnPick, clears: str, **options: Any) -> None:
        figure.picking("matrix", on_pick, clears)["on_select"]()

    monkeypatch.setattr(matrix_part, "show_figure", click)
    matrix_part._matrix(rows_of([0, 1], [[0.9, 0.1], [0.2, 0.8]]), "matrix", ())
    assert picked == {"slice": after}


def rows_of(labels: list[int], shares: list[list[float]], classes: tuple[str, ...] = ("negative", "positive")) -> Rows:
    """Return rows as a run gives them."""
    y, p = np.array(labels), np.array(shares)
    frame = pd.DataFrame(
        {"id": [f"r{i}" for i in range(len(y))], "label": y, "predicted": p.argmax(axis=1), "confidence": p.max(axis=1)}
        | {"right": p.argmax(axis=1) == y, "loss": 0.5}
        | {f"p{k}": p[:, k] for k in range(p.shape[1])}
    )
    return Rows(RowsSource(RUN, "0" * 12), "test", classes, frame)


FIVE = tuple(f"{stars} stars" for stars in range(5))
ODD = {
    "three rows": rows_of([0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]),
    "one class only": rows_of([1, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]),
    "all equal": rows_of([0, 1, 1], [[0.5, 0.5]] * 3),
    "no mistake": rows_of([0, 1], [[0.9, 0.1], [0.1, 0.9]]),
    "one row": rows_of([0], [[0.9, 0.1]]),
    "five classes": rows_of([0, 1, 2, 3, 4, 4], np.eye(5)[[0, 1, 1, 3, 4, 0]].tolist(), FIVE),
    "names that are markup": rows_of([0, 1], [[0.9, 0.1], [0.1, 0.9]], ("<b>a</b>", "$x$ **y**")),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_rows_are_drawn_or_are_one_sentence(name: str) -> None:
    of, refused = Answers.of(ODD[name]), set[str]()
    for kind in ("confusion", "classes", "roc", "precision-recall", "threshold", "reliability"):
        try:
            drawn = gallery.make(kind, of)
            assert drawn.plot.data and "<b>a" not in drawn.plot.to_json()
        except InputError:
            refused.add(kind)
    assert refused == ({"threshold"} if name == "five classes" else set())


@SHIPPED
def test_a_file_has_no_mark_of_what_was_clicked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is what its call draws: otherwise `sentviz verify` would find another caption."""
    offered: dict[str, Figure] = {}
    monkeypatch.setattr(figure, "export_menu", lambda make, name, key, **more: offered.update({key: make()}))
    charts = [json.loads(chart.proto.spec) for chart in opened("confusion", slice="cell=0,1").get("plotly_chart")]
    (file,) = [drawn for drawn in offered.values() if "confusion" in drawn.name]
    assert any(chart["layout"].get("shapes") for chart in charts) and not file.plot.layout.shapes
    assert file.call is not None and file.caption == gallery.draw(RUN, "confusion").caption


@SHIPPED
def test_damaged_answers_and_rows_without_labels_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(focus: Focus) -> Rows:
        raise RunError("sst2/ndt-unit-2: test.parquet is damaged: some rows have no probability.")

    monkeypatch.setattr(cache, "table", damaged)
    (warning,) = opened("confusion").warning
    assert "damaged" in warning.value
    monkeypatch.setattr(cache, "table", lambda focus: rows_of([-1, -1], [[0.9, 0.1], [0.2, 0.8]]))
    text = sane(opened("confusion"))
    assert "None of these rows has a label" in text and "2 of 2 rows" in text


def test_the_most_frequent_mistake_is_named() -> None:
    rows = rows_of([0, 0, 0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4], [0.1, 0.9]])
    assert matrix_part.mistake(rows) == "Most frequent mistake: negative predicted as positive, 2 rows (66.7\u00a0% of negative)."
    assert matrix_part.mistake(replace(rows, frame=rows.frame[rows.frame["right"]])) == "All predictions are right."
    assert confusion(rows.labels, rows.predicted, 2).tolist() == [[1, 2], [1, 1]]

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
from streamlit.testing.v1 import AppTest

from app import cache
from app.blocks import figure
from app.focus import Focus
from app.views.testset import matrix_part
from sentviz.analysis.evaluation import confusion
from sentviz.analysis.testset import operating
from sentviz.analysis.testset.rows import Rows, RowsSource, stored
from sentviz.charts import Figure
from sentviz.charts.gallery import draw
from sentviz.charts.look import Look, Style
from sentviz.charts.subjects import computed
from sentviz.errors import InputError, RunError
from sentviz.io.numbers import p_value, percent
from sentviz.runs.store import find
from tests.charts import answers, figure_of, stub
from tests.kit import RUN, SHIPPED, opened, words
from tests.shipped import often

pytestmark = pytest.mark.slow

THREE = "twitter_financial/vanilla"


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
    """A class without rows has counts without shares; the chosen cell at row 1, column 0 is outlined."""
    figure = matrix([[8, 2, 0], [5, 1_000, 5], [0, 0, 0]], ["bad", "<b>", "good"], selected=(1, 0))
    assert texts(figure.plot)[:2] == ["8  80.0\u00a0% ", "2  20.0\u00a0% "]
    assert texts(figure.plot)[4].startswith("1,000")
    assert texts(figure.plot).count("0") == 3
    outline = figure.plot.layout.shapes[-1]
    assert len(figure.plot.layout.shapes) == 1
    assert (round((outline.x0 + outline.x1) / 2), round((outline.y0 + outline.y1) / 2)) == (0, 1)
    assert figure.frame["count"].tolist() == [8, 2, 0, 5, 1_000, 5, 0, 0, 0]
    assert figure.frame["share"].iloc[:2].tolist() == [0.8, 0.2]
    assert figure.frame["share"].iloc[6:].isna().all()
    assert "&lt;b&gt;" in figure.plot.layout.xaxis.ticktext[1]


def test_a_click_anywhere_in_a_cell_finds_its_centre() -> None:
    """Every cell has an invisible marker, and a click chooses the nearest one at any distance."""
    plot = matrix(np.ones((5, 5), int), list("abcde")).plot
    spots = next(trace for trace in plot.data if trace.type == "scatter")
    assert sorted(zip(spots.y, spots.x, strict=True)) == [(i, j) for i in range(5) for j in range(5)]
    assert spots.marker.opacity == spots.selected.marker.opacity == spots.unselected.marker.opacity == 0
    assert plot.layout.hoverdistance == -1
    assert sum(text[0] == "1" for text in texts(plot)) == 25


def test_many_classes_keep_their_cells_and_lose_their_numbers() -> None:
    figure = replace(matrix(np.eye(14, dtype=int), [f"class {k}" for k in range(14)]), look=Look("light", 200))
    assert sorted(texts(figure.plot)) == ["label", "predicted"]
    assert len(figure.frame) == 196


def test_in_greys_wrong_cells_have_a_minus_sign() -> None:
    """Grey cannot tell teal from magenta; agreement has one side only, so no cell of it has a sign."""
    grey = Look(style=Style(palette="grey"))
    signs = [
        [
            (x, y)
            for trace in replace(figure, look=grey).plot.data
            if trace.text == "<b>−</b>"
            for x, y in zip(trace.x, trace.y, strict=True)
        ]
        for figure in (matrix([[8, 2], [5, 5]], ["a", "b"]), agreement(6, 2, 1, 1))
    ]
    assert signs == [[(1, 0), (0, 1)], []]


def test_agreement_names_who_is_right() -> None:
    figure = agreement(6, 2, 1, 1, selected=(0, 1))
    assert figure.frame["share"].tolist() == [0.6, 0.2, 0.1, 0.1]
    hovers = next(trace for trace in figure.plot.data if trace.type == "scatter").hovertext
    assert hovers[1].startswith("only one right") and hovers[2].startswith("only two right")


def test_figures_refuse_what_they_cannot_draw() -> None:
    with pytest.raises(InputError, match="needs labelled rows"):
        matrix([[0, 0], [0, 0]], ["a", "b"])
    with pytest.raises(InputError, match="compares two runs"):
        figure_of("agreement", stub(rows=[answers([[1, 0], [0, 1]], ["a", "b"])]))


def test_each_class_has_its_number_and_a_missing_one_says_so() -> None:
    labels = np.array([0, 0, 1, 1])
    figure = figure_of("classes", of_answers(labels, {"one": np.array([[1.0, 0.0]] * 4)}))
    notes = [text for trace in figure.plot.data for text in trace.text or ()]
    assert notes.count("50.0\u00a0%") == 1  # precision of a
    assert notes.count("none") == 1  # precision of b
    assert {"precision, %", "recall, %", "F1, %"} <= set(texts(figure.plot)) and list(figure.plot.layout.xaxis.ticktext) == [
        "0",
        "50",
        "100",
    ]
    assert "None means undefined:" in figure.caption
    assert len(figure.frame) == 6


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
        assert set(sizes.index) == {"first", "second"}
        assert 150 < sizes.min() <= sizes.max() <= 804
        assert figure.frame.groupby("run")["recall"].agg(["min", "max"]).to_numpy().tolist() == [[0, 1], [0, 1]]
        dashes = {trace.line.dash for trace in figure.plot.data if trace.mode == "lines" and trace.name}
        assert dashes == {"solid", "dash"}


def test_a_class_without_a_curve_says_so() -> None:
    labels, shares = np.zeros(3, np.int64), np.array([[0.7, 0.3]] * 3)
    figure = figure_of("roc", of_answers(labels, {"x": shares}))
    assert any("no curve" in text for text in texts(figure.plot))
    assert figure.frame.empty


def test_reliability_draws_both_states() -> None:
    labels, shares = np.array([0, 1, 1, 0]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.55, 0.45]])
    figure = figure_of("reliability", of_answers(labels, {"x": shares}))
    assert set(figure.frame["state"]) == {"as it is", "logits / 2.00"}
    assert figure.frame.groupby("state")["n"].sum().tolist() == [4, 4]


# ---- the page


def heading(app: AppTest) -> int:
    """Return the number of rows in the heading of the row list."""
    line = next(m.value for m in app.markdown if ":material/table_rows:" in m.value)
    return int(re.search(r"([\d,]+) of", line)[1].replace(",", ""))  # type: ignore[index]


@pytest.mark.exhaustive
@SHIPPED
@pytest.mark.parametrize("view", ["matrix", "curves", "calibration"])
@pytest.mark.parametrize(("run", "beside"), [(RUN, ""), (RUN, "sst2/diff"), (THREE, "twitter_financial/ndt-unit-2")])
def test_every_view_stands(view: str, run: str, beside: str) -> None:
    app = opened("confusion", view=view, run=run, **({"versus": beside} if beside else {}))
    assert not app.error
    assert not app.warning, [w.value for w in app.warning]
    metrics = find(run).metrics()["test"]
    assert f"{percent(metrics['accuracy']['value'])}" in words(app)


@pytest.mark.exhaustive
@SHIPPED
@pytest.mark.parametrize("cell", [(0, 0), (1, 0)])
def test_a_cell_of_the_link_is_the_drawers_rows(cell: tuple[int, int]) -> None:
    app = opened("confusion", slice=f"cell={cell[0]},{cell[1]}")
    assert heading(app) == find(RUN).metrics()["test"]["confusion"][cell[0]][cell[1]]
    app.button(key="chip-slice").click().run()
    assert heading(app) == find(RUN).metrics()["test"]["n"]
    assert "slice" not in app.query_params


@SHIPPED
def test_a_file_has_no_mark_of_what_was_clicked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is what its call draws: otherwise `sentviz verify` would find another caption."""
    offered: dict[str, Figure] = {}
    monkeypatch.setattr(figure, "export_menu", lambda make, name, key, **more: offered.update({key: make()}))
    app = opened("confusion", slice="cell=0,1")
    (plot,) = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart") if "predicted" in chart.proto.spec][:1]
    (file,) = [drawn for key, drawn in offered.items() if "confusion" in drawn.name]
    assert plot["layout"]["shapes"] and not file.plot.layout.shapes
    assert file.call is not None and file.caption == draw(RUN, "confusion").caption


@SHIPPED
@pytest.mark.exhaustive
def test_the_threshold_moves_the_matrix_and_its_rows() -> None:
    """The accuracy and the count of the cell at threshold 0.9 equal those counted in the test."""
    app = opened("confusion", slice="cell=1,0")
    app.slider(key="focus-threshold").set_value(0.9).run()
    assert not app.exception, app.exception
    assert app.query_params["threshold"] == ["0.9"] or app.query_params["threshold"] == "0.9"
    rows = stored(find(RUN))
    predicted = (rows.frame["p1"] >= 0.9).astype(int)
    assert heading(app) == int(((rows.frame["label"] == 1) & (predicted == 0)).sum())
    assert f"{percent((predicted == rows.frame['label']).mean())}" in words(app)


@pytest.mark.exhaustive
@SHIPPED
def test_a_band_of_probabilities_is_a_part_of_the_rows() -> None:
    """A band of probabilities is in the URL and has the counted rows; a band of the full range is removed."""
    app = opened("confusion", view="curves")
    app.slider(key="band").set_range(0.4, 0.6).run()
    assert not app.exception, app.exception
    assert str(app.session_state["focus"].slice) == "p=1:0.40-0.60"
    positive = stored(find(RUN)).frame["p1"]
    assert heading(app) == int(((positive >= 0.4) & (positive <= 0.6)).sum())
    assert app.slider(key="band").value == (0.4, 0.6)
    app.slider(key="band").set_range(0.0, 1.0).run()
    assert app.session_state["focus"].slice == ""


@SHIPPED
@pytest.mark.exhaustive
def test_two_runs_are_held_against_each_other() -> None:
    """Counts and p are those of the paired comparison, and a part of the agreement lists its rows."""
    from sentviz.papers.studies.stats import paired

    pair = paired(find(RUN), find("sst2/diff"))
    app = opened("confusion", versus="sst2/diff", slice="agree=second")
    assert f"Only one of the two is right on {pair.only_a + pair.only_b:,} rows" in words(app)
    assert p_value(pair.p) in words(app)
    assert heading(app) == pair.only_b


@pytest.mark.exhaustive
@SHIPPED
def test_the_second_run_can_become_the_first() -> None:
    app = opened("confusion", versus="sst2/diff", threshold="0.7")
    app.button(key="swap").click().run()
    assert not app.exception, app.exception
    focus: Focus = app.session_state["focus"]
    assert (focus.run, focus.versus, focus.threshold) == ("sst2/diff", (RUN,), 0.7)


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
    "never predicted": rows_of([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]]),
    "all equal": rows_of([0, 1, 1], [[0.5, 0.5]] * 3),
    "no mistake": rows_of([0, 1], [[0.9, 0.1], [0.1, 0.9]]),
    "one row": rows_of([0], [[0.9, 0.1]]),
    "partly labelled": rows_of([0, -1, 1, -1], [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]]),
    "five classes": rows_of([0, 1, 2, 3, 4, 4], np.eye(5)[[0, 1, 1, 3, 4, 0]].tolist(), FIVE),
    "names that are markup": rows_of([0, 1], [[0.9, 0.1], [0.1, 0.9]], ("<b>a</b>", "$x$ **y**")),
}


VIEWS = ("matrix", "curves", "calibration")


@pytest.mark.exhaustive
@SHIPPED
@pytest.mark.parametrize("case", often(product(ODD, VIEWS), *zip(ODD, VIEWS * 3, strict=True)))
def test_odd_rows_are_no_trouble_for_any_view(monkeypatch: pytest.MonkeyPatch, case: tuple[str, str]) -> None:
    name, view = case
    monkeypatch.setattr(cache, "table", lambda focus: ODD[name])
    app = opened("confusion", view=view)
    assert not app.error
    assert not app.warning, [w.value for w in app.warning]
    known = int((ODD[name].labels >= 0).sum())
    assert f"of {known:,}**" in words(app)
    assert ("without a label are left out" in words(app)) == (name == "partly labelled")


@SHIPPED
def test_rows_without_labels_say_that_none_is_right_or_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "table", lambda focus: rows_of([-1, -1], [[0.9, 0.1], [0.2, 0.8]]))
    app = opened("confusion")
    assert "None of these rows has a label" in words(app)
    assert heading(app) == 2


@SHIPPED
def test_damaged_answers_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(focus: Focus) -> Rows:
        raise RunError("sst2/ndt-unit-2: test.parquet is damaged: some rows have no probability.")

    monkeypatch.setattr(cache, "table", damaged)
    app = opened("confusion")
    assert len(app.warning) == 1
    assert "damaged" in app.warning[0].value


def test_the_most_frequent_mistake_is_named() -> None:
    rows = rows_of([0, 0, 0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4], [0.1, 0.9]])
    assert matrix_part.mistake(rows) == "Most frequent mistake: negative predicted as positive, 2 rows (66.7\u00a0% of negative)."
    assert matrix_part.mistake(replace(rows, frame=rows.frame[rows.frame["right"]])) == "All predictions are right."
    assert confusion(rows.labels, rows.predicted, 2).tolist() == [[1, 2], [1, 1]]

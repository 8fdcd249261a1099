"""Accuracy by phenomenon, and its picture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from sentviz.analysis.evaluation import wilson
from sentviz.analysis.testset.rows import Rows, RowsSource, accuracy_by_phenomenon
from sentviz.charts import Figure
from sentviz.charts.colours import palette
from sentviz.charts.look import LOOKS
from sentviz.charts.phenomena import MOST
from sentviz.errors import InputError
from tests.charts import figure_of, stub


def some(seed: int = 0, tags: tuple[str, ...] = ("negation", "plain", "sarcasm"), run: str = "toy/a", n: int = 40) -> Rows:
    """Return random predictions of n tagged rows of two classes."""
    rng = np.random.default_rng(seed)
    p1, label = rng.uniform(size=n), rng.integers(0, 2, n)
    predicted = (p1 > 0.5).astype(int)
    frame = pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(n)],
            "label": label,
            "predicted": predicted,
            "confidence": np.maximum(p1, 1 - p1),
            "right": predicted == label,
            "loss": 0.0,
            "p0": 1 - p1,
            "p1": p1,
            "tag": rng.choice(tags, n),
        }
    )
    return Rows(RowsSource(run, "0" * 12), "demo", ("negative", "positive"), frame)


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 1), (0, 30), (30, 30), (17, 30), (209, 210)])
def test_wilsons_interval_is_scipys(right: int, n: int) -> None:
    expected = binomtest(right, n).proportion_ci(0.95, method="wilson")
    assert wilson(right, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_graded_answer_is_right_on_the_side_of_its_label() -> None:
    """Classes beyond the label's count as right with `sided`; the middle and the other side never do."""
    frame = some(n=6, tags=("plain",)).frame.assign(label=3, predicted=[0, 1, 2, 3, 4, 4])
    frame["right"] = frame["label"] == frame["predicted"]
    rows = {
        "toy/a": Rows(RowsSource("toy/a", "0" * 12), "demo", ("very negative", "negative", "neutral", "positive", "very positive"), frame)
    }
    assert accuracy_by_phenomenon(rows)["right"].tolist() == [1, 1]
    assert accuracy_by_phenomenon(rows, sided=True)["right"].tolist() == [3, 3]
    assert "a prediction on the side of the label is right" in phenomena(rows, sided=True).caption


@pytest.mark.parametrize(("right", "n"), [(0, 0), (3, 2), (-1, 4)])
def test_a_share_of_nothing_is_refused(right: int, n: int) -> None:
    with pytest.raises(InputError, match="is not a share"):
        wilson(right, n)


def test_accuracy_is_counted_row_by_row() -> None:
    """The accuracy equals a loop over the rows; rows without a label do not count."""
    rows = {"toy/a": some(0), "toy/b": some(1, run="toy/b")}
    rows["toy/b"].frame.loc[:4, "label"] = -1
    table = accuracy_by_phenomenon(rows)
    for record in table.to_dict("records"):
        right = n = 0
        for row in rows[record["run"]].frame.to_dict("records"):
            if row["label"] >= 0 and record["phenomenon"] in ("all", row["tag"]):
                n += 1
                right += row["right"]
        assert (record["n"], record["right"]) == (n, right)
        assert record["accuracy"] == right / n
        assert 0 <= record["low"] <= record["accuracy"] <= record["high"] <= 1
    assert len(table) == 8


def test_rows_without_tags_or_labels_are_said() -> None:
    bare = some()
    with pytest.raises(InputError, match="no tags"):
        accuracy_by_phenomenon({"toy/a": Rows(RowsSource("toy/a", "0"), "test", bare.classes, bare.frame.drop(columns="tag"))})
    with pytest.raises(InputError, match="no labels"):
        accuracy_by_phenomenon({"toy/a": Rows(RowsSource("toy/a", "0"), "demo", ("up", "down"), bare.frame.assign(label=-1))})


def several(runs: int) -> dict[str, Rows]:
    """Return the rows of some runs."""
    return {f"toy/{i}": some(i, run=f"toy/{i}") for i in range(runs)}


def phenomena(rows: dict[str, Rows], **options: Any) -> Figure:
    """Return the figure of the rows of each run."""
    return figure_of("phenomena", stub(demo_rows=rows, sources=[], run=stub(name=next(iter(rows)))), **options)


@pytest.mark.parametrize("runs", [1, 2, MOST])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_easiest_is_on_top_and_all_below(runs: int, theme: Any) -> None:
    """Places, numbers and intervals in the figure are the frame's; each run has a colour and a symbol."""
    rows_of = several(runs)
    frame, figure = accuracy_by_phenomenon(rows_of), replace(phenomena(rows_of), look=LOOKS[theme])
    ticks = [text.split(" (")[0] for text in figure.plot.layout.yaxis.ticktext]
    means = {name: np.mean(frame.loc[frame["phenomenon"] == name, "accuracy"]) for name in ticks}
    assert ticks[-1] == "all"
    assert [means[name] for name in ticks[:-1]] == sorted((means[name] for name in ticks[:-1]), reverse=True)
    drawn = [trace for trace in figure.plot.data if trace.hovertext is not None]
    assert len({(trace.marker.color, trace.marker.symbol) for trace in drawn}) == runs
    assert len({trace.marker.color for trace in drawn}) == len({trace.marker.symbol for trace in drawn}) == runs
    for trace in drawn:
        rows = frame[frame["run"] == trace.name]
        assert list(trace.x) == list(rows["accuracy"])
        np.testing.assert_allclose(trace.x + np.array(trace.error_x.array), rows["high"])
        np.testing.assert_allclose(trace.x - np.array(trace.error_x.arrayminus), rows["low"])
        assert [ticks[round(float(y))] for y in trace.y] == list(rows["phenomenon"])
    pd.testing.assert_frame_equal(figure.frame, frame)


def test_a_single_run_leaves_no_room_for_a_legend_and_may_have_a_later_colour() -> None:
    single, pair = phenomena(several(1), series=[2]).plot, phenomena(several(2)).plot
    assert single.layout.margin.b < 40 < pair.layout.margin.b
    assert single.data[0].marker.color == palette("light").line(2)


def test_too_many_runs_are_refused() -> None:
    with pytest.raises(InputError, match="has room for 1 to 6 runs"):
        phenomena(several(MOST + 1))


def test_names_are_text_and_the_chosen_one_stands_out() -> None:
    rows = {"<b>$x$</b>": some(tags=("<i>n", "plain", "sarcasm"))}
    figure = phenomena(rows, selected="plain")
    drawn = figure.plot.to_json()
    assert "<b>" not in drawn
    assert "<i>n" not in "".join(figure.plot.layout.yaxis.ticktext)
    place = [text.split(" (")[0] for text in figure.plot.layout.yaxis.ticktext].index("plain")
    marked = [shape for shape in figure.plot.layout.shapes if shape.line.width == 1.5]
    assert [(shape.y0, shape.y1) for shape in marked] == [(place - 0.5, place + 0.5)]
    assert not [shape for shape in phenomena(rows).plot.layout.shapes if shape.line.width == 1.5]

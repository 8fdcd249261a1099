"""Pages of rows: figures by what they draw, Streamlit's AppTest on shipped runs and made-up rows, and measured gates of several seeds."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from click.testing import CliRunner

from app import cache
from app.blocks import figure, pictures
from app.focus import Focus
from app.views.testset import matrix_part
from sentviz.analysis.evaluation import confusion
from sentviz.analysis.maps.gates import FILE, NAMES, Groups, table
from sentviz.analysis.testset.rows import Rows, RowsSource
from sentviz.charts import Figure, gallery
from sentviz.charts.look import Look, Style
from sentviz.charts.registry import find_figure
from sentviz.charts.subjects import Answers
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.errors import InputError, RunError
from sentviz.papers.sentiformer.study import gates_over_seeds
from sentviz.runs.writing import attach
from tests.charts import answers, figure_of, stub
from tests.injected import use_injected_data
from tests.kit import RUN, SHIPPED, opened, refused, sane, words
from tests.studies import made_seeds


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


def test_a_matrix_says_counts_and_shares_and_outlines_the_cell() -> None:
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
    rows = rows_of([0, 0, 0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4], [0.1, 0.9]])
    assert matrix_part.mistake(rows) == "Most frequent mistake: negative predicted as positive, 2 rows (66.7\u00a0% of negative)."
    assert matrix_part.mistake(replace(rows, frame=rows.frame[rows.frame["right"]])) == "All predictions are right."
    assert confusion(rows.labels, rows.predicted, 2).tolist() == [[1, 2], [1, 1]]


def test_figures_refuse_what_they_cannot_draw() -> None:
    assert agreement(6, 2, 1, 1).frame["share"].tolist() == [0.6, 0.2, 0.1, 0.1]
    refused(InputError, "needs labelled rows", matrix, [[0, 0], [0, 0]], ["a", "b"])
    refused(InputError, "compares two runs", figure_of, "agreement", stub(rows=[answers([[1, 0], [0, 1]], ["a", "b"])]))
    grey = Look(style=Style(palette="grey"))
    marks = [
        [trace for trace in replace(figure, look=grey).plot.data if trace.text == "<b>−</b>"]
        for figure in (matrix([[8, 2], [5, 5]], ["a", "b"]), agreement(6, 2, 1, 1))
    ]
    assert [[place for trace in of for place in zip(trace.x, trace.y, strict=True)] for of in marks] == [[(1, 0), (0, 1)], []]
    frame = measured()
    refused(InputError, "No class", gate_figure, "gate-lines", frame[frame["kind"] == "tag"])
    refused(InputError, r"kind must be .*not 'shape'", find_figure("gate-grid").check, {"kind": "shape"})
    refused(InputError, "No frequent word", gate_figure, "gate-grid", frame, kind="word")
    many = pd.DataFrame([(f"w{i}", layer, i / 40) for i in range(40) for layer in (-1, 0)], columns=["name", "layer", "value"])
    many = many.assign(kind="word", low=0.0, high=1.0, shuffled_low=0.0, shuffled_high=1.0, tokens=9, n=5, tagger="t", lexicon="l")
    ends = gate_figure("gate-grid", many, kind="word", most=6).plot
    assert list(ends.layout.yaxis.ticktext) == ["w0", "w1", "w2", "w37", "w38", "w39"]


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


def test_odd_rows_are_drawn_or_are_one_sentence() -> None:
    for classes, labels, shares in (
        (["a", "b"], [1, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]),
        (["a", "b"], [0], [[0.9, 0.1]]),
        (list("abcde"), [0, 1, 2, 3, 4, 4], np.eye(5)[[0, 1, 1, 3, 4, 0]].tolist()),
        (["<b>a</b>", "$x$ **y**"], [0, 1], [[0.9, 0.1], [0.1, 0.9]]),
    ):
        of, without = Answers.of(rows_of(labels, shares, tuple(classes))), set[str]()
        for kind in ("confusion", "classes", "roc", "precision-recall", "threshold", "reliability"):
            try:
                drawn = gallery.make(kind, of)
                assert drawn.plot.data and "<b>a" not in drawn.plot.to_json()
            except InputError:
                without.add(kind)
        assert without == ({"threshold"} if len(classes) == 5 else set())


@SHIPPED
def test_a_file_has_no_mark_of_what_was_clicked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is what its call draws: otherwise `sentviz verify` would find another caption."""
    offered: dict[str, Figure] = {}
    monkeypatch.setattr(figure, "export_menu", lambda make, name, key, **more: offered.update({key: make()}))
    charts = [json.loads(chart.proto.spec) for chart in opened("confusion", slice="cell=0,1").get("plotly_chart")]
    (file,) = [drawn for drawn in offered.values() if "confusion" in drawn.name]
    assert any(chart["layout"].get("shapes") for chart in charts) and not file.plot.layout.shapes
    assert file.call is not None and file.caption == gallery.draw(RUN, "confusion").caption

    def damaged(focus: Focus) -> Rows:
        raise RunError("sst2/ndt-unit-2: test.parquet is damaged: some rows have no probability.")

    monkeypatch.setattr(cache, "table", damaged)
    (warning,) = opened("confusion").warning
    assert "damaged" in warning.value
    monkeypatch.setattr(cache, "table", lambda focus: rows_of([-1, -1], [[0.9, 0.1], [0.2, 0.8]]))
    text = sane(opened("confusion"))
    assert "None of these rows has a label" in text and "2 of 2 rows" in text


@SHIPPED
@pytest.mark.parametrize("damaged", [True, False])
def test_vectors_that_cannot_be_drawn_are_one_sentence(damaged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))

    def sample(*_: object) -> Any:
        if damaged:
            raise RunError("The sample is damaged.")
        return np.arange(40), np.full((40, 8), np.nan, dtype=np.float16)

    monkeypatch.setattr(pictures, "_sample", sample)
    monkeypatch.setattr(pictures, "_pca", lambda rows, key, dims, missing, vectors: pictures.pictures(None, key, vectors, "pca", 2))
    app = opened("embeddings")
    assert ("The sample is damaged" if damaged else "40 of 40 vectors") in words(app) and not app.get("bidi_component")


def measured(seed: int = 0, shift: float = 0.0) -> pd.DataFrame:
    """Return a made-up table of two layers."""
    rng = np.random.default_rng(seed)
    text, of = np.repeat(np.arange(60), 5), np.tile([4, 5, 0, 1, 5], 60)
    gates = np.clip(np.where(of == 4, 0.3, 0.6)[:, None] + shift + rng.uniform(-0.1, 0.1, (300, 2)), 0, 1)
    ways = [
        Groups("all", ["all tokens"], np.zeros(300, dtype=np.int64)),
        Groups("class", NAMES, of),
        Groups("tag", ["", "ADJ", "DET"], 1 + (of == 4)),
    ]
    return table(gates, text, ways).assign(lexicon="lexicon_en_vader", tagger="english-1")


def test_the_command_refuses_in_a_sentence(tiny_run: Path, measured_gates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_DATA", str(measured_gates.parents[2] / "data"))
    use_injected_data(monkeypatch)
    done = CliRunner().invoke(main, ["gates", str(tiny_run)])
    assert done.exit_code and "has no gates" in done.output
    toy = datasets.info("toy")
    toy.language = "ko"  # type: ignore[misc]  # it is made up
    monkeypatch.setattr(datasets, "info", lambda name: toy)
    done = CliRunner().invoke(main, ["gates", str(measured_gates)])
    assert done.exit_code and "Words are grouped by an English tagger" in done.output


def gate_figure(name: str, frame: pd.DataFrame, **options: Any) -> Figure:
    """Return a figure of a run with these measured gates."""
    return figure_of(name, stub(run=stub(name="a/b", frame=lambda file: frame)), **options)


def test_seeds_taken_together(tmp_path: Path) -> None:
    runs = [attach(run, FILE, measured(k, 0.05 * k)) for k, run in enumerate(made_seeds(tmp_path, "sst5_trees", "cnn", 3))]
    single, three = gates_over_seeds(runs[:1]), gates_over_seeds(runs)
    keys = ["kind", "name", "against", "layer"]
    stored = measured(0).set_index(keys).sort_index()
    pd.testing.assert_frame_equal(
        single.set_index(keys).sort_index()[["value", "low", "high"]], stored[["value", "low", "high"]], atol=1e-6
    )
    assert set(three["seeds"]) == {3} and set(single["seeds"]) == {1}
    of = three[(three["kind"] == "all") & (three["layer"] == 0)].iloc[0]
    alone = [measured(k, 0.05 * k).query("kind == 'all' and layer == 0").iloc[0] for k in range(3)]
    assert of["value"] == pytest.approx(np.mean([row["value"] for row in alone]), abs=1e-6)
    assert of["high"] - of["low"] > 3 * max(row["high"] - row["low"] for row in alone)
    less = measured(1)
    runs[1] = attach(runs[1], FILE, less[less["name"] != "ADJ"])
    assert "ADJ" not in set(gates_over_seeds(runs)["name"])
    assert gates_over_seeds(made_seeds(tmp_path / "none", "sst5_trees", "cnn", 1)).empty

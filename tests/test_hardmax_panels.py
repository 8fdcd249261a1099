"""The figure of the three components: positions, clusters and distances are those of the scene; the page and the table of matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.hardmax import matrices
from sentviz.charts import Figure
from sentviz.charts.look import Look
from sentviz.charts.scene import Scene, scene_of
from sentviz.errors import InputError
from sentviz.models.clustering import simulate
from sentviz.models.hardmax import HardmaxModel
from sentviz.papers.hardmax import figures
from sentviz.papers.hardmax.study import EXAMPLE, NAMED
from sentviz.papers.studies.items import make_table
from sentviz.runs.registry import find_paper
from tests.charts import figure_of, of_leaders, stub
from tests.studies import plant

WORDS = ("amazing", "cast", "plot", "torture", "dull")
POINTS = np.array([[1.0, 1.0], [0.2, 0.1], [-0.1, -0.2], [0.6, -0.9], [-1.2, -1.0]])


def scene(**changes: object) -> Scene:
    run = simulate(POINTS, None, 1.5, 8)
    means = run.positions.mean(axis=1)
    arguments: dict[str, object] = {
        "decision": ([2.0, 2.0], -0.5),
        "means": means,
        "probabilities": 1 / (1 + np.exp(-(means @ [2.0, 2.0] - 0.5))),
    }
    return scene_of(run, WORDS, "five words", **(arguments | changes))  # type: ignore[arg-type]


@pytest.fixture
def panels(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Figure]:
    """Draw the components of the five words, with options."""
    monkeypatch.setattr(figures, "with_weights", lambda runs: [stub()])
    monkeypatch.setattr(figures, "scene_of_review", lambda run, model, review: scene())
    monkeypatch.setattr(figures, "sourced", lambda figure, run: figure)
    monkeypatch.setattr(HardmaxModel, "of", lambda run: stub(follow=lambda text: None))
    return partial(figure_of, "hardmax-components", stub(runs=[]))


def test_three_panels_show_words_clusters_and_distances(panels: Callable[..., Figure]) -> None:
    drawn = panels()
    frame, run = drawn.frame, simulate(POINTS, None, 1.5, 8)
    assert frame.groupby("panel", sort=False).size().to_dict() == {"embedding": 5, "transformer": 5, "decoder": 5}
    for panel, layer in (("embedding", 0), ("transformer", 8)):
        rows = frame[frame["panel"] == panel]
        np.testing.assert_allclose(rows[["x", "y"]].to_numpy(), run.positions[layer])
        assert rows["word"].tolist() == list(WORDS) and set(np.flatnonzero(rows["leader"])) == set(run.leaders)
    decoder = frame[frame["panel"] == "decoder"]
    np.testing.assert_allclose(decoder["x"], (run.positions[-1] @ [2.0, 2.0] - 0.5) / np.sqrt(8))
    texts = " ".join(str(note.text) for note in drawn.plot.layout.annotations)
    assert "Embedding: every word is a point" in texts and "<b>amazing" in texts and "<b>torture" in texts and "mean" in texts
    assert f"{len(run.leaders)} leaders" in drawn.caption


@pytest.mark.parametrize(("width", "across"), [(0, 3), (990, 3), (400, 1)])
def test_panels_are_below_each_other_in_a_narrow_figure(width: int, across: int, panels: Callable[..., Figure]) -> None:
    drawn = replace(panels(), look=Look(width=width))
    starts = {round(drawn.plot.layout[axis].domain[0], 2) for axis in ("xaxis", "xaxis2", "xaxis3")}
    assert len(starts) == across and (drawn.plot.layout.height > 600) == (across == 1)


def test_two_panels_show_start_and_end_only(panels: Callable[..., Figure]) -> None:
    drawn = panels(decoder=False)
    assert set(drawn.frame["panel"]) == {"embedding", "transformer"} and drawn.name == "hardmax-clusters"
    assert "distance of each place" not in drawn.caption


def test_the_example_has_both_words() -> None:
    assert all(word in EXAMPLE for word in NAMED)


def test_marked_words_have_a_ring_and_their_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    words = pd.DataFrame({"word": [*WORDS, "rest"], "x0": [*POINTS[:, 0], 0.0], "x1": [*POINTS[:, 1], 0.1], "leads": [5, 0, 2, 0, 9, 0]})
    words["score"] = 2 * words["x0"] + 2 * words["x1"]
    of = of_leaders(monkeypatch, words, ([2.0, 2.0], 0.0))
    drawn = figure_of("vocabulary", of, marked=("torture", "absent"))
    texts = [str(note.text) for note in drawn.plot.layout.annotations]
    assert "<b>torture (−0.21)</b>" in texts and "Rings" in drawn.caption
    assert "Rings" not in figure_of("vocabulary", of).caption
    rings = [trace for trace in drawn.plot.data if trace.marker.symbol == "circle-open"]
    assert len(rings) == 1 and list(rings[0].x) == [0.6]


# ---- other matrices


def test_kinds_of_matrices_are_what_their_names_say() -> None:
    rng = np.random.default_rng(1)
    for d in (2, 3, 4):
        by_kind = {name: make(rng, d) for name, make in matrices.KINDS.items()}
        for name, a in by_kind.items():
            assert a.shape == (d, d) and np.allclose(a, a.T) == name.startswith("symmetric")
            assert (np.linalg.matrix_rank(a) == 1) == name.endswith("rank 1")
        values = {name: np.linalg.eigvalsh(a) for name, a in by_kind.items() if name.startswith("symmetric")}
        assert (values["symmetric positive definite"] > 0).all() and (values["symmetric negative definite"] < 0).all()
        assert np.ptp(np.sign(values["symmetric, with negative eigenvalues"])) == 2


def test_the_theorem_holds_in_its_own_row() -> None:
    row = matrices.count("symmetric positive definite", runs=6)
    assert all(row[name] == 1 for name in matrices.STATEMENTS) and row["single"] == 0
    assert matrices.count("symmetric negative definite", runs=6)["single"] == 1


def test_the_table_of_matrices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = make_table(find_paper("hardmax"), "matrices", [])
    assert table.frame["kind"].tolist() == list(matrices.KINDS) and "proved only for the first row" in table.caption
    assert table.frame.iloc[0][list(matrices.STATEMENTS)].eq(1).all()
    plant(monkeypatch, "hardmax.study.MATRICES", tmp_path, table.frame.iloc[:0])
    with pytest.raises(InputError, match="python -m experiments hardmax matrices"):
        make_table(find_paper("hardmax"), "matrices", [])

"""Measured gates as a run stores them: the command refuses, the figures, and several seeds together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from sentviz.analysis.maps.gates import FILE, NAMES, Groups, table
from sentviz.charts import Figure
from sentviz.charts.registry import find_figure
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.errors import InputError
from sentviz.papers.sentiformer.study import gates_over_seeds
from sentviz.runs.writing import attach
from tests.charts import data_traces, figure_of, stub
from tests.injected import use_injected_data
from tests.studies import made_seeds


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
    """A run without gates and a run of another language are refused in a sentence."""
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


def test_lines_and_cells_hold_what_was_measured() -> None:
    """Of many words, both ends are shown, and the order is by the mean."""
    frame = measured()
    lines = {trace.name: trace for trace in data_traces(gate_figure("gate-lines", frame))}
    assert list(lines) == ["all tokens", "positive words", "negative words", "function words", "other words"]
    rows = frame[(frame["name"] == "function words") & (frame["kind"] == "class") & (frame["layer"] >= 0)]
    line = lines["function words"]
    assert list(line.y) == rows["value"].tolist()
    np.testing.assert_allclose(line.y + np.array(line.error_y.array), rows["high"])
    np.testing.assert_allclose(line.y - np.array(line.error_y.arrayminus), rows["low"])
    grid = gate_figure("gate-grid", frame).plot
    assert list(grid.layout.yaxis.ticktext) == ["determiners DET", "adjectives ADJ"]
    assert list(grid.layout.xaxis.ticktext) == ["mean", "1", "2"]
    cells = frame[(frame["kind"] == "tag") & (frame["name"] == "DET")].set_index("layer")["value"]
    assert list(grid.data[0].z[0]) == [cells[-1], cells[0], cells[1]]
    many = pd.DataFrame([(f"w{i}", layer, i / 40) for i in range(40) for layer in (-1, 0)], columns=["name", "layer", "value"])
    many = many.assign(kind="word", low=0.0, high=1.0, shuffled_low=0.0, shuffled_high=1.0, tokens=9, n=5, tagger="t", lexicon="l")
    ends = gate_figure("gate-grid", many, kind="word", most=6).plot
    assert list(ends.layout.yaxis.ticktext) == ["w0", "w1", "w2", "w37", "w38", "w39"]


def test_figures_refuse_what_was_not_measured() -> None:
    frame = measured()
    with pytest.raises(InputError, match="No class"):
        gate_figure("gate-lines", frame[frame["kind"] == "tag"])
    with pytest.raises(InputError, match=r"kind must be .*not 'shape'"):
        find_figure("gate-grid").check({"kind": "shape"})
    with pytest.raises(InputError, match="No frequent word"):
        gate_figure("gate-grid", frame, kind="word")


def test_seeds_taken_together(tmp_path: Path) -> None:
    """One seed keeps its intervals; several give the mean with wider intervals; rows that one seed lacks are left out."""
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

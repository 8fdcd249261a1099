"""Phrases of SST-2's re-split that are inside other phrases, by loops, and accuracies on planted predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.ndt import leak
from sentviz.papers.studies.items import make_table
from sentviz.runs.registry import find_paper
from tests.studies import N, made_seeds, plant


def test_a_text_stands_inside_another_word_by_word() -> None:
    """A text counts as inside another if all its words follow each other there; half words and words across two texts do not count."""
    rng = np.random.default_rng(0)
    among = [" ".join(rng.choice(["a", "an", "ant", "b", "c."], size=rng.integers(1, 9))) for _ in range(40)]
    texts = [" ".join(rng.choice(["a", "an", "ant", "b", "c."], size=rng.integers(1, 5))) for _ in range(120)]
    runs = {tuple(words[i:j]) for words in map(str.split, among) for i in range(len(words)) for j in range(i + 1, len(words) + 1)}
    is_inside = leak.inside(texts, among)
    assert is_inside.tolist() == [tuple(text.split()) in runs for text in texts] and 0 < is_inside.mean() < 1
    assert leak.inside(["A  QUIET delight", "quiet", "delight a"], ["a quiet delight", "A dull film"]).tolist() == [True, True, False]


@pytest.mark.slow
def test_accuracies_inside_and_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seeds with 10 and 20 wrong rows outside and none inside give these accuracies."""
    runs = [
        run
        for model in ("diff", "ndt-unit-2")
        for wrong in ((10, 20),)
        for seed, count in enumerate(wrong)
        for run in made_seeds(tmp_path / str(seed), "sst2", model, seed + 1, wrong=count, first_wrong=-7 * seed)[seed:]
    ]
    texts = [f"row {i} of a long made up text" if i < 100 else "quiet" for i in range(N)]
    frame = pd.DataFrame({"id": [f"sst2-{i}" for i in range(N)], "text": texts})
    measured = leak.measured(runs, {"test": frame}, ["a quiet delight"])
    assert set(measured["model"]) == {"diff", "ndt-unit-2"} and set(measured["rows"]) == {"the re-split"}
    by = measured[measured["model"] == "diff"].set_index(["length", "stands"])
    assert by.loc[("any", "inside"), ["n", "share", "value", "seeds"]].tolist() == [100, 0.5, 1.0, 2]
    assert by.loc[("any", "outside"), ["n", "value"]].tolist() == [100, pytest.approx(0.85)]
    assert by.loc[("5 words or more", "outside"), ["n", "share"]].tolist() == [100, 1.0]
    assert ("5 words or more", "inside") not in by.index  # none
    assert ((measured["low"] <= measured["value"]) & (measured["value"] <= measured["high"]) & measured["high"].le(1)).all()
    plant(monkeypatch, "ndt.tables.LEAK", tmp_path, measured)
    assert "Of the re-split's test phrases 50\u00a0% (100) are inside" in make_table(find_paper("ndt"), "leak", []).caption

"""Speed as studies measure it: turns, stored tables, the crossing point, the paper's formula, and what ships."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.errors import InputError
from sentviz.papers.sentiformer import throughput
from sentviz.papers.studies import timing
from sentviz.papers.studies.items import make_table
from sentviz.runs.registry import find_paper
from tests.kit import refused
from tests.studies import plant


def test_interleaving_runs_every_candidate_in_every_round() -> None:
    order: list[str] = []
    seconds = timing.interleaved({name: lambda name=name: order.append(name) for name in "abc"}, 5)
    assert [len(values) for values in seconds.values()] == [5, 5, 5]
    for i in range(6):  # a warm-up and five rounds
        assert sorted(order[3 * i : 3 * i + 3]) == ["a", "b", "c"]
    assert len({tuple(order[3 * i : 3 * i + 3]) for i in range(1, 6)}) > 1


def test_the_median_lies_in_its_interval() -> None:
    assert timing.median(np.full(5, 3.0)) == (3, 3, 3)
    value, low, high = timing.median(np.array([1.0, 2.0, 3.0, 4.0, 50.0]))
    assert 1 <= low <= value == 3 <= high <= 50


def test_the_formula_is_the_papers() -> None:
    """The formula is n / (k + s); the ratios are 8,000 texts a second to 1,500 and 2,200."""
    assert throughput.promised(2048) == pytest.approx(2048 / 68)
    assert throughput.promised(2048, 128, 2) == pytest.approx(2048 / 130)
    printed = throughput.printed_times()
    assert printed == pytest.approx({"SentiFormer": 1, "BERT-base": 16 / 3, "DistilBERT": 40 / 11})


@pytest.mark.parametrize(
    ("times", "wanted"),
    [
        ([0.5, 2.0, 4.0], math.sqrt(100 * 200)),
        ([0.5, 1.0, 4.0], 200),
        ([2.0, 0.25, 16.0], 200 * 2 ** (1 / 3)),
        ([2.0, 3.0, 4.0], 0),
        ([0.5, 2.0, 0.9], None),
    ],
)
def test_full_and_sparse_cross_between_the_lengths(times: list[float], wanted: float | None) -> None:
    lengths = throughput.crossing(np.array([100, 200, 400]), np.array(times))
    assert lengths == (None if wanted is None else pytest.approx(wanted))


def test_nothing_measured_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SPEEDS", "GROWTH", "STEPS"):
        plant(monkeypatch, f"sentiformer.throughput.{name}", tmp_path)
    table = make_table(find_paper("sentiformer"), "speeds", [])
    assert table.frame["printed_per_second"].tolist() == [8000, 1500, 2200] and table.frame["times"].isna().all()
    assert "SentiFormer's speed is not measured: `python -m experiments sentiformer throughput --what speeds`" in table.caption
    refused(InputError, "--what steps` measures it", throughput.steps_table)
    refused(InputError, "The time against length is not measured", make, "time-by-length", Study.of("all", []))

"""The calibration error of a run on its test rows, beside the one on validation rows that fitted the temperature."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sentviz.analysis.calibration import calibration_line, leaning, on_test_rows
from sentviz.runs.store import Run, find
from tests.shipped import ROOT
from tests.studies import made_run

BINS = 15
ships = pytest.mark.skipif(not (ROOT / "english" / "minilm").is_dir(), reason="checkpoints/ is not here")


def slow(run: Run) -> tuple[float, float, float]:
    """Return error, mean confidence and accuracy of the test rows, with loops over single numbers."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for *shares, label in run.frame("test.parquet").query("split == 'test'")[[*run.labels, "label"]].itertuples(index=False):
        powers = [math.exp(math.log(max(share, 5e-6)) / run.calibration) for share in shares]
        sure = max(powers) / sum(powers)
        bins.setdefault(math.ceil(sure * BINS), []).append((sure, powers.index(max(powers)) == label))
    rows = [row for members in bins.values() for row in members]
    error = sum(abs(sum(sure - right for sure, right in members)) for members in bins.values()) / len(rows)
    return error, sum(sure for sure, _ in rows) / len(rows), sum(right for _, right in rows) / len(rows)


@ships
@pytest.mark.parametrize(("name", "words"), [("sst2/ndt-unit-2", "")])
def test_shipped_runs(name: str, words: str) -> None:
    """Error, confidence and accuracy equal slow loops, and the line has both errors and the direction."""
    run = find(name, [ROOT])
    own, (error, confidence, accuracy) = on_test_rows(run), slow(run)
    assert (own.error, own.confidence, own.accuracy) == pytest.approx((error, confidence, accuracy), abs=1e-6)
    line = calibration_line(run)
    assert f"{error:.3f} on {own.n:,} test rows" in line and words in line
    assert f"validation rows that fitted the temperature, the calibration error is {run.config['calibration']['error_after']:.3f}" in line


def test_rows_that_are_not_installed(tmp_path: Path) -> None:
    """A run whose test rows are missing, or that has none, says so instead of a number."""
    run = made_run(tmp_path, "mine", "vanilla", wrong=30)
    assert "on 200 test rows" in calibration_line(run)
    (run.folder / "test.parquet").unlink()
    assert "unknown: mine/vanilla: test.parquet is missing" in calibration_line(Run.open(run.folder))
    run.config["data"]["name"] = ""
    run.config["files"].pop("test.parquet")
    assert "has no test rows" in calibration_line(run)


def test_words() -> None:
    assert [leaning(0.9, 0.87), leaning(0.87, 0.9), leaning(0.9, 0.897)] == [
        "overconfident by 3.0 points",
        "underconfident by 3.0 points",
        "well calibrated on average",
    ]

"""The hardmax paper's claims on what is here and on nothing; its list of printed pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from sentviz.papers.hardmax import PAPER
from sentviz.papers.hardmax.claims import PUBLIC, beside
from sentviz.runs import Run, runs
from sentviz.studies.claims import judged

ROOT = Path(__file__).parents[1]
HERE = [run for run in runs([ROOT / "checkpoints"]).values() if isinstance(run, Run) and run.config["model"].get("kind") == "hardmax"]


def test_without_runs_only_the_simulated_claim_has_a_verdict() -> None:
    frame = judged([], ["hardmax"])
    assert len(frame) == len(PAPER.all_claims())
    told = frame[frame["verdict"] != "cannot be told"]
    assert told["against"].tolist() == ["simulated runs"]
    assert beside([]).empty


@pytest.mark.slow
@pytest.mark.skipif(len(HERE) < 4, reason="the hardmax runs are not in checkpoints/")
def test_numbers_beside_the_public_ones_are_the_runs_own() -> None:
    """Each row against metrics.json, read here; accuracy is judged by the same numbers."""
    table = beside(HERE).set_index("d")
    assert set(table.index) == set(PUBLIC)
    for d, row in table.iterrows():
        said = Run.open(ROOT / "checkpoints" / row["run"]).metrics()["test"]
        assert (row["value"], row["n"]) == (said["accuracy"]["value"], said["n"])
        assert row["public"] == PUBLIC[d]
    frame = judged(HERE, ["hardmax"]).set_index("claim")
    reached = frame.loc["The public code's accuracies are reached", "verdict"]
    assert (reached == "holds") == bool((table["high"] >= table["public"]).all())


def test_every_picture_of_the_poster_is_listed_with_a_page_that_exists() -> None:
    stored = PAPER.items()
    assert {item["id"] for item in stored} == {"example", "pipeline", "leaders", "depth"}
    for item in stored:
        assert item["state"] in ("live", "cannot be had")
        assert any((ROOT / "app" / "views").rglob(f"{item['view']}.py"))
        assert item["why"]

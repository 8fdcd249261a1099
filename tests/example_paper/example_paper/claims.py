"""Claim of the example paper with the test that gives its verdict, and the answer to the paper's question."""

from __future__ import annotations

from collections.abc import Sequence

from example_paper.tables import DATASET, MODELS, TRAIN
from sentviz.analysis.claim import Effect, Finding, Row, board, not_testable, settled
from sentviz.papers.studies.compare_configurations import configurations
from sentviz.runs.store import Run


def answers(runs: Sequence[Run]) -> list[str]:
    """Return how many of the paper's models have a run."""
    return [f"{len(configurations(runs, DATASET, MODELS))} of its 2 models are here."]


def judge_width(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether the wide model is more accurate than the small model, of one seed each."""
    by_model = configurations(runs, dataset, MODELS)
    if len(by_model) < len(MODELS):
        return not_testable(f"one of the two models has no run: {TRAIN}")
    small, wide = (by_model[name][0].metrics()["test"]["accuracy"]["value"] for name in MODELS)
    effect = Effect(100 * (wide - small), of="wide minus small, of one seed each")
    return settled(wide > small, f"{small:.3f} and {wide:.3f}", effect)


# The id of a claim is its name in links and stored verdicts. It stays when the statement is worded anew.
WIDER = Row("Wider is better", "A wide model is better on {}", "runs here", "counted", judge_width, {DATASET: ("wider", "section 1")},
            shows="width")  # fmt: skip
CLAIMS = board({DATASET: "SST-2"}, WIDER)

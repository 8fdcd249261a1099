"""Claim of the example paper with the test that gives its verdict, and the answer to the paper's question."""

from collections.abc import Sequence

from example_paper.tables import DATASET, MODELS, TRAIN
from sentviz.analysis.claim import Board, Effect, Finding, settled
from sentviz.papers.studies.compare_configurations import configurations
from sentviz.papers.studies.judging import needed
from sentviz.runs.store import Run


def answers(runs: Sequence[Run]) -> list[str]:
    """Return how many of the paper's models have a run."""
    return [f"{len(configurations(runs, DATASET, MODELS))} of its 2 models are here."]


BOARD = Board({DATASET: "SST-2"})


# The id of a claim is its name in links and stored verdicts. It stays when the statement is worded anew.
@BOARD.claim({DATASET: "wider"}, "A wide model is better on {}", "Wider is better", where="section 1", against="runs here", kind="counted",
    section="width")  # fmt: skip
def judge_width(dataset: str, runs: Sequence[Run]) -> Finding:
    by_model = configurations(runs, dataset, MODELS)
    needed(by_model, f"one of the two models has no run: {TRAIN}", least=len(MODELS))
    small, wide = (by_model[name][0].metrics()["test"]["accuracy"]["value"] for name in MODELS)
    effect = Effect(100 * (wide - small), of="wide minus small, of one seed each")
    return settled(wide > small, f"{small:.3f} and {wide:.3f}", effect)


CLAIMS = tuple(BOARD)

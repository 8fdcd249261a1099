"""Check what 7ess-Xin says of versions, training and words: each statement holds, fails or stays open on made-up numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.sevenessxin import cloud_words
from sentviz.analysis.claim import Finding, tried
from sentviz.analysis.testset.word_counts import Counts, stop_words, wordcloud_stop_words
from sentviz.papers.sevenessxin import measured, observations, printed_tables
from sentviz.papers.sevenessxin.claims import CLAIMS
from sentviz.runs.store import Run
from tests.studies import as_said, made_run, made_seeds, plant

pytestmark = pytest.mark.slow

ON = "sentiment140"


def judge(statement: str, runs: list[Run] | None = None, against: str = "runs here") -> Finding:
    (claim,) = (claim for claim in CLAIMS if claim.statement == statement and claim.against == against)
    return as_said(claim.test(runs or []))


def rewrite(monkeypatch: pytest.MonkeyPatch, accuracy: Callable[[str], float], **columns: Callable[[str], float]) -> None:
    """Put made-up numbers in table II, by preset."""
    frame = printed_tables.table("results")
    for name, values in {"accuracy": accuracy, **columns}.items():
        frame[name] = [values(model) for model in frame["model"]]
    monkeypatch.setattr(printed_tables, "table", lambda name: frame.copy())


@pytest.mark.parametrize(
    ("statement", "changed", "holds", "fails"),
    [
        ("From scratch it passes 80 %", "7ess-v9", 0.8, 0.79),
        ("V2 and V7 gain a little over V1", "7ess-v1-rope", 0.82, 0.83),
        ("V3 is behind V1 and then recovers", "7ess-v3-rope", 0.83, 0.81),
        ("V7 to V10 add little to V6", "7ess-v10-rope", 0.825, 0.85),
        ("The second phase hardly changes V5", "7ess-v5-rope", 0.773, 0.80),
    ],
)
def test_statements_on_table_2(statement: str, changed: str, holds: float, fails: float, monkeypatch: pytest.MonkeyPatch) -> None:
    base = {"7ess-v1": 0.82, "7ess-v1-rope": 0.82, "7ess-v5": 0.775, "7ess-v5-rope": 0.775, "7ess-v3": 0.81}
    for value, verdict in ((holds, "holds"), (fails, "fails")):
        rewrite(monkeypatch, lambda model, value=value: (base | {changed: value}).get(model, 0.825))  # type: ignore[misc]
        assert judge(statement, against="its own tables").verdict == verdict, value


@pytest.mark.parametrize(
    ("accuracy", "gap", "verdict"), [(0.83, 0.001, "holds"), (0.81, 0.009, "fails"), (0.81, 0.001, "open"), (0.83, 0.009, "open")]
)
def test_robust_has_two_meanings(accuracy: float, gap: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accuracy, and the distance between validation and test F1: the verdict is open if they disagree."""
    rewrite(
        monkeypatch,
        lambda model: accuracy if model.startswith("7ess-v4") else 0.82,
        f1_positive=lambda model: 0.8,
        validation_f1=lambda model: 0.8 + (gap if model.startswith("7ess-v4") else 0.005),
    )
    assert judge("V4 is the most robust light version", against="its own tables").verdict == verdict


def test_our_accuracy_does_not_answer_the_research_question(tmp_path: Path) -> None:
    for wrong in (10, 90):
        assert judge("From scratch it passes 80 %", [made_run(tmp_path / str(wrong), ON, "7ess-v1", wrong=wrong)]).verdict == "unjudged"


@pytest.mark.parametrize(("more", "verdict"), [(3, "holds"), (200_000, "fails")])
def test_parameters_of_the_second_phase(more: int, verdict: str) -> None:
    runs: Any = [
        SimpleNamespace(config={"parameters": number, "recipe": {"seed": 0}, "data": {"name": ON}}, configuration=name, of_a_study=True)
        for name, number in (("7ess-v1", 4_139_010), ("7ess-v1-rope", 4_139_010 + more))
    ]
    assert observations.judge_parameters(runs).verdict == verdict
    assert tried(lambda: observations.judge_parameters(runs[:1])).verdict == "unjudged"


@pytest.mark.parametrize(("loss", "counts"), [((0.7, 0.6), (2, 0)), ((0.4, 0.3), (0, 2)), ((0.7, 0.3), (1, 1))])
def test_the_loss_of_the_wider_version(
    loss: tuple[float, float], counts: tuple[int, int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = [run for name in ("7ess-v1-rope", "7ess-v2-rope", "7ess-v3-rope") for run in made_seeds(tmp_path, ON, name, 2)]
    losses = {"7ess-v3-rope": loss}

    def history(run: Run) -> pd.DataFrame:
        values = losses.get(run.configuration, (0.6, 0.5))
        return pd.DataFrame({"name": "validation_loss", "step": [1, 2], "epoch": [0.5, 1.0], "value": values})

    monkeypatch.setattr(Run, "history", history)
    finding = judge("V3 has the higher validation loss", runs)
    assert finding.verdict == "unjudged" and finding.evidence.startswith("figure 3 is of the paper's own trainings")
    assert f"at {counts[0]} of 2 evaluations, and below all at {counts[1]}; 2 seeds" in finding.evidence
    assert "V3 has one seed" in judge("V3 has the higher validation loss", runs[:5]).evidence


@pytest.mark.parametrize(("ranks", "inside"), [((3, 50), 3), ((51, 0), 0), ((3, 51), 0), ((3,), 3)])
def test_words_of_the_clouds(ranks: tuple[int, ...], inside: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One rank per seed; words of other cells would change the count and are not read. Ours do not decide on the paper's figure."""
    runs = made_seeds(tmp_path, ON, "7ess-v6-rope", 2)
    rows: list[dict[str, Any]] = [
        {"cell": cell, "word": word, "rank": rank if cell == "TP" else 51 - min(rank, 50), "count": 1, "rows": 9, "run": f"seed {seed}"}
        for seed, rank in enumerate(ranks)
        for cell, words in measured.NAMED.items()
        for word in words
    ]
    plant(monkeypatch, "sevenessxin.measured.CLOUD_WORDS", tmp_path, rows)
    finding = judge("True positives: love, thank, lol", runs)
    assert finding.verdict == "unjudged" and f"In ours {inside} of 3 words" in finding.evidence
    assert judge("True positives: love, thank, lol").verdict == "unjudged"


def test_ranks_leave_out_the_stop_words_of_the_package() -> None:
    words = ("but", "lol", "love", "now")
    counts = Counts(words, tuple(cloud_words.CELLS.values()), np.array([[9, 1, 2, 0]] * 4), np.ones((4, 4), np.int64), np.full(4, 9), 1)
    table = cloud_words.ranks(counts, "run").set_index(["cell", "word"])["rank"]
    assert table["TP", "love"] == 1 and table["TP", "lol"] == 2 and table["TP", "now"] == 0
    assert {"but", "not", "no", "too", "just", "get", "like", "very"} <= wordcloud_stop_words() - stop_words(["en"])


@pytest.mark.parametrize(("first", "peak"), [((0.4, 0.4), (True, True)), ((0.0, 0.4), (False, True)), ((0.4,), (True,))])
def test_peaks_of_importance(first: tuple[float, ...], peak: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The weight of both named words in every seed; the other words have 0.1. The figures are of the paper's own model."""
    runs: Any = [
        SimpleNamespace(
            config={"recipe": {"seed": seed}, "data": {"name": ON}},
            configuration="7ess-v6-rope",
            of_a_study=True,
            has_weights=True,
            name=str(seed),
        )
        for seed in range(len(first))
    ]

    def load(run: Any) -> Any:
        def trace(text: str) -> Any:
            tokens = text.replace(",", "").lower().split()
            kind = next(kind for kind, sentence in printed_tables.SENTENCES.items() if sentence == text)
            row = np.array([first[int(run.name)] if token in printed_tables.PEAKS[kind] else 0.1 for token in tokens])
            return SimpleNamespace(tokens=tokens, map=lambda layer: np.stack([row] * len(tokens)), label="positive")

        return SimpleNamespace(trace=trace)

    monkeypatch.setattr("sentviz.models.loading.load", load)
    finding = observations.judge_peaks(runs)
    assert finding.verdict == "unjudged" and finding.evidence.startswith("figures 6 and 7 are of the paper's own model")
    assert [rank in ("1", "2") for rank in re.findall(r"but” (\d+)", finding.evidence)] == list(peak)


def test_the_longest_training_decides_nothing(tmp_path: Path) -> None:
    assert judge("After epoch 12 V6 overfits").verdict == "unjudged"

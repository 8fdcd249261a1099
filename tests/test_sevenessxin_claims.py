"""7ess-Xin's claims: each verdict holds, fails and stays open on made-up runs; reported values are computed in the test."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from sentviz.analysis.claim import Finding
from sentviz.io.numbers import percent
from sentviz.papers.sevenessxin import claims, measured, printed_tables
from sentviz.papers.sevenessxin.claims import BEST, CLAIMS, answer_questions
from sentviz.papers.sevenessxin.study import by_epochs
from sentviz.papers.sevenessxin.versions import EPOCHS, ROPE, SIZES, VERSIONS
from sentviz.papers.studies.items import make_table
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from tests.studies import as_said, made_seeds, plant

PAPER = find_paper("sevenessxin")
pytestmark = pytest.mark.slow

HERE = "runs here"
OUTCOMES = ["holds", "fails", "open"]


def judge(statement: str, runs: list[Run], against: str = HERE) -> Finding:
    (claim,) = (claim for claim in CLAIMS if claim.statement.startswith(statement) and claim.against == against)
    return as_said(claim.test(runs))


def seeds(root: Path, wrong: dict[str, int], n: int = 2) -> list[Run]:
    """Return `n` runs of each configuration, with the given number of wrong predictions of 200."""
    return [run for name, number in wrong.items() for run in _made(root, name, number, n)]


def _made(root: Path, name: str, wrong: int, n: int) -> list[Run]:
    base, variant = next(((name.removesuffix(f"-{each}"), each) for each in (*EPOCHS, *SIZES) if name.endswith(f"-{each}")), (name, ""))
    return made_seeds(root, printed_tables.DATASET, base, n, wrong=wrong, variant=variant)


def test_every_claim_answers_without_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without runs and without stored measurements, every claim gives evidence; claims about runs are unjudged."""
    for name in ("PADDING", "NEUTRAL"):
        plant(monkeypatch, f"sevenessxin.measured.{name}", tmp_path)
    for claim in CLAIMS:
        verdict = claim.test([])
        assert verdict.evidence
        if claim.against == HERE:
            assert verdict.verdict == "unjudged", claim.statement
    assert {answer.verdict for answer in answer_questions([])} == {"unjudged"}


def test_its_own_tables_by_hand() -> None:
    """Gains counted, the gap of the best against what 160,000 rows can tell, figure 5's arithmetic."""
    own = "its own tables"
    gain = judge("RoPE", [], own)
    assert gain.verdict == "holds" and "9 of 10" in gain.evidence and "8 of 9" in gain.evidence
    best = judge("V6", [], own)
    assert best.verdict == "open" and "0.0018" in best.evidence and "0.0007" in best.evidence
    five = judge("The matrix", [], own)
    assert five.verdict == "fails" and f"{(0.738 + 0.853) / 2:.3f}" in five.evidence and f"{0.853 / (0.853 + 0.262):.3f}" in five.evidence
    assert judge("A sixteenth", [], own).evidence == (
        "on phase 1 it holds: V5 is 4.6 points behind V1; on phase 2 it holds: V5 is 5.3 points behind V1"
    )


@pytest.mark.parametrize(
    ("up", "logged", "verdict"),
    [(8, 10, "holds"), (10, 8, "holds"), (7, 10, "fails"), (10, 7, "fails"), (0, 0, "fails")],
)
def test_gains_counted_in_table_and_log(up: int, logged: int, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly every version is 8 of 10, in both; a version that stands there once, or gains nothing, gains not."""

    def table(name: str) -> pd.DataFrame:
        gaining = {"results": up, "log": logged}[name]
        rows = [(v, 0.8) for v in VERSIONS] + [(f"{v}-{ROPE}", 0.81 if i < gaining else 0.8) for i, v in enumerate(VERSIONS)]
        return pd.DataFrame([*rows, ("probe", 0.9)], columns=["model", "accuracy"])

    monkeypatch.setattr(printed_tables, "table", table)
    finding = judge("RoPE", [], "its own tables")
    assert (
        finding.verdict == verdict
        and f"{up} of 10 versions of table II and in {logged} of 10 versions of the training log" in finding.evidence
    )


@pytest.mark.parametrize(
    ("leads", "verdict"),
    [((0.003, 0.01), "holds"), ((0.0025, 0.01), "open"), ((0.01, 0.0025), "open"), ((-0.01, 0.01), "fails"),
     ((0.01, -0.01), "fails")],
)  # fmt: skip
def test_the_best_version_of_table_and_log(leads: tuple[float, float], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best version must lead by more than chance allows on 160,000 tweets (0.28 points at 80 %) in table and log; V2 is not counted."""
    ahead = dict(zip(("results", "log"), leads, strict=True))
    rows = {name: [(BEST, 0.8 + lead), ("7ess-v1", 0.8), ("7ess-v2", 0.7)] for name, lead in ahead.items()}
    monkeypatch.setattr(printed_tables, "table", lambda name: pd.DataFrame(rows[name], columns=["model", "accuracy"]))
    finding = judge("V6", [], "its own tables")
    assert finding.verdict == verdict
    if verdict != "fails":
        assert (
            f"0.8000, {leads[0]:.4f} less" in finding.evidence
            and f"significant from about {'0.0027' if leads[1] == 0.01 else '0.0028'}" in finding.evidence
        )


@pytest.mark.exhaustive
@pytest.mark.parametrize(("plain", "rope", "verdict"), [(70, 10, "holds"), (10, 70, "fails"), (30, 30, "open")])
def test_the_second_phase(plain: int, rope: int, verdict: str, tmp_path: Path) -> None:
    wrong = {name: number for v in VERSIONS for name, number in ((v, plain), (f"{v}-{ROPE}", rope))}
    assert judge("RoPE", seeds(tmp_path, wrong)).verdict == verdict


@pytest.mark.exhaustive
def test_half_of_the_versions_leave_the_second_phase_open(tmp_path: Path) -> None:
    """Five versions gain and five are not here: they could."""
    wrong = {name: number for v in VERSIONS[:5] for name, number in ((v, 70), (f"{v}-{ROPE}", 10))}
    assert judge("RoPE", seeds(tmp_path, wrong)).verdict == "open"


def test_two_versions_cannot_judge_the_second_phase(tmp_path: Path) -> None:
    """Both gain, but the eight that are not here alone could be nearly all."""
    wrong = {name: number for v in VERSIONS[:2] for name, number in ((v, 70), (f"{v}-{ROPE}", 10))}
    finding = judge("RoPE", seeds(tmp_path, wrong))
    assert finding.verdict == "unjudged" and finding.evidence.startswith("of 2 versions 2 gain significantly") and finding.effect


@pytest.mark.exhaustive
@pytest.mark.parametrize(("own", "rivals", "verdict"), [(10, 70, "holds"), (70, 10, "fails"), (30, 30, "open")])
def test_the_best_version(own: int, rivals: int, verdict: str, tmp_path: Path) -> None:
    """At equal updates alone; at equal epochs too, where other orders leave the claim open."""
    wrong = {f"{v}-{ROPE}": rivals for v in VERSIONS} | {BEST: own}
    alone = judge("V6", seeds(tmp_path / "alone", wrong))
    assert alone.verdict == verdict and "no runs of equal epochs are installed: sentviz study sevenessxin-versions-epochs" in alone.evidence
    epochs = {f"{name}-epochs": number for name, number in wrong.items()}
    both = judge("V6", seeds(tmp_path / "both", wrong | epochs))
    assert both.verdict == verdict and "; at equal epochs, of 9 other versions of its phase" in both.evidence
    reversed_epochs = {f"{name}-epochs": rivals if name == BEST else own for name in wrong}
    assert judge("V6", seeds(tmp_path / "reversed", wrong | reversed_epochs)).verdict == "open"
    few = {f"{name}-epochs": number for name, number in wrong.items() if name in (BEST, f"7ess-v1-{ROPE}")}
    assert judge("V6", seeds(tmp_path / "few", wrong | few)).verdict == ("open" if verdict == "holds" else verdict)


def test_versions_that_answer_alike_are_named(tmp_path: Path) -> None:
    """V2 answers as V6 does, V1 otherwise."""
    finding = judge("V6", seeds(tmp_path, {BEST: 30, f"7ess-v2-{ROPE}": 30, f"7ess-v1-{ROPE}": 31}))
    assert "V2 RoPE gives the same predictions for every tweet" in finding.evidence and "V1" not in finding.evidence


@pytest.mark.exhaustive
@pytest.mark.parametrize(("few", "all_", "verdict"), [(70, 10, "holds"), (10, 70, "fails"), (30, 30, "open")])
def test_fewer_tweets(few: int, all_: int, verdict: str, tmp_path: Path) -> None:
    """Both comparisons must agree: at equal updates, and at equal epochs. One alone leaves the claim open, and the evidence names it."""
    updates, epochs = {"7ess-v1-5k": few, "7ess-v1": all_}, {"7ess-v1-5k-epochs": few, "7ess-v1-epochs": all_}
    finding = judge("Fewer", seeds(tmp_path / "both", updates | epochs))
    assert finding.verdict == verdict and "5,000" in finding.evidence and "110,944" in finding.evidence
    assert "at equal updates (" in finding.evidence and "at equal epochs (" in finding.evidence
    alone = judge("Fewer", seeds(tmp_path / "alone", updates))
    assert alone.verdict == "open" and "no runs of equal epochs are installed: sentviz study sevenessxin-epochs" in alone.evidence
    reversed_epochs = seeds(tmp_path / "reversed", updates | {"7ess-v1-5k-epochs": all_, "7ess-v1-epochs": few})
    assert judge("Fewer", reversed_epochs).verdict == "open"


@pytest.mark.exhaustive
@pytest.mark.parametrize(("base", "deeper", "verdict"), [(20, 20, "holds"), (20, 80, "fails"), (80, 20, "fails"), (20, 24, "open")])
def test_depth_width_and_heads(base: int, deeper: int, verdict: str, tmp_path: Path) -> None:
    """Alike answers, far ones, and ones that two hundred rows cannot tell from a point."""
    wrong = {"7ess-v1": base, "7ess-v6": base, "7ess-v2": deeper, "7ess-v3": deeper, "7ess-v7": deeper, "7ess-v9": deeper}
    assert judge("More depth", seeds(tmp_path, wrong)).verdict == verdict


@pytest.mark.exhaustive
def test_sizes_are_compared_at_equal_epochs_too(tmp_path: Path) -> None:
    """Versions that answer alike at equal updates, but not at equal epochs, do not differ little."""
    alike = dict.fromkeys(("7ess-v1", "7ess-v2"), 20)
    longer = {f"7ess-v1-{ROPE}-epochs": 20, f"7ess-v7-{ROPE}-epochs": 80}
    assert judge("More depth", seeds(tmp_path / "alike", alike)).verdict == "holds"
    finding = judge("More depth", seeds(tmp_path / "epochs", alike | longer))
    assert finding.verdict == "fails" and "V7 RoPE against V1 RoPE at equal epochs −30.00" in finding.evidence


def test_equal_epochs_stand_beside_equal_updates(tmp_path: Path) -> None:
    """Mean accuracies over seeds by hand; a version without runs of equal epochs has no row, one without equal updates no second number."""
    frame = by_epochs(seeds(tmp_path, {"7ess-v1": 40, "7ess-v1-epochs": 20, f"{BEST}-epochs": 30, "7ess-v2": 50}))
    assert frame["model"].tolist() == ["V1 (baseline)", "V6 RoPE"] and frame["seeds"].tolist() == [2, 2]
    assert frame["value"].tolist() == pytest.approx([0.9, 0.85]) and frame["at_updates"].tolist()[0] == pytest.approx(0.8)
    assert pd.isna(frame["at_updates"].iloc[1]) and frame["printed"].tolist() == [0.8232, 0.8313]
    assert by_epochs([]).empty


@pytest.mark.exhaustive
def test_the_second_phase_at_equal_epochs_is_said(tmp_path: Path) -> None:
    """V1 in both phases at equal epochs stands at the end of the evidence; it does not change the verdict."""
    wrong = {name: number for v in VERSIONS[:5] for name, number in ((v, 70), (f"{v}-{ROPE}", 10))}
    finding = judge("RoPE", seeds(tmp_path, wrong | {"7ess-v1-epochs": 20, f"7ess-v1-{ROPE}-epochs": 40}))
    assert finding.verdict == "open" and "at equal epochs V1 (baseline) gains −10.00 points [" in finding.evidence


LEANS = list(zip([[[700, 300], [150, 850]], [[850, 150], [300, 700]], [[80, 20], [19, 81]]], OUTCOMES, strict=True))


@pytest.mark.parametrize(("matrix", "verdict"), LEANS)
def test_the_lean_to_the_positive_class(matrix: list[list[int]], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SimpleNamespace(labels=("negative", "positive"), metrics=lambda: {"test": {"confusion": matrix}})
    monkeypatch.setattr(claims, "configurations", lambda runs: {BEST: [run, run]})
    assert judge("The model prefers", []).verdict == verdict
    monkeypatch.setattr(claims, "configurations", lambda runs: {BEST: [run]})
    assert judge("The model prefers", []).verdict == "unjudged"
    monkeypatch.setattr(claims, "configurations", lambda runs: {BEST: [run], "7ess-v1": [run, run]})
    assert judge("The model prefers", []).evidence.startswith("V1 (baseline)")


@pytest.mark.parametrize(("low", "high", "verdict"), [(0.05, 0.07, "holds"), (0.001, 0.004, "fails"), (0.005, 0.02, "open")])
def test_padding(low: float, high: float, verdict: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = ["all", 200, (low + high) / 2, low, high, -0.01, -0.02, 0.001, 0.3, "a/b", "d"]
    plant(monkeypatch, "sevenessxin.measured.PADDING", tmp_path, pd.DataFrame([row], columns=list(measured.PADDING.columns)))
    finding = judge("A run that was trained masked", [])
    assert finding.verdict == verdict and finding.evidence.startswith("a/b was trained masked")
    assert "−1.00 points [−2.00, +0.10]" in finding.evidence and "so this is not its setting" in finding.evidence


@pytest.mark.exhaustive
@pytest.mark.parametrize(("masked", "read", "verdict"), [(20, 20, "holds"), (20, 80, "fails"), (80, 20, "fails"), (20, 24, "open")])
def test_training_with_padding(masked: int, read: int, verdict: str, tmp_path: Path) -> None:
    """Only an interval inside or outside of one point decides; one configuration alone decides nothing."""
    runs = seeds(tmp_path, {"7ess-v1": masked, "7ess-v1-unmasked": read}, n=3)
    finding = judge("Trained with padding read", runs)
    assert finding.verdict == verdict and f"{percent(1 - read / 200)}" in finding.evidence and "3 against 3 seeds" in finding.evidence
    assert judge("Trained with padding read", [run for run in runs if "unmasked" in run.name]).verdict == "unjudged"


def test_no_page_says_what_reading_padding_costs_the_published_setting() -> None:
    """The measured run was trained masked, so page, opening, items and caption say that it was; the claim is counted, not tested."""
    (claim,) = (claim for claim in CLAIMS if claim.id == "3e5e63")
    opening = PAPER.opening
    assert (
        claim.kind == "counted"
        and opening
        and "trained masked" in opening.result
        and "as in the published code, changes" not in opening.result
    )
    table = make_table(PAPER, "padding", [])
    assert "trained masked" in table.caption and "points" in table.columns[3].label
    (item,) = (item for item in PAPER.items() if "3e5e63" in item.claims)
    assert "trained masked" in item.why


@pytest.mark.exhaustive
def test_from_20000_tweets_on_gains_are_said_apart(tmp_path: Path) -> None:
    """5,000 against all decides the claim; the steps from 20,000 on stand beside it, also if they gain nothing."""
    sizes = {"7ess-v1-5k": 90, "7ess-v1-20k": 40, "7ess-v1-80k": 44, "7ess-v1": 40}
    flat = judge("Fewer", seeds(tmp_path / "flat", sizes))
    assert "from 20,000 tweets on, at equal updates: to 80,000 −2.00 points [" in flat.evidence and "to all +0.00 points [" in flat.evidence
    assert "so no gain is shown there" in flat.evidence
    rising = judge("Fewer", seeds(tmp_path / "rising", sizes | {"7ess-v1": 4}))
    assert "to all +18.00 points [" in rising.evidence and "no gain" not in rising.evidence
    assert "from 20,000" not in judge("Fewer", seeds(tmp_path / "two", {"7ess-v1-5k": 90, "7ess-v1": 40})).evidence
    (claim,) = (claim for claim in CLAIMS if claim.id == "ce76f7")
    assert "5,000 against all" in claim.statement


def test_neutral_tweets_cannot_be_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = [["neutral", 90, 0.6, 0.5, 0.7, 0.3, 0.2, 0.4, "a/b", "d"], ["polar", 60, 0.6, 0.5, 0.7, 0.8, 0.7, 0.9, "a/b", "d"]]
    plant(monkeypatch, "sevenessxin.measured.NEUTRAL", tmp_path, pd.DataFrame(rows, columns=list(measured.NEUTRAL.columns)))
    finding = judge("Neutral", [])
    assert (
        finding.verdict == "unjudged" and "30.0\u00a0% [20.0, 40.0] of 90 neutral" in finding.evidence and "80.0\u00a0%" in finding.evidence
    )


@pytest.mark.parametrize(("lags", "verdict"), [((0.046, 0.053), "holds"), ((0.046, 0.062), "fails"), ((0.001, 0.05), "fails")])
def test_what_scarcity_costs_in_the_table(lags: tuple[float, float], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """V5 behind V1 in both phases: about five points is from four to six."""
    rows = [(f"7ess-v{v}{phase}", 0.8 - lag * (v == 5)) for phase, lag in zip(("", f"-{ROPE}"), lags, strict=True) for v in (1, 5)]
    monkeypatch.setattr(printed_tables, "table", lambda name: pd.DataFrame(rows, columns=["model", "accuracy"]))
    finding = judge("A sixteenth", [], "its own tables")
    assert finding.verdict == verdict and [name for name, _ in finding.parts] == ["phase 1", "phase 2"]
    assert all(f"{100 * lag:.1f} points" in part.evidence for lag, (_, part) in zip(lags, finding.parts, strict=True))


@pytest.mark.parametrize(("printed", "verdict"), [(0.8, "holds"), (0.804, "holds"), (0.81, "fails"), (0.79, "fails")])
def test_the_matrix_beside_the_printed_accuracy(printed: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """75 and 85 % of two classes of one size are 80 % right in all."""
    monkeypatch.setattr(printed_tables, "FIGURE_5", {"negative": 0.75, "positive": 0.85})
    row = {"model": BEST, "accuracy": printed, "precision_positive": 0.77}
    monkeypatch.setattr(printed_tables, "table", lambda name: pd.DataFrame([row]))
    assert judge("The matrix", [], "its own tables").verdict == verdict

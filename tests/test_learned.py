"""A run that did not learn settles no claim, and the lines that open a paper's page rest on verdicts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sentviz.analysis.claim import VERDICT_WORDS, Claim, Effect, Finding, judge_on_learned
from sentviz.analysis.evaluation import not_learned_in_words, why_not_learned, wilson
from sentviz.charts.gallery import FIGURES
from sentviz.errors import SentvizError
from sentviz.papers.hardmax.study import PUBLIC
from sentviz.papers.studies.claims import claims_of
from sentviz.papers.studies.findings import OTHER_RUNS, TITLES, changed_by, opening_of
from sentviz.papers.studies.rates import late_fall, remark, still_learning, stopped_early, with_rates
from sentviz.papers.studies.stats import seed_noise
from sentviz.papers.studies.verdicts import stored_findings
from sentviz.runs.convergence import LateLoss, _read, converged, late_loss, store, verified
from sentviz.runs.registry import Opening, Paper, built_in, find_paper
from sentviz.runs.store import Run
from tests.studies import as_said, made_run, made_seeds

BETTER_AND_WORSE = {  # claim -> data set, and configurations that are right more and less often if it holds
    "ndt-56d08d": ("sst2", ["diff"], ["vanilla"]),
    "hardmax-6c9983": ("imdb", [f"hardmax-d{d}" for d in PUBLIC], []),
    "fused-a001af": ("klue_nli", ["cls-last-scaled"], ["cls"]),
    "sentiformer-ca109f": ("sst5_trees", ["sentiformer"], ["bilstm", "cnn"]),
    "sentiformer-dd45d4": ("sst5_trees", ["sentiformer"], ["sentiformer-no-norm"]),
    "sevenessxin-ce76f7": ("sentiment140", ["7ess-v1", "7ess-v1-epochs"], ["7ess-v1-5k", "7ess-v1-5k-epochs"]),
}
VARIANTS = ("5k-epochs", "2-epochs", "epochs", "5k", "fast")
CHANCE = 100  # wrong rows of 200 in two classes


def claim_of(key: str) -> Claim:
    paper = find_paper(key.partition("-")[0])
    (claim,) = (claim for claim in claims_of(paper) if claim.key(paper.name) == key)
    return claim


def judge(key: str, runs: list[Run]) -> Finding:
    return as_said(claim_of(key).test(runs))


def seeds(root: Path, dataset: str, name: str, wrong: int, n: int = 2, **options: Any) -> list[Run]:
    variant = next((each for each in VARIANTS if name.endswith(f"-{each}")), "")
    also = ("official_test",) if dataset == "sst2" else ()
    return made_seeds(root, dataset, name.removesuffix(f"-{variant}"), n, wrong=wrong, variant=variant, also=also, **options)


def run_of(**metrics: Any) -> Any:
    """Return a stand-in for a run with these confusion matrices."""
    stored = {split: {"confusion": counts} if counts else {} for split, counts in metrics.items()}
    return SimpleNamespace(name="a/b", config={"recipe": {"learning_rate": 1e-3}}, metrics=lambda: stored)


def test_a_run_learned_if_its_interval_is_above_the_most_frequent_class() -> None:
    for right in range(100):
        counts = [[right, 60 - right], [0, 40]] if right <= 60 else [[60, 0], [100 - right, right - 60]]
        total = sum(counts[i][i] for i in range(2))
        assert (why_not_learned(run_of(test=counts)) == "") == (float(wilson(total, 100)[0]) > 0.6)
    chance, good = [[50, 0], [50, 0]], [[50, 0], [0, 50]]
    why = "a/b 50.0\u00a0% [40.4, 59.6] on validation (most frequent class 50.0\u00a0%)"
    assert why_not_learned(run_of(test=good, validation=chance)) == why
    assert "on test" in why_not_learned(run_of(test=chance, validation=None))
    assert why_not_learned(run_of(test=chance, validation=good)) == "" == not_learned_in_words([run_of(test=good)])
    assert not_learned_in_words([run_of(test=chance)]).startswith("the run did not learn at learning rate 0.001: a/b 50.0\u00a0%")


@pytest.mark.exhaustive
@pytest.mark.parametrize("key", BETTER_AND_WORSE)
def test_a_claim_holds_fails_and_is_open_if_a_side_did_not_learn(key: str, tmp_path: Path) -> None:
    dataset, better, worse = BETTER_AND_WORSE[key]
    for good, bad, verdict in ((5, 70, "holds"), (70, 5, "fails"), (5, CHANCE, "open"), (CHANCE, 5, "open")):
        sides = [(name, good) for name in better] + [(name, bad) for name in worse]
        finding = judge(key, [run for name, wrong in sides for run in seeds(tmp_path / f"{good}-{bad}", dataset, name, wrong)])
        if verdict == "open" and not worse and good != CHANCE:
            continue
        assert finding.verdict == verdict
        assert finding.evidence.startswith("the runs did not learn at learning rate") == (verdict == "open")
        assert all(part.verdict == verdict and ("did not learn" in part.evidence) == (verdict == "open") for _, part in finding.parts)


def test_one_seed_that_did_not_learn_leaves_a_claim_open(tmp_path: Path) -> None:
    key = "sentiformer-418db8"
    learned = [*seeds(tmp_path, "sst5_trees", "sentiformer-no-gate", 5, 3), *seeds(tmp_path, "sst5_trees", "sentiformer", 70)]
    collapsed = made_run(tmp_path, "sst5_trees", "sentiformer", 2, wrong=CHANCE)
    assert judge(key, learned).verdict == "fails"
    finding = judge(key, [*learned, collapsed])
    assert finding.verdict == "open" and finding.evidence.startswith("the run did not learn") and collapsed.name in finding.evidence
    unrelated = seeds(tmp_path, "sst5_trees", "sentiformer-no-norm", CHANCE)
    assert judge(key, [*learned, *unrelated]).verdict == "fails"
    assert seed_noise([unrelated]) is None


def test_a_model_that_learns_in_more_epochs_can_lose_but_not_win(tmp_path: Path) -> None:
    """SentiFormer has twice the epochs of its baselines: if it loses, the claim fails; if it wins, the claim is open."""
    key, data = "sentiformer-4262b0", "imdb"
    runs = [*seeds(tmp_path, data, "sentiformer", CHANCE, validation=0.5), *seeds(tmp_path, data, "cnn", 40)]
    runs += seeds(tmp_path, data, "bilstm", 40)
    assert judge(key, runs).evidence.startswith("the runs did not learn")
    longer = seeds(tmp_path, data, "sentiformer-2-epochs", 70, n=1, validation=0.6)
    finding = judge(key, runs + longer)
    assert finding.verdict == "fails" and "did not learn" not in finding.evidence
    assert "SentiFormer had 2 epochs and the others 1" in finding.evidence
    winning = seeds(tmp_path / "winning", data, "sentiformer-2-epochs", 2, validation=0.95)
    finding = judge(key, runs + winning)
    assert finding.verdict == "open" and "(BiLSTM did not have every training of SentiFormer)" in finding.evidence
    assert "same epochs" in changed_by(claim_of(key), finding)


def test_kinds_of_rows_are_left_open_one_by_one(tmp_path: Path) -> None:
    failed = SimpleNamespace(
        name="x/a", configuration="a", config={"data": {"name": "x"}, "recipe": {}}, metrics=run_of(test=[[5, 0], [5, 0]]).metrics
    )

    def test(runs: Any) -> Finding:
        parts = (("these", Finding("holds" if runs else "open", "numbers")), ("those", Finding("fails", "other numbers")))
        return Finding("fails", "both", parts, Effect(1.0))

    finding = judge_on_learned(test, ("x",), [failed])  # type: ignore[list-item]
    assert finding.verdict == "fails" and [part.verdict for _, part in finding.parts] == ["open", "fails"]
    assert finding.parts[0][1].evidence.startswith("the run did not learn: x/a") and finding.parts[1][1].evidence == "other numbers"
    assert judge_on_learned(test, ("y",), [failed]) == test([failed])  # type: ignore[list-item]


def test_how_fast_a_model_still_learned(tmp_path: Path) -> None:
    """The fall over the last interval is a mean over seeds; a small fall, or one slower than the rival's, does not count."""
    falling = [made_run(tmp_path, "sst2", "vanilla", s, losses=(0.9, 0.8, 0.8 - 0.08 * (s + 1))) for s in range(2)]
    by_preset = {
        "vanilla": falling,
        "diff": [made_run(tmp_path, "sst2", "diff", losses=(0.8, 0.7))],
        "ndt-unit-2": [made_run(tmp_path, "sst2", "ndt-unit-2", losses=(0.800, 0.795))],
        "ndt-free-2": [made_run(tmp_path, "sst2", "ndt-free-2", losses=(0.5, 0.6))],
        "ndt-free-3": [made_run(tmp_path, "sst2", "ndt-free-3", losses=(0.5,))],
    }
    assert late_fall(falling) == pytest.approx((0.1 + 0.2) / 2) and late_fall(by_preset["ndt-free-2"]) == pytest.approx(-0.2)
    assert still_learning(by_preset, "vanilla", "diff") == (
        "vanilla had 1 epoch, and its validation loss still fell by 15.0\u00a0% in the last evaluation interval, that of diff by"
        " 12.5\u00a0%"
    )
    assert "that of ndt-free-2 by 0.0\u00a0%" in still_learning(by_preset, "diff", "ndt-free-2")
    assert not still_learning(by_preset, "diff", "vanilla") and not still_learning(by_preset, "ndt-unit-2", "ndt-free-2")
    assert "1 epoch and fewer than two evaluations, so it is unknown" in still_learning(by_preset, "ndt-free-3", "diff")
    assert still_learning(by_preset, "diff", "ndt-free-3").endswith("last evaluation interval")


@pytest.mark.parametrize(("wrong", "decided"), [((2, 40), "holds"), ((40, 2), "fails")])
def test_a_side_that_still_learned_cannot_lose(tmp_path: Path, wrong: tuple[int, int], decided: str) -> None:
    sides = ("winner", "loser") if decided == "holds" else ("loser", "winner")
    for late, doubted in (((), False), (("loser",), True), (("winner",), False), (("winner", "loser"), False)):
        runs = [
            run
            for model, side, n in zip(("ndt-unit-2", "vanilla"), sides, wrong, strict=True)
            for run in made_seeds(tmp_path / "".join(late), "sst2", model, 2, wrong=n, losses=(0.6, 0.5) if side in late else (0.5, 0.5))
        ]
        finding = with_rates(Finding(decided, "numbers"), runs, "sst2", ["ndt-unit-2"], ["vanilla"])  # type: ignore[arg-type]
        assert finding.verdict == ("open" if doubted else decided)
        assert ("had 1 epoch, and its validation loss still fell by 16.7\u00a0%" in finding.evidence) == doubted


ENDED, STOPPED = (0.6, 0.5, 0.5, 0.5, 0.5), (0.6, 0.5, 0.5, 0.5)  # three epochs without a smaller loss, the paper's rule, and two


def test_a_training_ends_by_the_rule_of_its_own_paper(tmp_path: Path) -> None:
    """SentiFormer's paper waits for three epochs without a smaller loss, in every seed; the NDT paper states no rule."""
    ended, stopped = (made_run(tmp_path, "imdb", "sentiformer", s, losses=losses) for s, losses in enumerate((ENDED, STOPPED)))
    assert [stopped_early(runs) for runs in ([ended], [stopped], [ended, stopped])] == [0, 3, 3]
    assert stopped_early([made_run(tmp_path, "imdb", "cnn", variant="fast", losses=STOPPED)]) == 3
    assert stopped_early([made_run(tmp_path, "imdb", "ndt-unit-2", losses=STOPPED)]) == 0
    by_preset = {"sentiformer": [stopped], "cnn": [made_run(tmp_path, "imdb", "cnn", losses=ENDED)]}
    assert still_learning(by_preset, "sentiformer", "cnn") == (
        "sentiformer had 1 epoch, and the paper waits until 3 epochs bring no smaller validation loss"
    )
    assert not still_learning(by_preset, "cnn", "sentiformer")


def test_a_run_converged_if_its_loss_no_longer_fell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is read once for its digest, and not at all if it is stored. It is unknown before two evaluations and without a history."""
    flat, falling, rising, short = (
        made_run(tmp_path, "sst2", "vanilla", s, losses=losses) for s, losses in enumerate([(0.5, 0.4959), (0.5, 0.4), (0.5, 0.6), (0.5,)])
    )
    by_rule, against_rule = (made_run(tmp_path, "imdb", "sentiformer", s, losses=losses) for s, losses in enumerate((ENDED, STOPPED)))
    runs = [flat, falling, rising, short, by_rule, against_rule]
    assert [converged(run) for run in runs] == [True, False, True, None, True, False]
    monkeypatch.setattr("sentviz.runs.convergence.STORED", tmp_path / "verified.csv")
    verified.cache_clear()
    store(runs)
    late = [late_loss(run) for run in runs]
    assert list(verified()) == [run.digest for run in runs] and late[5] == LateLoss(0.0, 2.0)
    for run in runs:
        (run.folder / "history.parquet").unlink()
    assert [converged(run) for run in runs] == [True, False, True, None, True, False]
    verified.cache_clear()
    _read.cache_clear()
    (tmp_path / "verified.csv").unlink()
    assert converged(flat) is None
    verified.cache_clear()


@pytest.mark.parametrize(
    ("wrong", "early", "verdict"),
    [
        ((5, 70), ("loser",), "open"),
        ((5, 70), ("winner",), "holds"),
        ((70, 5), ("loser",), "open"),
        ((70, 5), ("winner",), "fails"),
        ((40, 40), (), "open"),
    ],
)
def test_a_side_that_stopped_before_its_papers_rule_cannot_lose(
    tmp_path: Path, wrong: tuple[int, int], early: tuple[str, ...], verdict: str
) -> None:
    own, rivals = ("loser", "winner") if wrong[0] > wrong[1] else ("winner", "loser")
    runs = [
        run
        for model, side, n in (("sentiformer", own, wrong[0]), *((name, rivals, wrong[1]) for name in ("bilstm", "cnn")))
        for run in seeds(tmp_path, "sst5_trees_binary", model, n, losses=STOPPED if side in early else ENDED)
    ]
    finding = judge("sentiformer-795e4e", runs)
    assert finding.verdict == verdict
    assert ("the paper waits until 3 epochs" in finding.evidence) == (early == ("loser",))


def test_a_claim_holds_only_at_the_best_learning_rates(tmp_path: Path) -> None:
    """Rates that were not searched are named; another rate that validation prefers, or a search of the winner alone, leaves it open."""
    key, data = "ndt-1bf5ab", "twitter_financial"
    runs = seeds(tmp_path, data, "ndt-unit-2", 5) + seeds(tmp_path, data, "vanilla", 70)
    finding = judge(key, runs)
    assert finding.verdict == "holds" and finding.evidence.endswith("; the learning rate, 0.0005, was not searched")
    own, rival = seeds(tmp_path, data, "ndt-unit-2-fast", 30, validation=0.5), seeds(tmp_path, data, "vanilla-fast", 70, validation=0.5)
    unfair = judge(key, runs + own)
    assert unfair.verdict == "open" and unfair.evidence.endswith("; the learning rate of vanilla was not searched")
    searched = judge(key, runs + own + rival)
    assert searched.verdict == "holds" and "learning rate" not in searched.evidence
    preferred = seeds(tmp_path / "preferred", data, "vanilla-fast", 10, validation=0.95)
    at_best = judge(key, runs + preferred)
    assert at_best.verdict == "open" and at_best.evidence.endswith("validation prefers learning rate 0.001 for vanilla")
    presets = ["ndt-unit-2", "vanilla-fast"]
    assert (
        remark(runs + own + preferred, data, presets)
        == "the learning rates, 0.0005 (ndt-unit-2) and 0.001 (vanilla), were chosen by validation"
    )
    assert remark(runs + preferred, data, presets) == (
        "the learning rates are 0.0005 (ndt-unit-2) and 0.001 (vanilla); the learning rate of ndt-unit-2 was not searched"
    )


PAPER = find_paper("ndt")


def with_opening(result: str, **expects: str) -> Paper:
    return replace(PAPER, opening=Opening("A.", result, "B.", {name.replace("_", "-"): verdict for name, verdict in expects.items()}))


def test_an_opening_rests_on_the_stored_verdicts() -> None:
    """Every verdict that the lines rest on is the stored one, every number is filled, and the figure is one of the gallery.
    Words that are a verdict rest on none.
    """
    findings = stored_findings()
    papers = [paper for paper in built_in().values() if paper.opening]
    assert PAPER in papers
    for paper in papers:
        opening, filled = paper.opening, opening_of(paper, findings)
        assert opening and filled and opening.expects
        named = set(re.findall(r"\{([a-z0-9]+-[0-9a-f]{6})(?!:verdict)", opening.result + opening.question))
        assert named <= opening.expects.keys() <= findings.keys()
        assert {key: findings[key].verdict for key in opening.expects} == dict(opening.expects)
        assert tuple(title for title, _ in filled.lines) == TITLES
        assert all(text.endswith(".") and len(text.split()) <= 80 and not re.search(r"[{}\n]", text) for _, text in filled.lines)
        assert not filled.figure or filled.of in FIGURES[filled.figure].names


READ = with_opening("It is {x-000001}, and this {x-000001:verdict}.", x_000001="holds")


def test_numbers_are_those_of_the_findings() -> None:
    filled = opening_of(READ, {"x-000001": Finding("holds", "", effect=Effect(2.5))})
    assert filled and filled.lines[1] == (TITLES[1], f"It is +2.50 points, and this {VERDICT_WORDS['holds']}.")


def test_other_verdicts_leave_only_what_the_paper_says() -> None:
    for findings in ({"x-000001": Finding("open", "", effect=Effect(2.5))}, {}):
        filled = opening_of(READ, findings)
        assert filled and [text for _, text in filled.lines] == ["A.", OTHER_RUNS]
    assert opening_of(replace(PAPER, opening=None), {}) is None
    with pytest.raises(SentvizError, match="x-000002"):
        opening_of(with_opening("{x-000002}."), {})

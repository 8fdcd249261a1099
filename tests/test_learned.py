"""Loops check what tests of claims share, a run that did not learn settles no claim, and openings of pages rest on verdicts."""

import re
from dataclasses import replace
from itertools import product
from math import comb, erfc, sqrt
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from sentviz.analysis.claim import VERDICT_WORDS, Claim, Effect, Finding, judge_on_learned, not_testable
from sentviz.analysis.evaluation import not_learned_in_words, why_not_learned, wilson
from sentviz.charts.gallery import FIGURES
from sentviz.errors import InputError, SentvizError
from sentviz.papers.studies.claims import claims_of
from sentviz.papers.studies.compare_configurations import Comparison, Word, compared_frame, configurations, over_seeds, points
from sentviz.papers.studies.findings import OTHER_RUNS, TITLES, changed_by, opening_of
from sentviz.papers.studies.judging import all_better, every_better, inside_margin, more_than_half, over_parts, seeds_in_words, too_few
from sentviz.papers.studies.rates import late_fall, remark, still_learning, stopped_early, with_rates
from sentviz.papers.studies.results import COLUMNS, of_metric, results, values
from sentviz.papers.studies.stats import seed_noise
from sentviz.papers.studies.verdicts import stored_findings
from sentviz.runs.convergence import LateLoss, _read, converged, late_loss, store, verified
from sentviz.runs.printed import printed_results
from sentviz.runs.registry import Opening, Paper, PrintedColumn, PrintedTable, built_in, find_paper
from sentviz.runs.store import Run
from tests.kit import refused
from tests.studies import as_said, made_run, made_seeds

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


def test_sides_that_did_not_learn_leave_claims_open(tmp_path: Path) -> None:
    key = "sentiformer-418db8"
    learned = [*seeds(tmp_path, "sst5_trees", "sentiformer-no-gate", 5, 3), *seeds(tmp_path, "sst5_trees", "sentiformer", 70)]
    collapsed = made_run(tmp_path, "sst5_trees", "sentiformer", 2, wrong=CHANCE)
    assert judge(key, learned).verdict == "fails"
    finding = judge(key, [*learned, collapsed])
    assert finding.verdict == "open" and finding.evidence.startswith("the run did not learn") and collapsed.name in finding.evidence
    unrelated = seeds(tmp_path, "sst5_trees", "sentiformer-no-norm", CHANCE)
    assert judge(key, [*learned, *unrelated]).verdict == "fails"
    assert seed_noise([unrelated]) is None
    data, failing = {"data": {"name": "x"}, "recipe": {}}, run_of(test=[[5, 0], [5, 0]]).metrics
    failed = SimpleNamespace(name="x/a", configuration="a", config=data, metrics=failing)

    def test(runs: Any) -> Finding:
        parts = (("these", Finding("holds" if runs else "open", "numbers")), ("those", Finding("fails", "other numbers")))
        return Finding("fails", "both", parts, Effect(1.0))

    finding = judge_on_learned(test, ("x",), [failed])  # type: ignore[list-item]
    assert finding.verdict == "fails" and [part.verdict for _, part in finding.parts] == ["open", "fails"]
    assert finding.parts[0][1].evidence.startswith("the run did not learn: x/a") and finding.parts[1][1].evidence == "other numbers"
    assert judge_on_learned(test, ("y",), [failed]) == test([failed])  # type: ignore[list-item]
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


def test_late_falls_and_rules_of_papers(tmp_path: Path) -> None:
    falling = [made_run(tmp_path, "sst2", "vanilla", s, losses=(0.9, 0.8, 0.8 - 0.08 * (s + 1))) for s in range(2)]
    by_preset = {
        "vanilla": falling,
        "diff": [made_run(tmp_path, "sst2", "diff", losses=(0.8, 0.7))],
        "ndt-unit-2": [made_run(tmp_path, "sst2", "ndt-unit-2", losses=(0.800, 0.795))],
        "ndt-free-2": [made_run(tmp_path, "sst2", "ndt-free-2", losses=(0.5, 0.6))],
        "ndt-free-3": [made_run(tmp_path, "sst2", "ndt-free-3", losses=(0.5,))],
    }
    assert late_fall(falling) == pytest.approx((0.1 + 0.2) / 2) and late_fall(by_preset["ndt-free-2"]) == pytest.approx(-0.2)
    words = still_learning(by_preset, "vanilla", "diff")
    assert words.startswith("vanilla had 1 epoch, and its validation loss still fell by 15.0\u00a0%") and words.endswith(
        "diff by 12.5\u00a0%"
    )
    assert "that of ndt-free-2 by 0.0\u00a0%" in still_learning(by_preset, "diff", "ndt-free-2")
    assert not still_learning(by_preset, "diff", "vanilla") and not still_learning(by_preset, "ndt-unit-2", "ndt-free-2")
    assert "1 epoch and fewer than two evaluations, so it is unknown" in still_learning(by_preset, "ndt-free-3", "diff")
    assert still_learning(by_preset, "diff", "ndt-free-3").endswith("last evaluation interval")
    ended, stopped = (made_run(tmp_path, "imdb", "sentiformer", s, losses=losses) for s, losses in enumerate((ENDED, STOPPED)))
    assert [stopped_early(runs) for runs in ([ended], [stopped], [ended, stopped])] == [0, 3, 3]
    assert stopped_early([made_run(tmp_path, "imdb", "cnn", variant="fast", losses=STOPPED)]) == 3
    assert stopped_early([made_run(tmp_path, "imdb", "ndt-unit-2", losses=STOPPED)]) == 0
    by_preset = {"sentiformer": [stopped], "cnn": [made_run(tmp_path, "imdb", "cnn", losses=ENDED)]}
    rule = "sentiformer had 1 epoch, and the paper waits until 3 epochs bring no smaller validation loss"
    assert still_learning(by_preset, "sentiformer", "cnn") == rule
    assert not still_learning(by_preset, "cnn", "sentiformer")


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
    chosen, unsearched = (remark(each, data, presets) for each in (runs + own + preferred, runs + preferred))
    assert chosen == "the learning rates, 0.0005 (ndt-unit-2) and 0.001 (vanilla), were chosen by validation"
    rates = "the learning rates are 0.0005 (ndt-unit-2) and 0.001 (vanilla)"
    assert unsearched == f"{rates}; the learning rate of ndt-unit-2 was not searched"


PAPER = find_paper("ndt")


def with_opening(result: str, **expects: str) -> Paper:
    return replace(PAPER, opening=Opening("A.", result, "B.", {name.replace("_", "-"): verdict for name, verdict in expects.items()}))


def test_an_opening_rests_on_the_stored_verdicts() -> None:
    findings = stored_findings()
    papers = [paper for paper in built_in().values() if paper.opening]
    for paper in papers:
        opening, filled = paper.opening, opening_of(paper, findings)
        assert opening and filled and opening.expects
        named = set(re.findall(r"\{([a-z0-9]+-[0-9a-f]{6})(?!:verdict)", opening.result + opening.question))
        assert named <= opening.expects.keys() <= findings.keys()
        assert {key: findings[key].verdict for key in opening.expects} == dict(opening.expects)
        assert tuple(title for title, _ in filled.lines) == TITLES
        assert all(text.endswith(".") and len(text.split()) <= 80 and not re.search(r"[{}\n]", text) for _, text in filled.lines)
        assert not filled.figure or filled.of in FIGURES[filled.figure].names
    stated = with_opening("It is {x-000001}, and this {x-000001:verdict}.", x_000001="holds")
    filled = opening_of(stated, {"x-000001": Finding("holds", "", effect=Effect(2.5))})
    assert filled and filled.lines[1] == (TITLES[1], f"It is +2.50 points, and this {VERDICT_WORDS['holds']}.")
    for findings in ({"x-000001": Finding("open", "", effect=Effect(2.5))}, {}):
        filled = opening_of(stated, findings)
        assert filled and [text for _, text in filled.lines] == ["A.", OTHER_RUNS]
    assert opening_of(replace(PAPER, opening=None), {}) is None
    refused(SentvizError, "x-000002", opening_of, with_opening("{x-000002}."), {})


COMPARISON = Comparison(200, (3, 3), (0.9, 0.85), 0.05, 0.02, 0.08, 0.004, "over seeds")
WORDS: tuple[Word, ...] = ("better", "worse", "cannot be told")


def binomial(count: int, number: int) -> float:
    """Return the two-sided exact p of a count against one half: the probabilities of the counts that are at most as probable."""
    ways = [comb(number, k) for k in range(number + 1)]
    return sum(way for way in ways if way <= ways[count]) / 2**number


def test_counts_comparisons_and_margins_are_those_of_loops() -> None:
    for number in range(1, 13):
        assert too_few(number) == (binomial(0, number) > 0.05)
        for count in range(number + 1):
            verdict, p, (share, low, high) = more_than_half(count, number)
            assert p == pytest.approx(binomial(count, number)) and share == count / number and low <= share <= high
            assert verdict == ("open" if p > 0.05 else "holds" if count > number / 2 else "fails")
    adjusted = (0.01, 0.03, 0.02)
    for words in product(WORDS, repeat=3):
        worse = [p for p, word in zip(adjusted, words, strict=True) if word == "worse"]
        wanted = ("fails", min(worse)) if worse else ("holds", 0.03) if set(words) == {"better"} else ("open", None)
        assert every_better(adjusted, words, ["over seeds"] * 3) == wanted
    assert every_better(adjusted, ["better"] * 3, ["over seeds"] * 3, complete=False) == ("open", None)
    assert every_better([0.2], ["cannot be told"], ["McNemar"]) == ("unjudged", None)
    pairs = {"a": COMPARISON, "b": replace(COMPARISON, p=0.03)}
    assert all_better(pairs) == ("holds", pytest.approx(0.03))
    frame = compared_frame(pairs)
    assert frame["name"].tolist() == ["a", "b"] and frame["adjusted"].tolist() == pytest.approx([0.008, 0.03])
    assert frame["base"].tolist() == [0.85, 0.85] and frame["verdict"].tolist() == ["better", "better"]
    assert all_better(pairs | {"c": replace(COMPARISON, difference=-0.05)})[0] == "fails"
    assert list(compared_frame({}).columns) == list(frame.columns)
    alone = Finding("holds", "so")
    assert over_parts({"a": alone}) is alone
    assert over_parts({"a": alone, "b": not_testable("none")}).evidence == "on a it holds: so; on b it cannot be judged here: none"
    assert seeds_in_words(3) == "3 seeds" and seeds_in_words(1) == "one seed; other seeds are unknown"
    ends = [(0.0, -0.004, 0.004), (0.001, -0.002, 0.004), (-0.002, -0.008, 0.004), (0.02, 0.012, 0.028)]
    errors = [(high - low) / 2 / NormalDist().inv_cdf(0.975) for _, low, high in ends]
    levels = [erfc((0.01 - abs(value)) / error / sqrt(2)) / 2 for (value, _, _), error in zip(ends[:3], errors[:3], strict=True)]
    inside, p = inside_margin(ends[:3], 0.01)
    assert inside == [True, True, True] and p == pytest.approx(max(levels))
    inside, p = inside_margin(ends, 0.01)
    beyond = erfc((0.02 - 0.01) / errors[3] / sqrt(2)) / 2
    assert inside == [True, True, True, False] and p == pytest.approx(4 * beyond)
    assert inside_margin([(0.0, -0.02, 0.02)], 0.01)[0] == [None] and inside_margin([], 0.01) == ([], None)


def test_results_have_every_printed_and_stored_number(tmp_path: Path) -> None:
    paper = find_paper("sentiformer")
    frame = results([], [paper]).set_index(["dataset", "model"])["value"]
    printed = pd.read_csv(paper.folder / "printed" / "accuracy.csv").set_index("model")
    assert frame["imdb", "bilstm"] == printed.loc["BiLSTM", "imdb"] / 100 and frame["sst5_trees", "sentiformer"] == pytest.approx(0.923)
    assert ("imdb", "BERT-base") not in frame.index and not frame.index.has_duplicates
    ndt = results([], [find_paper("ndt")])
    assert set(ndt["metric"]) == {"accuracy", "precision", "f1", "auc", "silhouette"} and set(ndt["source"]) == {"printed"}
    lambdas = printed_results(find_paper("ndt")).query("metric == 'lambda'")
    assert lambdas["layer"].min() == 0 and lambdas["component"].min() == 1
    runs = [made_run(tmp_path, "sst2", "ndt-unit-2", seed, wrong=10 * (seed + 1), also=("official_test",)) for seed in (0, 1)]
    runs.append(made_run(tmp_path, "imdb", "ndt-unit-2", variant="equal", wrong=100))
    frame = results(runs)
    stored = {
        (run.name, split, metric): value["value"]
        for run in runs
        for split, of_split in run.metrics().items()
        for metric, value in of_split.items()
        if isinstance(value, dict) and "value" in value
    }
    assert list(frame.columns) == COLUMNS
    assert {(row.run, row.split, row.metric): row.value for row in frame.itertuples()} == stored and len(frame) == len(stored)
    assert list(dict.fromkeys(frame["run"])) == [run.name for run in runs]
    last = frame[frame["run"] == runs[2].name].iloc[0]
    assert (last["model"], last["variant"], last["seed"], last["dataset"], last["learned"]) == ("ndt-unit-2", "equal", 0, "imdb", False)
    assert (last["source"], last["paper"]) == ("run", "ndt") and set(frame["converged"]) == {converged(run) for run in runs}
    assert values(runs[:2]) == [0.95, 0.9] and len(of_metric(runs, split="official_test")) == 2
    by_model = configurations(runs, "sst2", ["ndt-unit-2"])
    assert points(by_model).to_dict("list") == {"model": ["ndt-unit-2"] * 2, "seed": [0, 1], "value": [0.95, 0.9]}
    assert over_seeds(by_model)["value"].tolist() == pytest.approx([0.925]) and points({}).empty and results([]).empty
    for columns, fault in (
        ({"imdb": PrintedColumn("accuracy", ("imdb",)), "none": PrintedColumn()}, "has no column 'none'"),
        ({"imdb": PrintedColumn("accuracy")}, "has no column 'dataset'"),
        ({"model": PrintedColumn("accuracy", ("imdb",))}, "The column 'model' .* does not hold numbers"),
    ):
        paper = find_paper("sentiformer")
        refused(InputError, fault, printed_results, replace(paper, printed={"accuracy": PrintedTable(columns)}))
        refused(InputError, r"there is no file printed/none\.csv", printed_results, replace(paper, printed={"none": PrintedTable(columns)}))

"""The claims on attention as an explanation, tested on 300 sentences of SST-2 that four models read (`measure.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import pandas as pd
from scipy import stats

from sentviz.analysis.claim import LEVEL, Board, Effect, Finding, decide, p_of_interval, strictest_finding
from sentviz.io.numbers import number, percent
from sentviz.papers.studies.judging import more_than_half
from sentviz.papers.studies.stored import Stored
from sentviz.runs.store import Run

MODELS = {
    "sst2/vanilla-matched": "a transformer",
    "sst2/ndt-unit-2": "a Non-Differential Transformer",
    "sst2/cls": "a small BERT",
    "sst2/minilm": "MiniLM",
}
WORDS = {"attention": "attention", "removal": "leaving out", "gradient": "gradients", "integrated-gradients": "integrated gradients"}
WEAK = 0.5  # rank correlation (Kendall's tau) below which two orders agree weakly
SAME = 0.05  # total variation distance of outputs that count as the same, as in the paper
MARGIN = 0.02  # accuracy that may be lost where equal weights count as good enough
stored = partial(Stored, what="Attention and other explanations are", command="python -m attention_debate.measure", texts=("run", "digest"))
MEASURED = Path(__file__).parent / "measured"
PAIRS = stored(MEASURED / "agreement.csv", ("run", "digest", "row", "first", "second", "tau", "top", "chance"))
CHANGES = stored(MEASURED / "attention.csv", ("run", "digest", "row", "change", "distance", "right", "was right", "other"))
BOARD = Board({})
OVER_SENTENCES = f"the mean of Kendall's τ over sentences with its t interval; two orders agree weakly below {WEAK}"
MORE_THAN_HALF = f"whether more than half of the outputs stay, up to a total variation distance of {SAME} (exact binomial test)"
on_runs = partial(BOARD.claim, against="runs here", kind="tested", reads=["sst2"])
of_orders = partial(on_runs, section="orders", how=OVER_SENTENCES)
of_weights = partial(on_runs, section="weights", how=MORE_THAN_HALF)


def on_each_model(table: Stored, runs: Sequence[Run], judge: Callable[[pd.DataFrame], Finding]) -> Finding:
    """Judge a claim on the sentences of each model, a part each: it holds if it holds on all, and fails if it fails on one.

    It cannot be judged if one of the models changed after it was measured.
    """
    rows = table.require(runs)
    return strictest_finding({title: judge(rows[rows["run"] == name]) for name, title in MODELS.items()})


def mean(values: pd.Series[float]) -> tuple[float, float, float]:
    """Return the mean over sentences with its 95 % interval (t distribution)."""
    half = float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5)
    return float(values.mean()), float(values.mean()) - half, float(values.mean()) + half


def tau(rows: pd.DataFrame, first: str, second: str) -> pd.Series[float]:
    """Return the rank correlation of two explanations by sentence; without the sentences in which one of them has no order."""
    return rows[(rows["first"] == first) & (rows["second"] == second)].set_index("row")["tau"].dropna()


@of_orders(
    "weak-gradients",
    "Attention orders the words otherwise than gradients do",
    "Attention and gradients agree weakly",
    where="Jain and Wallace, section 4.1",
    method="gradient",
)
@of_orders(
    "weak-removal",
    "Attention orders the words otherwise than leaving them out does",
    "Attention and leaving out agree weakly",
    where="Jain and Wallace, section 4.1",
    method="removal",
)
def judge_weak(runs: Sequence[Run], method: str) -> Finding:
    def judge(rows: pd.DataFrame) -> Finding:
        values = tau(rows, "attention", method)
        value, low, high = mean(values)
        evidence = f"mean τ {number(value, 2, ends=(low, high))}, n = {len(values)}"
        return Finding(decide(high < WEAK, low >= WEAK), evidence, effect=Effect(value, low, high, "", WEAK, "mean τ"))

    return on_each_model(PAIRS, runs, judge)


@of_orders(
    "others-agree",
    "Gradients agree with leaving out more than attention does",
    "Gradients and leaving out agree more",
    where="Jain and Wallace, section 4.1",
)
def judge_others_agree(runs: Sequence[Run]) -> Finding:
    def judge(rows: pd.DataFrame) -> Finding:
        more = (tau(rows, "removal", "gradient") - tau(rows, "attention", "removal")).dropna()
        value, low, high = mean(more)
        evidence = f"τ is higher by {number(value, 2, ends=(low, high))}, n = {len(more)}"
        return Finding(decide(low > 0, high < 0), evidence, effect=Effect(value, low, high, "", 0.0, "difference of τ"))

    return on_each_model(PAIRS, runs, judge)


@of_orders("none-agrees", "No two explanations agree strongly", where="Neely et al. 2022, abstract")
def judge_none_agrees(runs: Sequence[Run]) -> Finding:
    def judge(rows: pd.DataFrame) -> Finding:
        means = {pair: mean(tau(rows, *pair)) for pair in combinations(WORDS, 2)}
        (first, second), (value, low, high) = max(means.items(), key=lambda item: item[1])
        evidence = f"the most similar are {WORDS[first]} and {WORDS[second]}: mean τ {number(value, 2, ends=(low, high))}"
        p = p_of_interval(value, low, high, WEAK)
        strong = min(1.0, len(means) * p)  # the largest of several (Bonferroni)
        verdict = decide(all(end < WEAK for *_, end in means.values()), value > WEAK and strong <= LEVEL)
        effect = Effect(value, low, high, "", WEAK, "largest mean τ")
        return Finding(verdict, evidence, effect=effect, p=strong if verdict == "fails" else p)

    return on_each_model(PAIRS, runs, judge)


@of_orders(
    "top-word",
    "The word with most attention is the word that counts most, more often than by chance",
    "Most attention: the word that counts most",
    where="ours",
)
def judge_top_word(runs: Sequence[Run]) -> Finding:
    def judge(rows: pd.DataFrame) -> Finding:
        part = rows[(rows["first"] == "attention") & (rows["second"] == "removal")]
        value, low, high = mean(part["top"] - part["chance"])
        often = f"{percent(part['top'].mean())} of {len(part)} sentences, by chance {percent(part['chance'].mean())}"
        return Finding(decide(low > 0, high <= 0), often, effect=Effect.from_share_difference(value, low, high, "above chance"))

    return on_each_model(PAIRS, runs, judge)


def _of_permutations(rows: pd.DataFrame, as_claimed: Callable[[pd.DataFrame], pd.Series[bool]]) -> Finding:
    part = rows[rows["change"] == "permuted"]
    verdict, p, (share, low, high) = more_than_half(int(as_claimed(part).sum()), len(part))
    evidence = f"{percent(share)} of {len(part)} sentences; the median change of the output is {part['distance'].median():.1g}"
    return Finding(verdict, evidence, effect=Effect.from_share(share, low, high, 0.5, "of the sentences"), p=p)


@of_weights(
    "permuted",
    "A random permutation of the last weights hardly changes the output",
    "Permuted weights: the same output",
    where="Jain and Wallace, section 4.2.1",
)
def judge_permuted(runs: Sequence[Run]) -> Finding:
    return on_each_model(CHANGES, runs, lambda rows: _of_permutations(rows, lambda part: part["distance"] <= SAME))


@of_weights(
    "other-attention",
    "Attention to another word gives the same output",
    "Attention elsewhere: the same output",
    where="Jain and Wallace, section 4.2.2",
)
def judge_other_attention(runs: Sequence[Run]) -> Finding:
    return on_each_model(CHANGES, runs, lambda rows: _of_permutations(rows, lambda part: part["other"] == 1))


@of_weights(
    "equal",
    "With equal weights in every layer the model is right as often",
    "Equal weights: right as often",
    where="Wiegreffe and Pinter, section 3.1",
    how="the t interval of a change of accuracy that may be a fall of 2 points; a larger fall leaves it open, because the paper trains so",
)
def judge_equal(runs: Sequence[Run]) -> Finding:
    def judge(rows: pd.DataFrame) -> Finding:
        part = rows[rows["change"] == "equal everywhere"]
        value, low, high = mean(part["right"] - part["was right"])
        evidence = f"accuracy {percent(part['was right'].mean())} before and {percent(part['right'].mean())} after, n = {len(part)}"
        effect = Effect.from_share_difference(value, low, high, "change of accuracy")
        return Finding(decide(low > -MARGIN, False), evidence, effect=effect)

    return on_each_model(CHANGES, runs, judge)


def agreement(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the mean rank correlation of each pair of explanations on each model, and how often both name the same word first."""
    rows = []
    for (run, first, second), part in PAIRS.require(runs).groupby(["run", "first", "second"], sort=False):
        if first in WORDS and second in WORDS:
            ordered = part.dropna(subset="tau")
            firsts = ordered["top"].mean(), ordered["chance"].mean(), len(ordered)
            rows.append((MODELS[run], WORDS[first], WORDS[second], *mean(ordered["tau"]), *firsts))
    return pd.DataFrame(rows, columns=["model", "first", "second", "tau", "low", "high", "top", "chance", "n"])


def weights(runs: Sequence[Run]) -> pd.DataFrame:
    """Return for each model how many outputs stay with other weights in the last layer, and its accuracy with equal weights everywhere."""
    table = []
    for run, rows in CHANGES.require(runs).groupby("run", sort=False):
        permuted, equal = rows[rows["change"] == "permuted"], rows[rows["change"] == "equal everywhere"]
        shares = (permuted["distance"] <= SAME).mean(), permuted["other"].mean(), equal["was right"].mean(), equal["right"].mean()
        table.append((MODELS[run], *shares, len(permuted)))
    return pd.DataFrame(table, columns=["model", "same", "other", "before", "after", "n"])

"""Three claims about explanation methods, tested on the stored comparisons with exact values of six runs.

The tests read `sentviz.analysis.explain.exact_comparison_table`; they need neither torch nor data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sentviz.analysis.claim import Claim, Effect, Finding, decide, not_testable, strictest_finding
from sentviz.analysis.explain.exact_comparison_table import NEGATED, has_referee, methods_of
from sentviz.analysis.explain.scores import SCORES
from sentviz.io.numbers import percent, signed
from sentviz.runs.store import Run

RUNS = ("english/mpnet", "english/minilm", "korean/e5", "english/ndt-unit-2", "sst2/ndt-unit-2", "sst2/vanilla-matched")
# Methods that need at most one pass through the model for each word.
ONE_PASS = ("received", "first-layer", "difference", "rollout", "flow", "value-weighted", "value-zeroing", "gradient")
THIRD = 1 / 3
LITTLE = 0.1  # margin above random, in rank correlation and in the share of first words

Row = Mapping[Any, Any]


def removal_is_best(run: Run) -> Finding:
    """Compare word removal with each method of ONE_PASS: by ranks if it has signs, otherwise by size; "holds" if removal beats all."""
    gaps = {
        row["method"]: row
        for row in methods_of(run).to_dict("records")
        if row["method"] in ONE_PASS and row["metric"] == ("ranks-behind" if SCORES[row["method"]].signed else "size-behind")
    }
    nearest = min(gaps.values(), key=lambda row: float(row["value"]))
    better = [name for name, row in gaps.items() if row["high"] < 0]
    evidence = (
        f"the nearest is {SCORES[nearest['method']].title}, {with_ends(nearest)} behind in rank correlation with the exact values"
        f" (n = {nearest['n']:.0f})"
    )
    return Finding(
        decide(all(row["low"] > 0 for row in gaps.values()), bool(better)), evidence, effect=effect_of(nearest, "rank correlation")
    )


def gradient_is_random(run: Run) -> Finding:
    """Compare gradient × input with random scores, by ranks and by first words.

    "holds" if both intervals end less than `LITTLE` above random; "fails" if it is better than random by both.
    """
    ranks, first = (_row(run, "gradient", metric) for metric in ("ranks", "first"))
    ahead = [ranks["low"] > 0, first["low"] > first["random"]]
    evidence = (
        f"rank correlation {with_ends(ranks)} (random 0), first word in "
        f"{percent(first['value'], 0, ends=(first['low'], first['high']))} of texts (random {percent(first['random'], 0)}; n ="
        f" {first['n']:.0f})"
    )
    little = [ranks["high"] < LITTLE, first["high"] < first["random"] + LITTLE]
    return Finding(decide(all(little) and not any(ahead), all(ahead)), evidence, effect=effect_of(ranks, "rank correlation"))


def interactions_are_hidden(run: Run) -> Finding:
    """Compare the share of negated texts in which one word turns another with a third."""
    row = _row(run, "exact", NEGATED)
    evidence = f"{percent(row['value'], 0, ends=(row['low'], row['high']))} of {row['n']:.0f} texts"
    return Finding(
        decide(row["low"] >= THIRD, row["high"] < THIRD), evidence, effect=Effect.from_share(row["value"], row["low"], row["high"], THIRD)
    )


def _on_each(test: Callable[[Run], Finding], names: Sequence[str], has: Callable[[Run], bool], runs: Sequence[Run]) -> Finding:
    measured = {run.name: run for run in runs if run.name in names and has(run)}
    if not measured:
        return not_testable("none of its runs was measured")
    return strictest_finding({name: test(measured[name]) for name in names if name in measured})


def claim_on_runs(
    name: str, statement: str, test: Callable[[Run], Finding], how: str, *, names: Sequence[str] = RUNS, has: Callable[[Run], bool]
) -> Claim:
    """Return a claim of ours that is tested on each measured run of some names; the strictest verdict wins.

    Args:
        has: returns whether a run was measured.
    """
    return Claim(name, statement, "sentviz", "runs here", "tested", partial(_on_each, test, names, has), how=how)


def with_ends(row: Row) -> str:
    """Return the value of a row with its interval."""
    return signed(row["value"], ends=(row["low"], row["high"]))


def effect_of(row: Row, unit: str) -> Effect:
    """Return the value of a row with its interval as an effect."""
    return Effect(float(row["value"]), float(row["low"]), float(row["high"]), unit)


def _row(run: Run, method: str, metric: str) -> Row:
    table = methods_of(run)
    row: Row = table[(table["method"] == method) & (table["metric"] == metric)].iloc[0].to_dict()
    return row


CLAIMS = (
    claim_on_runs(
        "removal",
        "Word removal is the best approximation of the exact values among methods with at most one pass per word",
        removal_is_best,
        "rank correlation with exact Shapley values, of sizes for scores without a sign; paired difference over the same texts",
        has=has_referee,
    ),
    claim_on_runs(
        "gradient",
        "Gradient × input is no better than random on trained transformers",
        gradient_is_random,
        f"rank correlation and share of first words less than {LITTLE:g} above random scores of the same texts",
        has=has_referee,
    ),
    claim_on_runs(
        "interactions",
        "One number per word hides an interaction in at least a third of negated sentences",
        interactions_are_hidden,
        "share of negated texts of 4 to 10 words in which one word turns the effect of another",
        has=has_referee,
    ),
)
"""Our claims about explanations."""

"""The stored comparisons of explanation methods with exact values (`sentviz.analysis.explain.exact_comparison`), and what they say in
words.

`experiments.general.referee_runs` measures them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sentviz.analysis.explain.scores import SCORES
from sentviz.analysis.explain.stored import has_rows, has_table, rows_of
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from collections.abc import Sequence


TABLE = "referee"  # shipped measurements, in the folder of `sentviz.analysis.explain.stored`
PATCHED = "agreement"  # the same of `sentviz.analysis.causal.agreement`
FILE = "referee.parquet"  # a file of a run that the user measured
NEGATED, OTHERS = "turning negated", "turning others"  # metrics of the method "exact"
FROM_SUBSETS = ("permutation", "kernel-shap", "lime")  # methods that predict many subsets of the words


def methods_of(run: Run) -> pd.DataFrame:
    """Return the comparison of a run's explanations with exact values: its own table, or the shipped rows; empty if there is neither.

    Frame:
        as `sentviz.analysis.explain.exact_comparison.compare_with_exact` and, if it was measured,
        `sentviz.analysis.causal.agreement.measure_agreement`; of shipped runs also rows: the data set whose test split was asked for the
        exact values.
    """
    if FILE in run.files:
        return run.frame(FILE)
    table = rows_of(TABLE, run)
    return pd.concat([table, rows_of(PATCHED, run)], ignore_index=True) if has_table(PATCHED) and not table.empty else table


def has_referee(run: Run) -> bool:
    """Return whether the explanations of a run were compared with exact values."""
    return FILE in run.files or (has_table(TABLE) and has_rows(TABLE, run))


def rows_asked(run: Run) -> str:
    """Return the data set whose test split was asked."""
    table = methods_of(run)
    return str(table["rows"].iloc[0]) if "rows" in table else str(run.config["data"]["name"])


def found_first(run: Run) -> dict[str, Share]:
    """Return in what share of short texts each method names the most decisive word first, the best method first; {} if not measured."""
    rows = methods_of(run).query("metric == 'first' and method not in ('exact', 'random')") if has_referee(run) else None
    if rows is None:
        return {}
    ordered = rows.sort_values("value", ascending=False, kind="stable")
    return {row["method"]: Share(row["value"], row["low"], row["high"], row["random"], int(row["n"])) for row in ordered.to_dict("records")}


@dataclass(frozen=True)
class Share:
    """Share of texts with its interval, and the share of random explanations."""

    value: float
    low: float
    high: float
    random: float
    n: int

    @property
    def at_chance(self) -> bool:
        """True if the interval reaches the random share, or lies below it."""
        return self.low <= self.random

    @property
    def short(self) -> str:
        """The share, or "at chance"."""
        return "at chance" if self.at_chance else percent(self.value, 0)

    def __str__(self) -> str:
        return percent(self.value, 0, (self.low, self.high))


def method_line(run: Run, method: str) -> str:
    """Return a sentence on how far a method can be believed on a run; "" if that is not measured."""
    share = found_first(run).get(method)
    if share is None:
        return ""
    where = f"in {share} of {share.n} short texts (random scores: {percent(share.random, 0)})"
    if share.at_chance:
        return f"On {run.name} this method is no better than random: it names the most decisive word first {where}."
    return f"On {run.name} this method names the most decisive word first {where}."


def headline(run: Run) -> str:
    """Return in a sentence which methods to believe on a run, and which not."""
    shares = found_first(run)
    titles = {name: SCORES[name].title if name in SCORES else name for name in shares}
    quick = {name: share for name, share in shares.items() if name not in FROM_SUBSETS}
    best = next(iter(quick.values()))
    near = [titles[name] for name, share in quick.items() if share.high >= best.low and not share.at_chance]
    worse = [titles[name] for name, share in shares.items() if share.at_chance]
    if not near:
        return "No quick method finds the most decisive word more often than random scores."
    parts = [f"Of the quick methods, {_listed(near)} find{'s' * (len(near) == 1)} the most decisive word most often ({best})"]
    parts += [f"{titles[name]} in {shares[name].short}" for name in list(shares)[:1] if name in FROM_SUBSETS]
    return ", ".join(parts) + (f". No better than random: {_listed(worse)}." if worse else ". All are better than random.")


def advice(run: Run) -> str:
    """Return which methods to use on a run and which not, in a few words: the best one, the best quick one, and the last one at chance."""
    shares = found_first(run)
    titles = {name: SCORES[name].title if name in SCORES else name for name in shares}
    good = [name for name, share in shares.items() if not share.at_chance]
    wanted = dict.fromkeys([*good[:1], *[name for name in good if name not in FROM_SUBSETS][:1]])
    worst = [titles[name] for name, share in shares.items() if share.at_chance][-1:]
    use = f"Use {' or '.join(titles[name] for name in wanted)}" if wanted else "Use none of these methods"
    return f"{use}; do not trust {worst[0]}." if wanted and worst else f"{use}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def turning_line(run: Run) -> str:
    """Return a sentence on how often one number per word is not enough on a run; "" if that is not measured."""
    rows = {row["metric"]: row for row in methods_of(run).query("method == 'exact'").to_dict("records")}
    if NEGATED not in rows:
        return ""
    negated = rows[NEGATED]
    share = Share(negated["value"], negated["low"], negated["high"], 0.0, int(negated["n"]))
    rest = f", and in {percent(rows[OTHERS]['value'], 0)} of the {rows[OTHERS]['n']:.0f} others" if OTHERS in rows else ""
    return (
        f"In {share} of {share.n} short texts with a negation{rest}, one word turns the effect of another: with the one, the other"
        " supports the prediction, and without it opposes it, or the reverse. One number per word cannot show this."
    )


def what_is_exact(run: Run) -> str:
    """Return which texts have exact values, and how close some methods come to them by construction."""
    dataset = rows_asked(run)
    own = dataset == run.config["data"]["name"]
    return (
        f"Exact Shapley values of all subsets of the words, for texts of 4 to 10 words of {'the' if own else 'another'} test split"
        f" ({dataset}{'' if own else ', because the own split has too few short texts'}); all scores explain the predicted class, and"
        " absent words are deleted. KernelSHAP, permutation SHAP and LIME predict 200 subsets themselves, of at most 1,024, so that they"
        " come close to the exact values by construction."
    )

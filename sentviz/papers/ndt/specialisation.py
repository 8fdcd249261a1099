"""Do the components specialise? The paper's main question, asked of each run whose components were measured (`sentviz specialise`).

A habit is a component's entropy or its attention to a class of words, in one layer. The components of a run differ in a habit if their
difference is larger than every baseline (`sentviz.analysis.maps.specialise`). A run whose second map has a positive weight adds, a run
whose second map has a negative weight subtracts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.claim import Effect, Finding, Reference, Row, decide, not_testable
from sentviz.analysis.maps.specialise import ALPHA, FILE, beyond_baselines, differences
from sentviz.errors import InputError
from sentviz.papers.ndt.study import DATASETS, configurations
from sentviz.papers.studies.item_types import Column, Table
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

WIDTHS = 430, 260  # pixels of the columns of layer 1 and of later layers, which name fewer habits
LEVEL = 0.05  # significance level
DRAWS = 20_000  # permutations; all of them if there are fewer
COLUMNS = ["data", "model", "mixing", "components", "kind", "seed", "run", "habits", "of", "needed"]
KINDS = {"adds": "add their maps", "subtracts": "subtract maps"}


def habits_needed(count: int) -> int:
    """Return the smallest number of habits, of `count`, that fewer than 5 % of runs would reach by chance: each habit is tested at 5 %."""
    from scipy.stats import binom

    return int(binom.isf(LEVEL, count, ALPHA)) + 1


def habits(runs: Sequence[Run], datasets: Sequence[str] = tuple(DATASETS)) -> pd.DataFrame:
    """Return a row per measured run: data, model, mixing, components, kind, seed, run, habits, of, needed.

    `habits` of `of` habits differ beyond every baseline; `needed` are more than chance allows. kind is "adds", "subtracts" or, if lambdas
    of both signs were learned, "both".
    """
    import pandas as pd

    rows = []
    for dataset in datasets:
        for model, seeds in configurations(runs, dataset).items():
            for run in (run for run in seeds if FILE in run.files):
                passed, count, kind = _measured(run, run.digest)
                shape = run.config["model"]
                seed = run.config["recipe"]["seed"]
                rows.append(
                    (dataset, model, shape["mixing"], shape["components"], kind, seed, run.name, passed, count, habits_needed(count))
                )
    return pd.DataFrame(rows, columns=COLUMNS)


@lru_cache(maxsize=256)
def _measured(run: Run, digest: str) -> tuple[int, int, str]:
    """Return the number of habits that differ, the number of habits, and the kind of a run."""
    frame = run.frame(FILE)
    return len(beyond_baselines(frame)), len(differences(frame)), _kind(run)


def _kind(run: Run) -> str:
    if run.config["model"]["mixing"] == "differential":
        return "subtracts"
    history = run.history().query("name == 'lambda' and component > 0").sort_values("step")
    ends = history.groupby(["layer", "component"])["value"].last()
    return "adds" if (ends > 0).all() else "subtracts" if (ends < 0).all() else "both"


def table(runs: Sequence[Run]) -> Table:
    """Return the habits in which the components of each measured run differ, by name.

    Raises:
        InputError: no installed run of the study has measured components.
    """
    frame = habits(runs)
    if frame.empty:
        raise InputError("No installed run of the study has measured components: `sentviz specialise RUN` measures those of a run.")
    by_name = {run.name: run for run in runs}
    named = [_named(by_name[name]) for name in frame["run"]]
    layers = range(max(by_name[name].capabilities.layers for name in frame["run"]))
    for layer in layers:
        frame[f"layer_{layer + 1}"] = [by_layer.get(layer, "none") for by_layer in named]
    frame["data"] = frame["data"].map(DATASETS)
    words = (
        "Habits in which the components of a run differ beyond shuffled labels, shuffled heads and untrained models. A habit is the entropy"
        " of attention or its share for a class of words, for example of negative words, in one layer. Maps are measured on 300 test texts"
        " before they are mixed."
    )
    columns = (
        Column("data", "data set"),
        Column("model"),
        Column("kind", "maps", words={"adds": "added", "subtracts": "subtracted", "both": "both"}),
        Column("seed"),
        Column("habits"),
        Column("of", "of"),
        *(Column(f"layer_{layer + 1}", f"layer {layer + 1}", width=WIDTHS[min(layer, 1)]) for layer in layers),
    )
    return Table("component-habits", "Habits in which the components differ", frame, words, columns)


def _named(run: Run) -> dict[int, str]:
    """Return the habits of a run that differ, by layer counted from 0; "words" is left out of the names of classes."""
    passed = beyond_baselines(run.frame(FILE))
    names = passed["word_class"].where(passed["word_class"] != "", "entropy").str.removesuffix(" words")
    return {int(str(layer)): ", ".join(part) for layer, part in names.groupby(passed["layer"])}


def judge_specialises(dataset: str, runs: Sequence[Run], *, kind: str) -> Finding:
    """Test with the exact sign test over runs whether the components of most runs differ in more habits than chance allows.

    Args:
        dataset: a data set, or "" for all of the study.
        kind: "adds" or "subtracts".
    """
    from scipy.stats import binomtest

    frame = habits(runs, [dataset] if dataset else tuple(DATASETS))
    frame = frame[frame["kind"] == kind]
    if frame.empty:
        return not_testable(f"no run is installed whose components were measured and that {kind} maps")
    count, total = int((frame["habits"] >= frame["needed"]).sum()), len(frame)
    evidence = _counts(frame)
    if binomtest(0, total).pvalue > LEVEL:
        return not_testable(f"{evidence}; {total} runs are too few for a sign test")
    test = binomtest(count, total)
    p, most = float(test.pvalue), 2 * count > total
    low, high = test.proportion_ci()
    effect = Effect.from_share(count / total, low, high, 0.5, f"runs that {KINDS[kind]} and whose components specialise")
    verdict = decide(p <= LEVEL and most, p <= LEVEL and not most)
    return Finding(verdict, f"{evidence}, sign test p = {p:.2g}; {_seeds(frame)}", effect=effect, p=p)


def judge_subtraction_specialises_more(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether the components of runs that subtract differ in more habits, by permutations of the kinds within each data set."""
    frame = habits(runs, [dataset] if dataset else tuple(DATASETS))
    frame = frame[frame["kind"].isin(list(KINDS))]
    groups = [rows for _, rows in frame.groupby("data") if rows["kind"].nunique() == 2]
    if not groups:
        return not_testable("no data set has measured runs of both kinds")
    strata = [(rows["habits"].to_numpy(float), (rows["kind"] == "subtracts").to_numpy()) for rows in groups]
    difference, p, least = _permuted(strata)
    numbers = "; ".join(
        f"{DATASETS[rows['data'].iloc[0]]}: " + ", ".join(f"{_span(part['habits'])} of {part['of'].iloc[0]} if they {KINDS[kind]}"
        f" ({len(part)} run{'s' * (len(part) > 1)})" for kind in KINDS for part in [rows[rows["kind"] == kind]]) for rows in groups
    )  # fmt: skip
    evidence = f"habits that differ beyond every baseline on {numbers}"
    effect = Effect(difference, unit="habits", of="mean difference within a data set, subtracting minus adding")
    if least > LEVEL:
        return not_testable(f"{evidence}; too few runs for a permutation test", effect)
    verdict = decide(p <= LEVEL and difference > 0, p <= LEVEL and difference < 0)
    together = frame[frame["data"].isin([rows["data"].iloc[0] for rows in groups])]
    return Finding(verdict, f"{evidence}; permutation p = {p:.2g}; {_seeds(together)}", effect=effect, p=p)


def _permuted(strata: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float, float]:
    """Return the weighted mean difference within strata, its two-sided p over permutations within them, and the smallest p possible."""
    from math import comb

    rng = np.random.default_rng(0)
    sizes = np.array([len(values) for values, _ in strata], float)

    def difference(masks: Sequence[np.ndarray]) -> float:
        parts = [values[mask].mean() - values[~mask].mean() for (values, _), mask in zip(strata, masks, strict=True)]
        return float(np.average(parts, weights=sizes))

    observed = difference([mask for _, mask in strata])
    draws = np.array([difference([rng.permutation(mask) for _, mask in strata]) for _ in range(DRAWS)])
    p = float((1 + (np.abs(draws) >= abs(observed) - 1e-9).sum()) / (1 + DRAWS))
    ways = np.prod([float(comb(len(mask), int(mask.sum()))) for _, mask in strata])
    return observed, p, float(1 / ways)


def _counts(frame: pd.DataFrame) -> str:
    parts = [
        f"{_span(rows['habits'])} of {rows['of'].iloc[0]} habits on {DATASETS[str(dataset)]}"
        for dataset, rows in frame.groupby("data", sort=False)
    ]
    allowed = int(frame["needed"].max()) - 1
    count = int((frame["habits"] >= frame["needed"]).sum())
    return (
        f"the components differ beyond every baseline in {', '.join(parts)}; in {count} of {len(frame)} runs in more than the {allowed}"
        " that chance allows"
    )


def _span(counts: pd.Series[int]) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


def _seeds(frame: pd.DataFrame) -> str:
    """Return how many seeds the configurations of the measured runs have, in words."""
    seeds = frame.groupby(["data", "model"]).size()
    return f"{len(seeds)} configurations with {_span(seeds)} seed{'s' * (int(seeds.max()) > 1)} each"


RUNS: Reference = "runs here"
SIGNS = (
    "the exact sign test over runs: a run specialises if its components differ beyond shuffled labels, shuffled heads and untrained models"
    " in more habits than chance allows at 5% per habit; a habit is entropy or attention to a class of words, in one layer"
)
PERMUTED = "20,000 permutations of the two kinds of runs within each data set, of the mean difference in the number of habits"
ADDED, SUBTRACTED, MORE = "Added components specialise", "Subtracted components specialise", "Subtracted components specialise more"
ROWS = (
    Row(ADDED, "The components of NDTs that add their maps specialise on distinct words, on every data set", RUNS, "tested",
        partial(judge_specialises, kind="adds"), {"": ("d0c1a7", "abstract, sections I, III-A, IV-H2")},
        "components", "component-habits", SIGNS, tuple(DATASETS)),
    Row(ADDED, "The components of NDTs that add their maps specialise on distinct words on {}", RUNS, "tested",
        partial(judge_specialises, kind="adds"), {"imdb": ("7be9f2", "section III-A"),
        "sst2": ("3a55e0", "section III-A"), "twitter_financial": ("e16b48", "section III-A")}, "components", "component-habits", SIGNS),
    Row(SUBTRACTED, "The components of models that subtract maps specialise on distinct words, on every data set", RUNS, "tested",
        partial(judge_specialises, kind="subtracts"), {"": ("94f20c", "ours")}, "components",
        "component-habits", SIGNS, tuple(DATASETS)),
    Row(MORE, "Components that are subtracted specialise more than components that are added, on every data set", RUNS, "tested",
        judge_subtraction_specialises_more, {"": ("b8d713", "ours")}, "components", "component-habits", PERMUTED, tuple(DATASETS)),
    Row(MORE, "Components that are subtracted specialise more than components that are added on {}", RUNS, "tested",
        judge_subtraction_specialises_more, {"sst2": ("5fe6a9", "ours"), "twitter_financial": ("c2079d", "ours")}, "components",
        "component-habits", PERMUTED),
)  # fmt: skip

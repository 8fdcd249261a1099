"""Do the components specialise? The paper's main question, asked of each run whose components were measured (`sentviz specialise`).

A habit is a component's entropy or its attention to a class of words, in one layer. The components of a run differ in a habit if their
difference is larger than every baseline (`sentviz.analysis.maps.specialise`). A run whose second map has a positive weight adds, a run
whose second map has a negative weight subtracts.

A habit that does not differ significantly refutes nothing: it is a mean over heads, and with two components of four heads only one of 35
ways to deal the heads is rare enough. Such runs leave a claim open.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np

from sentviz.analysis.claim import LEVEL, Board, Effect, Finding, decide, not_testable, strictest_finding
from sentviz.analysis.maps.specialise import ALPHA, FILE, RESAMPLES, beyond_baselines, deals, differences, head_by_head, layers_apart
from sentviz.errors import InputError
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import number, p_value, span
from sentviz.io.table import Column, Table
from sentviz.papers.ndt.study import DATASETS, TITLES, configurations
from sentviz.papers.studies.judging import more_than_half, too_few
from sentviz.runs.store import Run

WIDTHS = 430, 260  # pixels of the columns of layer 1 and of later layers, which name fewer habits
DRAWS = 20_000  # permutations; all of them if there are fewer
COLUMNS = ["data", "model", "mixing", "components", "kind", "seed", "run", "habits", "of", "needed"]
COLUMNS += ["deals", "alike", "heads_alike", "size", "apart", "layers"]
KINDS = {"adds": "add their maps", "subtracts": "subtract maps"}
SIGNS = (
    "the exact sign test over runs: a run specialises if its components differ beyond shuffled labels, shuffled heads and untrained models"
    " in more habits than chance allows at 5 % per habit; a habit is entropy or attention to a class of words, in one layer, averaged over"
    " heads; runs that do not specialise leave the claim open"
)
PERMUTED = (
    "20,000 permutations of the two kinds of runs within a data set, of the mean difference in the number of habits, of all runs and of"
    " those whose mean |λ| lies in the range of both kinds"
)
BOARD = Board(DATASETS, TITLES)
of_habits = partial(BOARD.claim, against="runs here", kind="tested", section="components", figure="component-habits", where="ours")
added = partial(of_habits, short="Added components specialise", how=SIGNS, mixing="adds")
subtracted = partial(of_habits, short="Subtracted components specialise", how=SIGNS, mixing="subtracts")
more = partial(of_habits, short="Subtracted components specialise more", how=PERMUTED)


def habits_needed(count: int) -> int:
    """Return the smallest number of habits, of `count`, that fewer than 5 % of runs would reach by chance: each habit is tested at 5 %."""
    return int(stats.binom.isf(LEVEL, count, ALPHA)) + 1


def habits(runs: Sequence[Run], datasets: Sequence[str] = tuple(DATASETS)) -> pd.DataFrame:
    """Return a row per measured run, with the columns `COLUMNS`.

    `habits` of `of` habits differ beyond every baseline; `needed` are more than chance allows. kind is "adds", "subtracts" or, if lambdas
    of both signs were learned, "both". `deals`: ways to deal the heads of a layer to the components. `alike`: cosine of two components,
    head by head; `heads_alike`: cosine of two heads of one component; both are means over layers. `size`: mean |lambda| at the end.
    `apart`: layers, of `layers`, in which the components are less alike than two heads of one component (`layers_apart`).
    """
    rows = []
    for dataset in datasets:
        for model, seeds in configurations(runs, dataset).items():
            for run in (run for run in seeds if FILE in run.files):
                passed, count, kind, alike, size, apart = _measured(run, run.digest)
                shape, has = run.config["model"], run.capabilities
                seed = run.config["recipe"]["seed"]
                counted = (run.name, passed, count, habits_needed(count), deals(has.components, has.heads), *alike, size, *apart)
                rows.append((dataset, model, shape["mixing"], has.components, kind, seed, *counted))
    return pd.DataFrame(rows, columns=COLUMNS)


@lru_cache(maxsize=256)
def _measured(run: Run, digest: str) -> tuple[int, int, str, tuple[float, float], float, tuple[int, int]]:
    """Return the habits that differ, all habits, the kind of a run, its two cosines, its mean |lambda|, and its `layers_apart`."""
    frame = run.frame(FILE)
    history = run.history().query("name == 'lambda' and component > 0").sort_values("step")
    ends = history.groupby(["layer", "component"])["value"].last()
    passed, count, size = len(beyond_baselines(frame)), len(differences(frame)), float(ends.abs().mean())
    return passed, count, _kind(run, ends), head_by_head(frame), size, layers_apart(frame)


def _kind(run: Run, ends: pd.Series[float]) -> str:
    if run.config["model"]["mixing"] == "differential":
        return "subtracts"
    return "adds" if (ends > 0).all() else "subtracts" if (ends < 0).all() else "both"


def table(runs: Sequence[Run]) -> Table:
    """Return the habits in which the components of each measured run differ, by name."""
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
        " of attention or its share for a class of words, for example of negative words, in one layer, as a mean over heads. Maps are"
        " measured on 300 test texts before they are mixed."
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


@added("d0c1a7", "The components of NDTs that add their maps specialise on distinct words, on every data set",
    where="abstract, sections I, III-A, IV-H2", reads=DATASETS)  # fmt: skip
@added({"imdb": "7be9f2", "sst2": "3a55e0", "twitter_financial": "e16b48"},
    "The components of NDTs that add their maps specialise on distinct words on {}", where="section III-A")  # fmt: skip
@subtracted(
    "94f20c", "The components of models that subtract maps specialise on distinct words, on each data set with enough runs", reads=DATASETS
)
def judge_specialises(dataset: str, runs: Sequence[Run], *, mixing: str) -> Finding:
    """Leave it open if runs do not reach the number of habits, because their habits may differ by less than can be seen (`_limits`).

    Without a data set, return the findings on all data sets of the study as one (`strictest_finding`).

    Args:
        mixing: "adds" or "subtracts".
    """
    if not dataset:
        return strictest_finding({title: judge_specialises(name, runs, mixing=mixing) for name, title in DATASETS.items()})
    frame = habits(runs, [dataset])
    frame = frame[frame["kind"] == mixing]
    if frame.empty:
        return not_testable(f"no run is installed whose components were measured and that {mixing} maps")
    count, total = int((frame["habits"] >= frame["needed"]).sum()), len(frame)
    evidence = _counts(frame)
    if too_few(total):
        return not_testable(f"{evidence}; {total} run{'s are' if total > 1 else ' is'} too few for a sign test; {_limits(frame)}")
    verdict, p, share = more_than_half(count, total)
    effect = Effect.from_share(*share, 0.5, f"runs that {KINDS[mixing]} and whose components specialise")
    return Finding(decide(verdict == "holds", False), f"{evidence}, sign test {p_value(p)}; {_limits(frame)}", effect=effect, p=p)


@more("b8d713", "Components that are subtracted specialise more than components that are added, on each data set with enough runs",
    reads=DATASETS)  # fmt: skip
@more(
    {"sst2": "5fe6a9", "twitter_financial": "c2079d"}, "Components that are subtracted specialise more than components that are added on {}"
)
def judge_subtraction_specialises_more(dataset: str, runs: Sequence[Run]) -> Finding:
    """Decide it only if the runs whose mean |lambda| lies in the range of both kinds decide it in the same way.

    With larger weights alone, maps could differ more. Without a data set, return the findings on all data sets of the study as one.
    """
    if not dataset:
        return strictest_finding({title: judge_subtraction_specialises_more(name, runs) for name, title in DATASETS.items()})
    frame = habits(runs, [dataset])
    frame = frame[frame["kind"].isin(list(KINDS))]
    if frame["kind"].nunique() < 2:
        return not_testable("measured runs of both kinds are not installed")
    difference, p, least = _permuted(frame["habits"].to_numpy(float), (frame["kind"] == "subtracts").to_numpy())
    parts = {kind: frame[frame["kind"] == kind] for kind in KINDS}
    numbers = ", ".join(
        f"{span(part['habits'])} of {part['of'].iloc[0]} if they {KINDS[kind]} ({len(part)} run{'s' * (len(part) > 1)})"
        for kind, part in parts.items()
    )
    evidence = f"habits that differ beyond every baseline: {numbers}"
    effect = Effect(difference, unit="habits", of="mean difference, subtracting minus adding")
    if least > LEVEL:
        return not_testable(f"{evidence}; too few runs for a permutation test; {_limits(frame)}", effect)
    same, matched, p_matched = _matched(frame)
    p_both = max(p, p_matched)
    verdict = decide(p_both <= LEVEL and min(difference, same) > 0, p_both <= LEVEL and max(difference, same) < 0)
    return Finding(verdict, f"{evidence}; permutation {p_value(p)}; {matched}; {_limits(frame)}", effect=effect, p=p_both)


def _matched(frame: pd.DataFrame) -> tuple[float, str, float]:
    """Compare the runs whose mean |lambda| lies in the range of both kinds: difference of habits, numbers in words, and p.

    p is 1 if there are too few such runs for a permutation test.
    """
    ends = {kind: frame.loc[frame["kind"] == kind, "size"].to_numpy(float) for kind in KINDS}
    low, high = max(of_kind.min() for of_kind in ends.values()), min(of_kind.max() for of_kind in ends.values())
    common = frame[frame["size"].between(low, high)]
    sizes = ", ".join(f"{of_kind.min():.2f} to {of_kind.max():.2f} if they {KINDS[kind]}" for kind, of_kind in ends.items())
    words = f"mean |λ| at the end: {sizes}"
    if common["kind"].nunique() < 2:
        return 0.0, f"{words}, so no runs have the same |λ|", 1.0
    difference, p, least = _permuted(common["habits"].to_numpy(float), (common["kind"] == "subtracts").to_numpy())
    counts = common["kind"].value_counts()
    words += f"; {counts['adds']} and {counts['subtracts']} runs have a |λ| in both ranges: {difference:+.1f} habits"
    return (difference, f"{words}, too few for a test", 1.0) if least > LEVEL else (difference, f"{words}, {p_value(p)}", p)


def _permuted(values: np.ndarray, mask: np.ndarray) -> tuple[float, float, float]:
    """Return the difference of means inside and outside a mask, its two-sided p over permutations, and the smallest p possible."""
    from math import comb

    rng = np.random.default_rng(0)

    def difference(chosen: np.ndarray) -> float:
        return float(values[chosen].mean() - values[~chosen].mean())

    observed = difference(mask)
    draws = np.array([difference(rng.permutation(mask)) for _ in range(DRAWS)])
    p = float((1 + (np.abs(draws) >= abs(observed) - 1e-9).sum()) / (1 + DRAWS))
    return observed, p, 1 / comb(len(mask), int(mask.sum()))


def _counts(frame: pd.DataFrame) -> str:
    allowed = int(frame["needed"].max()) - 1
    count = int((frame["habits"] >= frame["needed"]).sum())
    return (
        f"the components differ beyond every baseline in {span(frame['habits'])} of {frame['of'].iloc[0]} habits; in {count} of"
        f" {len(frame)} run{'s' * (len(frame) > 1)} in more than the {allowed} that chance allows"
    )


def _limits(frame: pd.DataFrame) -> str:
    """Return in words what these runs cannot show: their seeds, the smallest p of a habit, and what a mean over heads hides."""
    seeds = frame.groupby(["data", "model"]).size()
    ways = frame.groupby("components")["deals"].max()
    split = ", ".join(
        f"{count:,} ways if C = {size} (smallest p {max(1 / count, 1 / (1 + RESAMPLES)):.2g})" for size, count in ways.items()
    )
    cosines, apart = [], []
    for kind, does in KINDS.items():
        if len(part := frame[frame["kind"] == kind]):
            cosines.append(f"{number(part['alike'].mean())} if they {does}")
            apart.append(f"{part['apart'].sum()} of {part['layers'].sum()} layers if they {does}")
    return (
        f"{len(seeds)} configuration{'s' * (len(seeds) > 1)} with {span(seeds)} seed{'s' * (int(seeds.max()) > 1)} each; the heads of a"
        f" layer can be dealt to the components in {split}; habits are means over heads, so a difference in single heads is not seen;"
        f" head by head, the cosine of two components is {', '.join(cosines)}, that of two heads of one component"
        f" {number(frame['heads_alike'].mean())}; all components are less alike than two heads of one component, with intervals that do not"
        f" meet, in {', '.join(apart)}"
    )

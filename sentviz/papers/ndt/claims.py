"""The NDT paper's claims: its sentences against its own tables, and against the runs here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.claim import Effect, Finding, Reference, Verdict, not_testable, strictest_finding
from sentviz.analysis.evaluation import holm
from sentviz.papers.ndt.controls import controls
from sentviz.papers.ndt.printed_claims import PRINTED, row
from sentviz.papers.ndt.study import NDTS, ROWS, configurations, tested
from sentviz.papers.studies.against import minus, mixed, seeded
from sentviz.papers.studies.seeds import over_seeds, seed_noise
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd


def _on_rows(dataset: str, judge: Callable[[Mapping[str, Sequence[Run]], str], Finding]) -> Callable[[Sequence[Run]], Finding]:
    """The same test on each kind of test rows that a data set has, configurations by their runs that were tested on them."""

    def test(runs: Sequence[Run]) -> Finding:
        rows = ROWS.get(dataset, {"test": "the test rows"})
        found = {said: judge(tested(runs, dataset, split), split) for split, said in rows.items()}
        return strictest_finding(found) if len(found) > 1 else next(iter(found.values()))

    return test


def _better(dataset: str, first: str, second: str) -> Callable[[Sequence[Run]], Finding]:
    """First beats second on the same test rows, over all seeds here; `ndt` is every NDT configuration, with Holm's correction over them."""

    def judge(here: Mapping[str, Sequence[Run]], split: str) -> Finding:
        wanted = NDTS if first == "ndt" else (first,)
        those = [model for model in wanted if model in here]
        if second not in here or not those:
            return not_testable("the runs are not here")
        noise = seed_noise(here.values(), split)
        found = {model: mixed(here[model], here[second], split, noise) for model in those}
        adjusted = holm({model: one.p for model, one in found.items()})
        words = {model: one.word(adjusted[model]) for model, one in found.items()}
        better = [model for model, word in words.items() if word == "better"]
        name = max(better or those, key=lambda model: found[model].difference)
        best = found[name]
        said = f"{name} − {second}: {best.numbers}, {'McNemar p' if best.test == 'McNemar' else 'p'} = {best.p:.2g}"
        if len(wanted) > 1:
            said += f", {adjusted[name]:.2g} after Holm; {len(better)} of the {len(those)} NDT configurations here are better"
            said += f" ({len(wanted)} in the paper)" if len(those) < len(wanted) else ""
        effect = Effect.from_share_difference(best.difference, best.low, best.high, f"{name} minus {second}")
        if set(words.values()) == {"worse"} and len(those) == len(wanted):
            return Finding("fails", said, effect=effect)
        verdict: Verdict = "holds" if better else seeded("open", {one.test for one in found.values()})
        return Finding(verdict, said, effect=effect)

    return _on_rows(dataset, judge)


def _best(dataset: str, model: str) -> Callable[[Sequence[Run]], Finding]:
    """A configuration is the best of the NDT ones: better than every other after Holm; refuted by one that is better than it."""

    def judge(every: Mapping[str, Sequence[Run]], split: str) -> Finding:
        here = {name: seeds for name, seeds in every.items() if name in NDTS}
        if model not in here or len(here) == 1:
            return not_testable("the runs are not here")
        noise = seed_noise(every.values(), split)
        found = {name: mixed(here[model], seeds, split, noise) for name, seeds in here.items() if name != model}
        adjusted = holm({name: one.p for name, one in found.items()})
        words = [one.word(adjusted[name]) for name, one in found.items()]
        rival, one = min(found.items(), key=lambda entry: entry[1].difference)
        said = f"better than {words.count('better')} and worse than {words.count('worse')} of {len(words)}; against {rival}: {one.numbers}"
        effect = Effect.from_share_difference(one.difference, one.low, one.high, f"{model} minus {rival}, the nearest to it or ahead")
        if "worse" in words:
            return Finding("fails", said, effect=effect)
        whole = set(words) == {"better"} and len(words) == len(NDTS) - 1
        verdict: Verdict = "holds" if whole else seeded("open", {one.test for one in found.values()})
        return Finding(verdict, said, effect=effect)

    return _on_rows(dataset, judge)


def _changes(runs: Sequence[Run], dataset: str, *constraints: str) -> list[pd.Series[float]]:
    """Change of lambda from its start over (layer, component), for every run of these constraints."""
    found = []
    for model, seeds in configurations(runs, dataset).items():
        for run in seeds if model in NDTS and model.split("-")[1] in constraints else ():
            frame = run.history().query("name == 'lambda'").sort_values("step")
            found.append(frame.groupby(["layer", "component"])["value"].agg(lambda value: value.iloc[-1] - value.iloc[0]))
    return found


def _moves(dataset: str) -> Callable[[Sequence[Run]], Finding]:
    """Whether the unbounded lambdas' growth with depth is learned: the change from the start, not the start itself."""

    def test(runs: Sequence[Run]) -> Finding:
        moved = [float(ends.xs(1).mean() - ends.xs(0).mean()) for ends in _changes(runs, dataset, "nonneg", "free")]
        return _sign(moved, "training moved layer 2's lambdas further up than layer 1's", "the growth with depth is put in by the start")

    return test


def _turns_negative(dataset: str) -> Callable[[Sequence[Run]], Finding]:
    """Whether training itself pushes lambda down under [-1,1], where it starts negative; and what it does from positive starts."""

    def test(runs: Sequence[Run]) -> Finding:
        moved = [-float(ends.mean()) for ends in _changes(runs, dataset, "symmetric")]
        frame = controls(runs, dataset)
        swapped = frame[(frame["variant"] == "swapped") & frame["model"].str.contains("symmetric")]
        stayed = f"from positive starts {int((swapped['end'] > 0).sum())} of {len(swapped)} lambdas end positive" if len(swapped) else ""
        return _sign(moved, "training moved lambda down", stayed)

    return test


def _sign(moved: Sequence[float], said: str, rest: str) -> Finding:
    """Whether runs, by their means over lambdas, move the claimed way: the exact sign test over runs."""
    from scipy.stats import binomtest

    if not moved:
        return not_testable("the runs are not here")
    if binomtest(0, len(moved)).pvalue > 0.05:
        return not_testable(f"{len(moved)} runs are here, too few for a sign test")
    up = sum(change > 0 for change in moved)
    p = float(binomtest(up, len(moved)).pvalue)
    found: Verdict = "open" if p > 0.05 else "holds" if 2 * up > len(moved) else "fails"
    words = f"on average over its lambdas, {said} in {up} of {len(moved)} runs, sign test p = {p:.2g}" + f"; {rest}" * bool(rest)
    low, high = binomtest(up, len(moved)).proportion_ci()
    return Finding(found, words, effect=Effect.from_share(up / len(moved), low, high, 0.5, "runs that it moved so"))


def _tight(dataset: str, points: float) -> Callable[[Sequence[Run]], Finding]:
    """All twelve NDT variants lie within so many points: every pair does, by intervals that hold for all pairs at once (Bonferroni)."""

    def test(runs: Sequence[Run]) -> Finding:
        every = configurations(runs, dataset)
        here = {model: seeds for model, seeds in every.items() if model in NDTS}
        if len(here) < len(NDTS):
            return not_testable(f"{len(here)} of {len(NDTS)} variants are here")
        noise = seed_noise(every.values())
        if noise is None:
            return not_testable("one seed each: what chance in training does is unknown")
        level = 1 - 0.05 / (len(NDTS) * (len(NDTS) - 1) / 2)
        pairs = [over_seeds(here[a], here[b], noise=noise, level=level) for a, b in combinations(here, 2)]
        widest = max(pairs, key=lambda one: abs(one.difference))
        beyond = sum(100 * max(one.low, -one.high) > points for one in pairs)
        within = all(100 * max(one.high, -one.low) < points for one in pairs)
        said = f"the outermost two are {100 * abs(widest.difference):.2f} points apart; {beyond} of {len(pairs)} pairs are more for sure"
        low, high = sorted(abs(100 * side) for side in (widest.low, widest.high))
        effect = Effect(100 * abs(widest.difference), low, high, null=points, of="the outermost two variants")
        return Finding("fails" if beyond else "holds" if within else "open", said, effect=effect)

    return test


def _agree(dataset: str) -> Callable[[Sequence[Run]], Finding]:
    """Silhouette and accuracy order the configurations alike (Spearman, over configurations, means over seeds)."""

    def test(runs: Sequence[Run]) -> Finding:
        from scipy.stats import spearmanr

        rows = [[run.metrics()["test"] for run in seeds] for seeds in configurations(runs, dataset).values()]
        rows = [row for row in rows if all("silhouette" in one for one in row)]
        pairs = [[float(np.mean([one[name]["value"] for one in row])) for name in ("accuracy", "silhouette")] for row in rows]
        if len(pairs) < 5:
            return not_testable(f"{len(pairs)} configurations are here, too few for a rank correlation")
        rho, p = spearmanr(np.array(pairs))
        found: Verdict = "open" if p > 0.05 else "holds" if rho > 0 else "fails"
        said = minus(f"rank correlation {rho:+.2f} over {len(pairs)} configurations, p = {p:.2g}")
        return Finding(found, said, effect=Effect(float(rho), unit="", of="rank correlation"))

    return test


HERE: Reference = "runs here"
OVER_SEEDS = (
    "a t test for other rows and other seeds, chance in training pooled over all configurations of the data set; of several configurations"
    " p after Holm"
)
SIGNS = "the exact sign test over runs, each by the mean change of its lambdas from their start"

CLAIMS = (
    *PRINTED,
    *row(
        "The best NDT beats vanilla",
        HERE,
        ("imdb", "The best NDT beats vanilla on IMDB", "section IV-B1", _better("imdb", "ndt", "vanilla")),
        ("sst2", "The best NDT beats vanilla on SST-2", "section IV-C1", _better("sst2", "ndt", "vanilla")),
        ("yelp_full", "The best NDT beats vanilla on Yelp", "section IV-D1", _better("yelp_full", "ndt", "vanilla")),
        ("twitter_financial", "The best NDT beats vanilla on Twitter", "section IV-E1", _better("twitter_financial", "ndt", "vanilla")),
        shows="compare",
        figure="accuracy-beside-print",
        how=OVER_SEEDS,
    ),
    *row(
        "The best NDT beats DT",
        HERE,
        ("imdb", "The best NDT beats DT on IMDB", "section IV-B1", _better("imdb", "ndt", "diff")),
        ("sst2", "The best NDT beats DT on SST-2", "section IV-C1", _better("sst2", "ndt", "diff")),
        ("yelp_full", "The best NDT beats DT on Yelp", "section IV-D1", _better("yelp_full", "ndt", "diff")),
        ("twitter_financial", "The best NDT beats DT on Twitter", "section IV-E1", _better("twitter_financial", "ndt", "diff")),
        shows="compare",
        figure="accuracy-beside-print",
        how=OVER_SEEDS,
    ),
    *row(
        "Not the wider block: it beats vanilla-matched",
        HERE,
        ("imdb", "Not the wider block: NDT beats vanilla-matched on IMDB", "ours", _better("imdb", "ndt", "vanilla-matched")),
        ("sst2", "Not the wider block: NDT beats vanilla-matched on SST-2", "ours", _better("sst2", "ndt", "vanilla-matched")),
        ("yelp_full", "Not the wider block: NDT beats vanilla-matched on Yelp", "ours", _better("yelp_full", "ndt", "vanilla-matched")),
        ("twitter_financial", "Not the wider block: NDT beats vanilla-matched on Twitter", "ours",
         _better("twitter_financial", "ndt", "vanilla-matched")),
        shows="compare",
        figure="accuracy-beside-print",
        how=OVER_SEEDS,
    ),
    *row(
        "DT beats vanilla",
        HERE,
        ("sst2", "DT beats vanilla on SST-2", "table III", _better("sst2", "diff", "vanilla")),
        shows="compare",
        figure="accuracy-beside-print",
        how=OVER_SEEDS,
    ),
    *row(
        "The paper's best NDT is the best here",
        HERE,
        ("sst2", "On SST-2 [0,1] with three maps is the best NDT", "section IV-C1", _best("sst2", "ndt-unit-3")),
        ("twitter_financial", "On Twitter (−inf,inf) with four maps is the best NDT", "section IV-E1",
         _best("twitter_financial", "ndt-free-4")),
        shows="results",
        figure="accuracy-grid",
        how=OVER_SEEDS,
    ),
    *row(
        "All NDT variants lie within 0.6 points",
        HERE,
        ("yelp_full", "On Yelp all NDT variants lie within 0.6 points", "section IV-D1", _tight("yelp_full", 0.6)),
        shows="results",
        figure="accuracy-grid",
        how="intervals of all pairs that hold at once (Bonferroni)",
    ),
    *row(
        "Training makes unbounded λ grow with depth",
        HERE,
        ("imdb", "Training itself makes unbounded lambdas grow with depth on IMDB", "section IV-B2", _moves("imdb")),
        ("sst2", "Training itself makes unbounded lambdas grow with depth on SST-2", "sections IV-C2, IV-H2", _moves("sst2")),
        shows="lambda",
        figure="lambda-grid",
        how=SIGNS,
    ),
    *row(
        "Training makes λ more negative under [−1,1]",
        HERE,
        ("sst2", "Training itself makes lambda more negative under [−1,1] on SST-2", "section IV-C2", _turns_negative("sst2")),
        shows="lambda",
        figure="lambda-grid",
        how=SIGNS,
    ),
    *row(
        "Silhouette and accuracy order models alike",
        HERE,
        ("imdb", "Silhouette and accuracy order the configurations of IMDB alike", "section IV-F", _agree("imdb")),
        ("sst2", "Silhouette and accuracy order the configurations of SST-2 alike", "section IV-F", _agree("sst2")),
        shows="results",
        figure="accuracy-beside-print",
        how="Spearman's rank correlation over configurations, means over seeds",
    ),
)  # fmt: skip

"""The NDT paper's claims: its sentences against its own tables, and against the runs here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sentviz.claim import Against, Claim, Effect, Finding, Verdict, alike, strictest, unjudged
from sentviz.evaluation import holm
from sentviz.papers.ndt import prints
from sentviz.papers.ndt.controls import controls
from sentviz.papers.ndt.study import DATASETS, NDTS, ROWS, configurations, tested
from sentviz.runs import Run
from sentviz.studies.against import minus, mixed, seeded
from sentviz.studies.seeds import over_seeds, seed_noise

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLAIMS"]


def _accuracies(dataset: str) -> tuple[float, list[float]]:
    """Printed accuracies in percent: DT's, and those of the 12 NDT variants."""
    frame = prints.table("classification")
    rows = frame[frame["dataset"] == dataset].to_dict("records")
    dt = next(float(row["accuracy_pct"]) for row in rows if row["family"] == "diff")
    return dt, [float(row["accuracy_pct"]) for row in rows if row["family"] == "ndt"]


def _beats(dataset: str, said: int) -> Callable[[Sequence[Run]], Finding]:
    def test(_: Sequence[Run]) -> Finding:
        dt, ndt = _accuracies(dataset)
        found = sum(value > dt for value in ndt)
        return Finding("holds" if found == said else "does not hold", f"the table has {found} of {len(ndt)} above DT's {dt:.2f}")

    return test


def _spreads(_: Sequence[Run]) -> Finding:
    twitter, imdb = (max(ndt) - min(ndt) for ndt in (_accuracies("twitter_financial")[1], _accuracies("imdb")[1]))
    found: Verdict = "holds" if twitter < imdb else "does not hold"
    return Finding(found, f"NDT's spread is {twitter:.2f} on Twitter and {imdb:.2f} on IMDB")


def _yelp(_: Sequence[Run]) -> Finding:
    ndt = _accuracies("yelp")[1]
    spread = max(ndt) - min(ndt)
    return Finding("holds" if spread < 0.6 else "does not hold", f"from {min(ndt):.2f} to {max(ndt):.2f}: {spread:.2f} points")


def _falls(_: Sequence[Run]) -> Finding:
    frame = prints.table("lambdas").sort_values("component")
    rows = [group["lambda"].abs().to_numpy() for _, group in frame.groupby(["dataset", "model", "layer"]) if len(group) > 1]
    kept = sum(bool((np.diff(row) < 0).all()) for row in rows)
    return Finding(
        "holds" if kept == len(rows) else "does not hold", f"by size, in {kept} of {len(rows)} printed rows with several lambdas"
    )


def _negative(dataset: str, low: float, high: float) -> Callable[[Sequence[Run]], Finding]:
    """Under [-1,1] all printed lambdas of a data set are negative, and run from low to high."""

    def test(_: Sequence[Run]) -> Finding:
        frame = prints.table("lambdas")
        values = frame[(frame["constraint"] == "[-1,1]") & (frame["dataset"] == dataset)]["lambda"]
        found = values.min(), values.max()
        said = minus(f"the table has {found[0]:.4f} to {found[1]:.4f}; {int((values < 0).sum())} of {len(values)} are negative")
        return Finding("holds" if found == (low, high) else "does not hold", said)

    return test


def _grows(dataset: str = "") -> Callable[[Sequence[Run]], Finding]:
    """Lambda is larger in layer 2: on one data set the unbounded variants, as the paper has it; without one all variants of all sets."""

    def test(_: Sequence[Run]) -> Finding:
        frame = prints.table("lambdas")
        if dataset:
            frame = frame[(frame["dataset"] == dataset) & frame["constraint"].isin(["[0,inf)", "(-inf,inf)"])]
        wide = frame.pivot_table(index=["dataset", "model", "component"], columns="layer", values="lambda")
        kept = (wide[2] > wide[1]).groupby("dataset").agg(["sum", "size"])
        said = ", ".join(f"{name} {row['sum']} of {row['size']}" for name, row in kept.iterrows())
        return Finding("holds" if bool((kept["sum"] == kept["size"]).all()) else "does not hold", f"of the printed pairs: {said}")

    return test


def _together(_: Sequence[Run]) -> Finding:
    """Printed silhouettes and accuracies by rank, on the two binary tasks."""
    from scipy.stats import spearmanr

    tables = [prints.table(name).set_index(["dataset", "model"]) for name in ("silhouette", "classification")]
    both = tables[0][["silhouette"]].join(tables[1][["accuracy_pct"]].astype(float), how="inner")
    found = {name: spearmanr(both.loc[dataset].to_numpy(float)) for name, dataset in (("IMDB", "imdb"), ("SST-2", "sst2"))}
    said = "; ".join(minus(f"{name} {one.statistic:+.2f}, p = {one.pvalue:.2g}") for name, one in found.items())
    told: Verdict = "cannot be told"
    if any(one.statistic <= 0 for one in found.values()):
        told = "does not hold"
    elif all(one.pvalue <= 0.05 for one in found.values()):
        told = "holds"
    return Finding(told, f"rank correlations over {len(both.loc['sst2'])} configurations: {said}")


def _on_rows(dataset: str, judge: Callable[[Mapping[str, Sequence[Run]], str], Finding]) -> Callable[[Sequence[Run]], Finding]:
    """The same test on each kind of test rows that a data set has, configurations by their runs that were tested on them."""

    def test(runs: Sequence[Run]) -> Finding:
        rows = ROWS.get(dataset, {"test": "the test rows"})
        found = {said: judge(tested(runs, dataset, split), split) for split, said in rows.items()}
        return strictest(found) if len(found) > 1 else next(iter(found.values()))

    return test


def _better(dataset: str, first: str, second: str) -> Callable[[Sequence[Run]], Finding]:
    """First beats second on the same test rows, over all seeds here; `ndt` is every NDT configuration, with Holm's correction over them."""

    def judge(here: Mapping[str, Sequence[Run]], split: str) -> Finding:
        wanted = NDTS if first == "ndt" else (first,)
        those = [model for model in wanted if model in here]
        if second not in here or not those:
            return unjudged("the runs are not here")
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
        effect = Effect.in_points(best.difference, best.low, best.high, f"{name} minus {second}")
        if set(words.values()) == {"worse"} and len(those) == len(wanted):
            return Finding("does not hold", said, effect=effect)
        verdict: Verdict = "holds" if better else seeded("cannot be told", {one.test for one in found.values()})
        return Finding(verdict, said, effect=effect)

    return _on_rows(dataset, judge)


def _best(dataset: str, model: str) -> Callable[[Sequence[Run]], Finding]:
    """A configuration is the best of the NDT ones: better than every other after Holm; refuted by one that is better than it."""

    def judge(every: Mapping[str, Sequence[Run]], split: str) -> Finding:
        here = {name: seeds for name, seeds in every.items() if name in NDTS}
        if model not in here or len(here) == 1:
            return unjudged("the runs are not here")
        noise = seed_noise(every.values(), split)
        found = {name: mixed(here[model], seeds, split, noise) for name, seeds in here.items() if name != model}
        adjusted = holm({name: one.p for name, one in found.items()})
        words = [one.word(adjusted[name]) for name, one in found.items()]
        rival, one = min(found.items(), key=lambda entry: entry[1].difference)
        said = f"better than {words.count('better')} and worse than {words.count('worse')} of {len(words)}; against {rival}: {one.numbers}"
        effect = Effect.in_points(one.difference, one.low, one.high, f"{model} minus {rival}, the nearest to it or ahead")
        if "worse" in words:
            return Finding("does not hold", said, effect=effect)
        whole = set(words) == {"better"} and len(words) == len(NDTS) - 1
        verdict: Verdict = "holds" if whole else seeded("cannot be told", {one.test for one in found.values()})
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
        return unjudged("the runs are not here")
    if binomtest(0, len(moved)).pvalue > 0.05:
        return unjudged(f"{len(moved)} runs are here, too few for a sign test")
    up = sum(change > 0 for change in moved)
    p = float(binomtest(up, len(moved)).pvalue)
    found: Verdict = "cannot be told" if p > 0.05 else "holds" if 2 * up > len(moved) else "does not hold"
    words = f"on average over its lambdas, {said} in {up} of {len(moved)} runs, sign test p = {p:.2g}" + f"; {rest}" * bool(rest)
    low, high = binomtest(up, len(moved)).proportion_ci()
    return Finding(found, words, effect=Effect.in_percent(up / len(moved), low, high, 0.5, "runs that it moved so"))


def _tight(dataset: str, points: float) -> Callable[[Sequence[Run]], Finding]:
    """All twelve NDT variants lie within so many points: every pair does, by intervals that hold for all pairs at once (Bonferroni)."""

    def test(runs: Sequence[Run]) -> Finding:
        every = configurations(runs, dataset)
        here = {model: seeds for model, seeds in every.items() if model in NDTS}
        if len(here) < len(NDTS):
            return unjudged(f"{len(here)} of {len(NDTS)} variants are here")
        noise = seed_noise(every.values())
        if noise is None:
            return unjudged("one seed each: what chance in training does is unknown")
        level = 1 - 0.05 / (len(NDTS) * (len(NDTS) - 1) / 2)
        pairs = [over_seeds(here[a], here[b], noise=noise, level=level) for a, b in combinations(here, 2)]
        widest = max(pairs, key=lambda one: abs(one.difference))
        beyond = sum(100 * max(one.low, -one.high) > points for one in pairs)
        within = all(100 * max(one.high, -one.low) < points for one in pairs)
        said = f"the outermost two are {100 * abs(widest.difference):.2f} points apart; {beyond} of {len(pairs)} pairs are more for sure"
        sides = sorted(abs(100 * side) for side in (widest.low, widest.high))
        effect = Effect(100 * abs(widest.difference), *sides, null=points, of="the outermost two variants")
        return Finding("does not hold" if beyond else "holds" if within else "cannot be told", said, effect=effect)

    return test


def _agree(dataset: str) -> Callable[[Sequence[Run]], Finding]:
    """Silhouette and accuracy order the configurations alike (Spearman, over configurations, means over seeds)."""

    def test(runs: Sequence[Run]) -> Finding:
        from scipy.stats import spearmanr

        rows = [[run.metrics()["test"] for run in seeds] for seeds in configurations(runs, dataset).values()]
        rows = [row for row in rows if all("silhouette" in one for one in row)]
        pairs = [[float(np.mean([one[name]["value"] for one in row])) for name in ("accuracy", "silhouette")] for row in rows]
        if len(pairs) < 5:
            return unjudged(f"{len(pairs)} configurations are here, too few for a rank correlation")
        rho, p = spearmanr(np.array(pairs))
        found: Verdict = "cannot be told" if p > 0.05 else "holds" if rho > 0 else "does not hold"
        said = minus(f"rank correlation {rho:+.2f} over {len(pairs)} configurations, p = {p:.2g}")
        return Finding(found, said, effect=Effect(float(rho), unit="", of="rank correlation"))

    return test


def _printed_lead(dataset: str, model: str, vanilla: float, diff: float) -> Callable[[Sequence[Run]], Finding]:
    """The best printed NDT, and its lead in points over vanilla and DT."""

    def test(_: Sequence[Run]) -> Finding:
        frame = prints.table("classification")
        rows = frame[frame["dataset"] == dataset].set_index("model")["accuracy_pct"].astype(float)
        best = str(rows[rows.index.str.startswith("ndt-")].idxmax())
        leads = rows[best] - rows["vanilla"], rows[best] - rows["diff"]
        same = best == model and abs(leads[0] - vanilla) < 0.005 and abs(leads[1] - diff) < 0.005
        said = f"the best is {best}: {leads[0]:+.2f} over vanilla, {leads[1]:+.2f} over DT"
        return Finding("holds" if same else "does not hold", said)

    return test


def _yelp_falls(_: Sequence[Run]) -> Finding:
    frame = prints.table("lambdas").query("dataset == 'yelp'").sort_values("component")
    rows = {key: group["lambda"].abs().to_numpy() for key, group in frame.groupby(["model", "layer"]) if len(group) > 1}
    against = [f"{model} layer {layer}" for (model, layer), row in rows.items() if not (np.diff(row) < 0).all()]
    said = f"by size, in {len(rows) - len(against)} of {len(rows)} rows" + (f"; not in {', '.join(against)}" if against else "")
    return Finding("does not hold" if against else "holds", said)


def _twitter_lambda(_: Sequence[Run]) -> Finding:
    lambdas = prints.table("lambdas").query("dataset == 'twitter_financial' and layer == 1")
    largest = lambdas.iloc[int(lambdas["lambda"].to_numpy().argmax())]
    rows = prints.table("classification").query("dataset == 'twitter_financial'").set_index("model")["accuracy_pct"]
    best = str(rows.astype(float).idxmax())
    found: Verdict = "holds" if largest["model"] == best else "does not hold"
    its = f"{largest['lambda']:.4f} is {largest['model']}'s ({rows[largest['model']]:.2f}%)"
    return Finding(found, f"{its}, the best is {best} ({rows[best]:.2f}%)")


def _auc(_: Sequence[Run]) -> Finding:
    frame = prints.table("classification")
    said, good = [], []
    for dataset, higher in (("imdb", "diff"), ("sst2", "diff"), ("yelp", "ndt"), ("twitter_financial", "ndt")):
        rows = frame[frame["dataset"] == dataset]
        ndt = rows[rows["family"] == "ndt"]
        best = ndt.iloc[int(ndt["accuracy_pct"].to_numpy(float).argmax())]
        dt = float(rows[rows["family"] == "diff"]["auc"].iloc[0])
        good.append((dt > best["auc"]) == (higher == "diff"))
        said.append(f"{dataset} {dt:.3f} against {best['auc']:.3f}")
    return Finding("holds" if all(good) else "does not hold", f"DT against the most accurate NDT: {', '.join(said)}")


def _added(_: Sequence[Run]) -> Finding:
    frame = prints.table("parameters")
    base = frame[frame["family"] == "vanilla"].set_index("dataset")["parameters_millions"].astype(float)
    ndt = frame[frame["family"] == "ndt"]
    added = ndt["parameters_millions"].astype(float) - ndt["dataset"].map(base)
    inside = ((added > 0.155) & (added < 0.235)).all()
    return Finding("holds" if inside else "does not hold", f"the table has {added.min():.2f} to {added.max():.2f} M more than vanilla")


def _row(
    short: str, against: Against, *said: tuple[str, str, str, Callable[[Sequence[Run]], Finding]], how: str = "", shows: str, figure: str
) -> tuple[Claim, ...]:
    return alike(short, against, DATASETS, *said, how=how, shows=shows, figure=figure)


PRINT: Against = "its own tables"
HERE: Against = "runs here"
OVER_SEEDS = (
    "a t test for other rows and other seeds, chance in training pooled over all configurations of the data set; of several configurations"
    " p after Holm"
)
SIGNS = "the exact sign test over runs, each by the mean change of its lambdas from their start"

CLAIMS = (
    *_row(
        "The best NDT leads by as much as said",
        PRINT,
        ("imdb", "The best NDT on IMDB leads vanilla by 1.57 and DT by 1.36 points", "section IV-B1",
         _printed_lead("imdb", "ndt-unit-2", 1.57, 1.36)),
        ("sst2", "The best NDT on SST-2 leads vanilla by 1.00 and DT by 0.32 points", "section IV-C1",
         _printed_lead("sst2", "ndt-unit-3", 1.00, 0.32)),
        ("yelp_full", "The best NDT on Yelp leads vanilla by 0.09 and DT by 0.32 points", "section IV-D1",
         _printed_lead("yelp", "ndt-symmetric-3", 0.09, 0.32)),
        ("twitter_financial", "The best NDT on Twitter leads vanilla by 1.34 and DT by 1.00 points", "section IV-E1",
         _printed_lead("twitter_financial", "ndt-free-4", 1.34, 1.00)),
        shows="results",
        figure="accuracy-beside-print",
    ),
    *_row(
        "As many variants are above DT as said",
        PRINT,
        ("imdb", "11 of 12 NDT variants are above DT on IMDB", "section IV-B1", _beats("imdb", 11)),
        ("sst2", "6 of 12 NDT variants are above DT on SST-2", "section IV-C1", _beats("sst2", 6)),
        ("twitter_financial", "8 of 12 NDT variants are above DT on Twitter", "section IV-E1", _beats("twitter_financial", 8)),
        shows="results",
        figure="accuracy-beside-print",
    ),
    *_row(
        "NDT's spread is narrower than on IMDB",
        PRINT,
        ("twitter_financial", "NDT's spread on Twitter is narrower than on IMDB", "section IV-E1", _spreads),
        shows="results",
        figure="accuracy-grid",
    ),
    *_row(
        "All NDT variants lie within 0.6 points",
        PRINT,
        ("yelp_full", "On Yelp all NDT variants lie within 0.6 points", "section IV-D1", _yelp),
        shows="results",
        figure="accuracy-grid",
    ),
    *_row(
        "λ grows from layer 1 to layer 2",
        PRINT,
        ("imdb", "On IMDB unbounded lambdas grow from layer 1 to layer 2", "section IV-B2", _grows("imdb")),
        ("", "Lambdas grow from layer 1 to layer 2 on every data set", "section IV-H2", _grows()),
        shows="lambda",
        figure="lambda-grid",
    ),
    *_row(
        "λ falls with the component's index",
        PRINT,
        ("", "Lambda falls with the component index in every configuration", "sections IV-B2 to IV-D2", _falls),
        ("yelp_full", "On Yelp lambda falls with the component index in every configuration", "section IV-D2", _yelp_falls),
        shows="lambda",
        figure="lambda-grid",
    ),
    *_row(
        "λ under [−1,1] is negative, in the range said",
        PRINT,
        ("imdb", "Under [−1,1] lambdas on IMDB are negative, from −0.2001 to −0.0575", "section IV-B2",
         _negative("imdb", -0.2001, -0.0575)),
        ("yelp_full", "Under [−1,1] lambdas on Yelp are negative, from −0.2003 to −0.0468", "section IV-D2",
         _negative("yelp", -0.2003, -0.0468)),
        ("twitter_financial", "Under [−1,1] lambdas on Twitter are negative, from −0.2053 to −0.0593", "section IV-E2",
         _negative("twitter_financial", -0.2053, -0.0593)),
        shows="lambda",
        figure="lambda-grid",
    ),
    *_row(
        "The largest λ of layer 1 is the best model's",
        PRINT,
        ("twitter_financial", "On Twitter the largest layer-1 lambda is the best configuration's", "section IV-E2", _twitter_lambda),
        shows="lambda",
        figure="lambda-grid",
    ),
    *_row(
        "DT or NDT has the higher AUC, as said",
        PRINT,
        ("", "DT has the higher AUC on IMDB and SST-2, the best NDT on Yelp and Twitter", "section IV-G2", _auc),
        shows="panels",
        figure="roc-panels",
    ),
    *_row(
        "Silhouette and accuracy go together",
        PRINT,
        ("", "Silhouette and accuracy go together on the binary tasks", "section IV-F", _together),
        shows="results",
        figure="accuracy-beside-print",
        how="Spearman's rank correlation over the printed configurations",
    ),
    *_row(
        "NDT adds 0.16 to 0.23 M parameters",
        PRINT,
        ("", "NDT adds 0.16 to 0.23 M parameters to vanilla", "section IV-H2", _added),
        shows="cost",
        figure="cost",
    ),
    *_row(
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
    *_row(
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
    *_row(
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
    *_row(
        "DT beats vanilla",
        HERE,
        ("sst2", "DT beats vanilla on SST-2", "table III", _better("sst2", "diff", "vanilla")),
        shows="compare",
        figure="accuracy-beside-print",
        how=OVER_SEEDS,
    ),
    *_row(
        "The paper's best NDT is the best here",
        HERE,
        ("sst2", "On SST-2 [0,1] with three maps is the best NDT", "section IV-C1", _best("sst2", "ndt-unit-3")),
        ("twitter_financial", "On Twitter (−inf,inf) with four maps is the best NDT", "section IV-E1",
         _best("twitter_financial", "ndt-free-4")),
        shows="results",
        figure="accuracy-grid",
        how=OVER_SEEDS,
    ),
    *_row(
        "All NDT variants lie within 0.6 points",
        HERE,
        ("yelp_full", "On Yelp all NDT variants lie within 0.6 points", "section IV-D1", _tight("yelp_full", 0.6)),
        shows="results",
        figure="accuracy-grid",
        how="intervals of all pairs that hold at once (Bonferroni)",
    ),
    *_row(
        "Training makes unbounded λ grow with depth",
        HERE,
        ("imdb", "Training itself makes unbounded lambdas grow with depth on IMDB", "section IV-B2", _moves("imdb")),
        ("sst2", "Training itself makes unbounded lambdas grow with depth on SST-2", "sections IV-C2, IV-H2", _moves("sst2")),
        shows="lambda",
        figure="lambda-grid",
        how=SIGNS,
    ),
    *_row(
        "Training makes λ more negative under [−1,1]",
        HERE,
        ("sst2", "Training itself makes lambda more negative under [−1,1] on SST-2", "section IV-C2", _turns_negative("sst2")),
        shows="lambda",
        figure="lambda-grid",
        how=SIGNS,
    ),
    *_row(
        "Silhouette and accuracy order models alike",
        HERE,
        ("imdb", "Silhouette and accuracy order the configurations of IMDB alike", "section IV-F", _agree("imdb")),
        ("sst2", "Silhouette and accuracy order the configurations of SST-2 alike", "section IV-F", _agree("sst2")),
        shows="results",
        figure="accuracy-beside-print",
        how="Spearman's rank correlation over configurations, means over seeds",
    ),
)  # fmt: skip

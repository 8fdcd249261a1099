"""Claims of the NDT paper that are tested on its own tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial

import numpy as np

from sentviz.analysis.claim import LEVEL, Board, Finding, Verdict, decide, settled
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import number, p_value, percent, signed
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.study import ACCURACY, DATASETS, LAMBDAS, TITLES, printed_name

BOARD = Board(DATASETS, TITLES)
printed = partial(BOARD.claim, against="its own tables", kind="printed")
of_results = partial(printed, where=ACCURACY, section="results", figure="accuracy-beside-print")
of_grid = partial(printed, where=ACCURACY, section="results", figure="accuracy-grid")
of_lambda = partial(printed, where=LAMBDAS, section="lambda", figure="lambda-grid")
lead = partial(of_results, statement="The best NDT on {} leads vanilla by {vanilla:.2f} and DT by {diff:.2f} points",
    short="The best NDT leads by the margin in the text")  # fmt: skip
above = partial(
    of_results, statement="{count} of 12 NDT variants are above DT on {}", short="As many variants are above DT as the text says"
)
negative_range = partial(
    of_lambda, statement="Under [−1,1] lambdas on {} go from −{low} to −{high}", short="λ under [−1,1] is in the range in the text"
)


def _rows(table: str, dataset: str) -> pd.DataFrame:
    """Return the rows of a printed table that are about a data set."""
    frame = printed_tables.table(table)
    return frame[frame["dataset"] == printed_name(dataset)]


def _accuracies(dataset: str) -> tuple[float, list[float]]:
    """Return printed accuracies in percent: DT's, and those of the 12 NDT variants."""
    rows = _rows("classification", dataset).to_dict("records")
    dt = next(float(row["accuracy_pct"]) for row in rows if row["family"] == "diff")
    return dt, [float(row["accuracy_pct"]) for row in rows if row["family"] == "ndt"]


@lead({"imdb": "0f06d0"}, model="ndt-unit-2", vanilla=1.57, diff=1.36)
@lead({"sst2": "0db506"}, model="ndt-unit-3", vanilla=1.0, diff=0.32)
@lead({"yelp_full": "c80283"}, model="ndt-symmetric-3", vanilla=0.09, diff=0.32)
@lead({"twitter_financial": "c35ee9"}, model="ndt-free-4", vanilla=1.34, diff=1.0)
def judge_lead(dataset: str, *, model: str, vanilla: float, diff: float) -> Finding:
    accuracies = _rows("classification", dataset).set_index("model")["accuracy_pct"].astype(float)
    best = str(accuracies[accuracies.index.str.startswith("ndt-")].idxmax())
    over_vanilla, over_diff = accuracies[best] - accuracies["vanilla"], accuracies[best] - accuracies["diff"]
    equal = best == model and abs(over_vanilla - vanilla) < 0.005 and abs(over_diff - diff) < 0.005
    return settled(equal, f"the best is {best}: {signed(over_vanilla)} over vanilla, {signed(over_diff)} over DT, in points")


@above({"imdb": "12fc11"}, count=11)
@above({"sst2": "4e24bb"}, count=6)
@above({"twitter_financial": "d7d52d"}, count=8)
def judge_count_above_dt(dataset: str, *, count: int) -> Finding:
    dt, ndt = _accuracies(dataset)
    above = sum(value > dt for value in ndt)
    return settled(above == count, f"the table has {above} of {len(ndt)} above DT's {dt:.2f}")


@of_grid({"twitter_financial": "64ab26"}, "NDT's spread on {} is narrower than on IMDb")
def judge_narrower_spread() -> Finding:
    twitter, imdb = (max(ndt) - min(ndt) for ndt in (_accuracies("twitter_financial")[1], _accuracies("imdb")[1]))
    return settled(twitter < imdb, f"NDT's spread is {twitter:.2f} on Twitter and {imdb:.2f} on IMDb")


@of_grid({"yelp_full": "d24f79"}, "On {} all NDT variants lie within 0.6 points", points=0.6)
def judge_printed_range(dataset: str, *, points: float) -> Finding:
    _dt, ndt = _accuracies(dataset)
    spread = max(ndt) - min(ndt)
    return settled(spread < points, f"from {min(ndt):.2f} to {max(ndt):.2f}: {spread:.2f} points")


@of_lambda({"imdb": "3fcb28"}, "On {} unbounded lambdas grow from layer 1 to layer 2", "λ grows from layer 1 to layer 2")
@of_lambda("4f6903", "Lambdas grow from layer 1 to layer 2 on every data set", "λ grows from layer 1 to layer 2", where="section IV-H2")
def judge_growth_with_depth(dataset: str) -> Finding:
    frame = printed_tables.table("lambdas")
    if dataset:
        frame = _rows("lambdas", dataset)
        frame = frame[frame["constraint"].isin(["[0,inf)", "(-inf,inf)"])]
    by_layer = frame.pivot_table(index=["dataset", "model", "component"], columns="layer", values="lambda")
    counts = (by_layer[2] > by_layer[1]).groupby("dataset").agg(["sum", "size"])
    pairs = ", ".join(f"{name} {row['sum']} of {row['size']}" for name, row in counts.iterrows())
    return settled((counts["sum"] == counts["size"]).all(), f"reported pairs that fit: {pairs}")


def _falling(frame: pd.DataFrame, keys: Sequence[str]) -> dict[tuple[Hashable, ...], bool]:
    """Return whether the size of lambda falls with the component, for each configuration with several components."""
    groups = {key: group["lambda"].abs().to_numpy() for key, group in frame.sort_values("component").groupby(list(keys)) if len(group) > 1}
    return {key: bool((np.diff(sizes) < 0).all()) for key, sizes in groups.items()}


@of_lambda("c51945", "Lambda falls with the component index in every configuration", "λ falls with the component's index",
    where="sections IV-B2 to IV-D2")  # fmt: skip
def judge_fall_with_component() -> Finding:
    falling = list(_falling(printed_tables.table("lambdas"), ["dataset", "model", "layer"]).values())
    return settled(all(falling), f"absolute values fall in {sum(falling)} of {len(falling)} reported rows with several lambdas")


@of_lambda(
    {"yelp_full": "88e745"}, "On {} lambda falls with the component index in every configuration", "λ falls with the component's index"
)
def judge_fall_with_component_on(dataset: str) -> Finding:
    falling = _falling(_rows("lambdas", dataset), ["model", "layer"])
    exceptions = [f"{model} layer {layer}" for (model, layer), falls in falling.items() if not falls]
    evidence = f"absolute values fall in {len(falling) - len(exceptions)} of {len(falling)} rows"
    return settled(not exceptions, evidence + (f"; not in {', '.join(exceptions)}" if exceptions else ""))


@of_lambda({"imdb": "5b0e27", "yelp_full": "c1d94f", "twitter_financial": "83a6e0"}, "Under [−1,1] lambdas on {} are exclusively negative",
    "λ under [−1,1] is always negative")  # fmt: skip
def judge_negative(dataset: str) -> Finding:
    frame = _rows("lambdas", dataset)
    negative = frame[frame["constraint"] == "[-1,1]"]["lambda"] < 0
    return settled(negative.all(), f"{int(negative.sum())} of {len(negative)} are negative")


@negative_range({"imdb": "0d3882"}, low=0.2001, high=0.0575)
@negative_range({"yelp_full": "1962fb"}, low=0.2003, high=0.0468)
@negative_range({"twitter_financial": "fe2c24"}, low=0.2053, high=0.0593)
def judge_negative_range(dataset: str, *, low: float, high: float) -> Finding:
    frame = _rows("lambdas", dataset)
    values = frame[frame["constraint"] == "[-1,1]"]["lambda"]
    least, most = values.min(), values.max()
    return settled((least, most) == (-low, -high), f"the table has {number(least, 4)} to {number(most, 4)}")


@of_lambda({"twitter_financial": "ed34cc"}, "On {} the largest layer-1 lambda is the best configuration's",
    "The largest λ of layer 1 is the best model's")  # fmt: skip
def judge_largest_lambda(dataset: str) -> Finding:
    lambdas = _rows("lambdas", dataset).query("layer == 1")
    largest = lambdas.iloc[int(lambdas["lambda"].to_numpy().argmax())]
    accuracies = _rows("classification", dataset).set_index("model")["accuracy_pct"]
    best = str(accuracies.astype(float).idxmax())
    owner = f"{largest['model']} has {number(largest['lambda'], 4)} ({percent(accuracies[largest['model']] / 100, 2)})"
    return settled(largest["model"] == best, f"{owner}, the best is {best} ({percent(accuracies[best] / 100, 2)})")


@printed("ceba3d", "DT has the higher AUC on IMDb and SST-2, the best NDT on Yelp and Twitter",
    "DT or NDT has the higher AUC, as in the text", where="section IV-G2", section="roc", figure="roc-panels")  # fmt: skip
def judge_auc() -> Finding:
    pairs, as_stated = [], []
    for dataset, higher in (("imdb", "diff"), ("sst2", "diff"), ("yelp", "ndt"), ("twitter_financial", "ndt")):
        rows = _rows("classification", dataset)
        ndt = rows[rows["family"] == "ndt"]
        best = ndt.iloc[int(ndt["accuracy_pct"].to_numpy(float).argmax())]
        dt = float(rows[rows["family"] == "diff"]["auc"].iloc[0])
        as_stated.append((dt > best["auc"]) == (higher == "diff"))
        pairs.append(f"{dataset} {dt:.3f} against {best['auc']:.3f}")
    return settled(all(as_stated), f"DT against the most accurate NDT: {', '.join(pairs)}")


def verdict_on_ranks(correlations: Iterable[tuple[float, float]]) -> Verdict:
    """Return the verdict on a claimed order, from rank correlations and their p: one that is not significant cannot be told."""
    every = list(correlations)
    return decide(all(p <= LEVEL and rho > 0 for rho, p in every), any(p <= LEVEL and rho <= 0 for rho, p in every))


@of_results("4ca948", "Silhouette and accuracy are correlated on the binary tasks", "Silhouette and accuracy are correlated",
    where="section IV-F", kind="tested", how="Spearman's rank correlation over the printed configurations")  # fmt: skip
def judge_silhouettes() -> Finding:
    silhouettes, accuracies = (printed_tables.table(name).set_index(["dataset", "model"]) for name in ("silhouette", "classification"))
    both = silhouettes[["silhouette"]].join(accuracies[["accuracy_pct"]].astype(float), how="inner")
    results = {name: stats.spearmanr(both.loc[dataset].to_numpy(float)) for name, dataset in (("IMDb", "imdb"), ("SST-2", "sst2"))}
    numbers = "; ".join(f"{name} {signed(result.statistic)}, {p_value(result.pvalue)}" for name, result in results.items())
    verdict = verdict_on_ranks([(float(result.statistic), float(result.pvalue)) for result in results.values()])
    p = max(float(result.pvalue) for result in results.values())
    return Finding(verdict, f"rank correlations over {len(both.loc['sst2'])} configurations: {numbers}", p=p)


@printed("9592b9", "NDT adds 0.16 to 0.23 M parameters to vanilla", "NDT adds 0.16 to 0.23 M parameters", where="section IV-H2",
    section="cost", figure="cost")  # fmt: skip
def judge_added_parameters() -> Finding:
    """Let 0.01 M beyond either end not refute it: a difference of two numbers rounded to 0.01 M is up to 0.01 M off."""
    frame = printed_tables.table("parameters")
    base = frame[frame["family"] == "vanilla"].set_index("dataset")["parameters_millions"].astype(float)
    ndt = frame[frame["family"] == "ndt"]
    added = ndt["parameters_millions"].astype(float) - ndt["dataset"].map(base)
    inside = int(added.round(2).between(0.16, 0.23).sum())
    evidence = f"the table has {added.min():.2f} to {added.max():.2f} M more than vanilla, {inside} of {len(added)} in this range"
    evidence += "; a difference of two numbers rounded to 0.01 is up to 0.01 off" if inside < len(added) else ""
    return settled(added.round(2).between(0.15, 0.24).all(), evidence)

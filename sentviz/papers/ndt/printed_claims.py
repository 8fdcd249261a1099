"""Claims of the NDT paper that are tested on its own tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial

import numpy as np

from sentviz.analysis.claim import Finding, Reference, Row, Verdict, decide, settled
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import number, p_value, percent, signed
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.study import printed_name
from sentviz.runs.store import Run

LEVEL = 0.05  # significance level


def _rows(table: str, dataset: str) -> pd.DataFrame:
    """Return the rows of a printed table that are about a data set."""
    frame = printed_tables.table(table)
    return frame[frame["dataset"] == printed_name(dataset)]


def _accuracies(dataset: str) -> tuple[float, list[float]]:
    """Return printed accuracies in percent: DT's, and those of the 12 NDT variants."""
    rows = _rows("classification", dataset).to_dict("records")
    dt = next(float(row["accuracy_pct"]) for row in rows if row["family"] == "diff")
    return dt, [float(row["accuracy_pct"]) for row in rows if row["family"] == "ndt"]


def judge_lead(dataset: str, _: Sequence[Run], *, model: str, vanilla: float, diff: float) -> Finding:
    """Test whether `model` is the best printed NDT, ahead of vanilla and DT by these points."""
    accuracies = _rows("classification", dataset).set_index("model")["accuracy_pct"].astype(float)
    best = str(accuracies[accuracies.index.str.startswith("ndt-")].idxmax())
    over_vanilla, over_diff = accuracies[best] - accuracies["vanilla"], accuracies[best] - accuracies["diff"]
    equal = best == model and abs(over_vanilla - vanilla) < 0.005 and abs(over_diff - diff) < 0.005
    return settled(equal, f"the best is {best}: {signed(over_vanilla)} over vanilla, {signed(over_diff)} over DT, in points")


def judge_count_above_dt(dataset: str, _: Sequence[Run], *, count: int) -> Finding:
    """Test whether `count` of the printed NDT variants are above DT."""
    dt, ndt = _accuracies(dataset)
    above = sum(value > dt for value in ndt)
    return settled(above == count, f"the table has {above} of {len(ndt)} above DT's {dt:.2f}")


def judge_narrower_spread(*_: object) -> Finding:
    """Test whether NDT's printed accuracies are closer together on Twitter than on IMDb."""
    twitter, imdb = (max(ndt) - min(ndt) for ndt in (_accuracies("twitter_financial")[1], _accuracies("imdb")[1]))
    return settled(twitter < imdb, f"NDT's spread is {twitter:.2f} on Twitter and {imdb:.2f} on IMDb")


def judge_printed_range(dataset: str, _: Sequence[Run], *, points: float) -> Finding:
    """Test whether the highest and the lowest printed NDT accuracy differ by less than `points`."""
    _dt, ndt = _accuracies(dataset)
    spread = max(ndt) - min(ndt)
    return settled(spread < points, f"from {min(ndt):.2f} to {max(ndt):.2f}: {spread:.2f} points")


def judge_growth_with_depth(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether each lambda is larger in layer 2: for unbounded variants on one data set, for all variants if `dataset` is empty."""
    frame = printed_tables.table("lambdas")
    if dataset:
        frame = _rows("lambdas", dataset)
        frame = frame[frame["constraint"].isin(["[0,inf)", "(-inf,inf)"])]
    by_layer = frame.pivot_table(index=["dataset", "model", "component"], columns="layer", values="lambda")
    counts = (by_layer[2] > by_layer[1]).groupby("dataset").agg(["sum", "size"])
    pairs = ", ".join(f"{name} {row['sum']} of {row['size']}" for name, row in counts.iterrows())
    return settled(bool((counts["sum"] == counts["size"]).all()), f"reported pairs that fit: {pairs}")


def _falling(frame: pd.DataFrame, keys: Sequence[str]) -> dict[tuple[Hashable, ...], bool]:
    """Return whether the size of lambda falls with the component, for each configuration with several components."""
    groups = {key: group["lambda"].abs().to_numpy() for key, group in frame.sort_values("component").groupby(list(keys)) if len(group) > 1}
    return {key: bool((np.diff(sizes) < 0).all()) for key, sizes in groups.items()}


def judge_fall_with_component(*_: object) -> Finding:
    """Test whether the size of lambda falls with the component index in every printed row."""
    falling = list(_falling(printed_tables.table("lambdas"), ["dataset", "model", "layer"]).values())
    return settled(all(falling), f"absolute values fall in {sum(falling)} of {len(falling)} reported rows with several lambdas")


def judge_fall_with_component_on(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether the size of lambda falls with the component index in every printed row of a data set; name the exceptions."""
    falling = _falling(_rows("lambdas", dataset), ["model", "layer"])
    exceptions = [f"{model} layer {layer}" for (model, layer), falls in falling.items() if not falls]
    evidence = f"absolute values fall in {len(falling) - len(exceptions)} of {len(falling)} rows"
    return settled(not exceptions, evidence + (f"; not in {', '.join(exceptions)}" if exceptions else ""))


def judge_negative_range(dataset: str, _: Sequence[Run], *, low: float, high: float) -> Finding:
    """Test whether the lambdas under [-1,1] lie from `low` to `high`, to all printed digits."""
    frame = _rows("lambdas", dataset)
    values = frame[frame["constraint"] == "[-1,1]"]["lambda"]
    least, most = values.min(), values.max()
    return settled((least, most) == (low, high), f"the table has {number(least, 4)} to {number(most, 4)}")


def judge_negative(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether every lambda under [-1,1] is negative."""
    frame = _rows("lambdas", dataset)
    negative = frame[frame["constraint"] == "[-1,1]"]["lambda"] < 0
    return settled(bool(negative.all()), f"{int(negative.sum())} of {len(negative)} are negative")


def judge_largest_lambda(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether the configuration with the largest lambda of layer 1 is the most accurate one."""
    lambdas = _rows("lambdas", dataset).query("layer == 1")
    largest = lambdas.iloc[int(lambdas["lambda"].to_numpy().argmax())]
    accuracies = _rows("classification", dataset).set_index("model")["accuracy_pct"]
    best = str(accuracies.astype(float).idxmax())
    owner = f"{largest['model']} has {number(largest['lambda'], 4)} ({percent(accuracies[largest['model']] / 100, 2)})"
    return settled(largest["model"] == best, f"{owner}, the best is {best} ({percent(accuracies[best] / 100, 2)})")


def judge_auc(*_: object) -> Finding:
    """Test whether DT has the higher AUC on IMDb and SST-2, and the most accurate NDT on Yelp and Twitter."""
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


def judge_silhouettes(*_: object) -> Finding:
    """Test the rank correlation of printed silhouettes and accuracies on the two binary tasks."""
    silhouettes, accuracies = (printed_tables.table(name).set_index(["dataset", "model"]) for name in ("silhouette", "classification"))
    both = silhouettes[["silhouette"]].join(accuracies[["accuracy_pct"]].astype(float), how="inner")
    results = {name: stats.spearmanr(both.loc[dataset].to_numpy(float)) for name, dataset in (("IMDb", "imdb"), ("SST-2", "sst2"))}
    numbers = "; ".join(f"{name} {signed(result.statistic)}, {p_value(result.pvalue)}" for name, result in results.items())
    verdict = verdict_on_ranks([(float(result.statistic), float(result.pvalue)) for result in results.values()])
    p = max(float(result.pvalue) for result in results.values())
    return Finding(verdict, f"rank correlations over {len(both.loc['sst2'])} configurations: {numbers}", p=p)


def judge_added_parameters(*_: object) -> Finding:
    """Test whether each printed NDT has 0.16 to 0.23 M parameters more than vanilla.

    A difference of two numbers rounded to 0.01 M is up to 0.01 M off, so that much beyond either end does not refute the claim.
    """
    frame = printed_tables.table("parameters")
    base = frame[frame["family"] == "vanilla"].set_index("dataset")["parameters_millions"].astype(float)
    ndt = frame[frame["family"] == "ndt"]
    added = ndt["parameters_millions"].astype(float) - ndt["dataset"].map(base)
    inside = int(added.round(2).between(0.16, 0.23).sum())
    evidence = f"the table has {added.min():.2f} to {added.max():.2f} M more than vanilla, {inside} of {len(added)} in this range"
    evidence += "; a difference of two numbers rounded to 0.01 is up to 0.01 off" if inside < len(added) else ""
    return settled(bool(added.round(2).between(0.15, 0.24).all()), evidence)


TABLES: Reference = "its own tables"


def _lead(dataset: str, claim: str, place: str, model: str, vanilla: float, diff: float) -> Row:
    """Return the row on the best NDT's lead in points over vanilla and DT."""
    return Row(
        "The best NDT leads by the margin in the text",
        f"The best NDT on {{}} leads vanilla by {vanilla:.2f} and DT by {diff:.2f} points",
        TABLES,
        "printed",
        partial(judge_lead, model=model, vanilla=vanilla, diff=diff),
        {dataset: (claim, place)},
        "results",
        "accuracy-beside-print",
    )


def _above(dataset: str, claim: str, place: str, count: int) -> Row:
    """Return the row on the number of NDT variants above DT."""
    return Row(
        "As many variants are above DT as the text says",
        f"{count} of 12 NDT variants are above DT on {{}}",
        TABLES,
        "printed",
        partial(judge_count_above_dt, count=count),
        {dataset: (claim, place)},
        "results",
        "accuracy-beside-print",
    )


def _range(dataset: str, claim: str, place: str, low: float, high: float) -> Row:
    """Return the row on the range of lambda under [-1,1]."""
    return Row(
        "λ under [−1,1] is in the range in the text",
        f"Under [−1,1] lambdas on {{}} go from −{-low} to −{-high}",
        TABLES,
        "printed",
        partial(judge_negative_range, low=low, high=high),
        {dataset: (claim, place)},
        "lambda",
        "lambda-grid",
    )


ROWS = (
    _lead("imdb", "0f06d0", "section IV-B1", "ndt-unit-2", 1.57, 1.36),
    _lead("sst2", "0db506", "section IV-C1", "ndt-unit-3", 1.00, 0.32),
    _lead("yelp_full", "c80283", "section IV-D1", "ndt-symmetric-3", 0.09, 0.32),
    _lead("twitter_financial", "c35ee9", "section IV-E1", "ndt-free-4", 1.34, 1.00),
    _above("imdb", "12fc11", "section IV-B1", 11),
    _above("sst2", "4e24bb", "section IV-C1", 6),
    _above("twitter_financial", "d7d52d", "section IV-E1", 8),
    Row("NDT's spread is narrower than on IMDb", "NDT's spread on {} is narrower than on IMDb", TABLES, "printed", judge_narrower_spread,
        {"twitter_financial": ("64ab26", "section IV-E1")}, "results", "accuracy-grid"),
    Row("All NDT variants lie within 0.6 points", "On {} all NDT variants lie within 0.6 points", TABLES, "printed",
        partial(judge_printed_range, points=0.6), {"yelp_full": ("d24f79", "section IV-D1")}, "results", "accuracy-grid"),
    Row("λ grows from layer 1 to layer 2", "On {} unbounded lambdas grow from layer 1 to layer 2", TABLES, "printed",
        judge_growth_with_depth, {"imdb": ("3fcb28", "section IV-B2")}, "lambda", "lambda-grid"),
    Row("λ grows from layer 1 to layer 2", "Lambdas grow from layer 1 to layer 2 on every data set", TABLES, "printed",
        judge_growth_with_depth, {"": ("4f6903", "section IV-H2")}, "lambda", "lambda-grid"),
    Row("λ falls with the component's index", "Lambda falls with the component index in every configuration", TABLES, "printed",
        judge_fall_with_component, {"": ("c51945", "sections IV-B2 to IV-D2")}, "lambda", "lambda-grid"),
    Row("λ falls with the component's index", "On {} lambda falls with the component index in every configuration", TABLES, "printed",
        judge_fall_with_component_on, {"yelp_full": ("88e745", "section IV-D2")}, "lambda", "lambda-grid"),
    Row("λ under [−1,1] is always negative", "Under [−1,1] lambdas on {} are exclusively negative", TABLES, "printed", judge_negative,
        {"imdb": ("5b0e27", "section IV-B2"), "yelp_full": ("c1d94f", "section IV-D2"),
        "twitter_financial": ("83a6e0", "section IV-E2")}, "lambda", "lambda-grid"),
    _range("imdb", "0d3882", "section IV-B2", -0.2001, -0.0575),
    _range("yelp_full", "1962fb", "section IV-D2", -0.2003, -0.0468),
    _range("twitter_financial", "fe2c24", "section IV-E2", -0.2053, -0.0593),
    Row("The largest λ of layer 1 is the best model's", "On {} the largest layer-1 lambda is the best configuration's", TABLES, "printed",
        judge_largest_lambda, {"twitter_financial": ("ed34cc", "section IV-E2")}, "lambda", "lambda-grid"),
    Row("DT or NDT has the higher AUC, as in the text", "DT has the higher AUC on IMDb and SST-2, the best NDT on Yelp and Twitter",
        TABLES, "printed", judge_auc, {"": ("ceba3d", "section IV-G2")}, "roc", "roc-panels"),
    Row("Silhouette and accuracy are correlated", "Silhouette and accuracy are correlated on the binary tasks", TABLES, "tested",
        judge_silhouettes, {"": ("4ca948", "section IV-F")}, "results", "accuracy-beside-print",
        "Spearman's rank correlation over the printed configurations"),
    Row("NDT adds 0.16 to 0.23 M parameters", "NDT adds 0.16 to 0.23 M parameters to vanilla", TABLES, "printed", judge_added_parameters,
        {"": ("9592b9", "section IV-H2")}, "cost", "cost"),
)  # fmt: skip

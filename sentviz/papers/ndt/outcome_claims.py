"""Conclusions of the NDT paper, tested on its own tables: which models lead, how pure classes and clusters are, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from sentviz.analysis.claim import Finding, Reference, Row, decide, settled
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, percent, signed
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.study import DATASETS, printed_name
from sentviz.runs.store import Run

BINARY, FINE_GRAINED = ("imdb", "sst2"), "yelp_full"  # the data sets that section IV-H2 compares; it does not name Twitter
MOST_CONFUSED = 25.0  # percent of rows in a wrong class that count as minimal confusion
WEAK = 0.25  # silhouette up to which Kaufman and Rousseeuw (1990) see no substantial clusters


def _values(name: str, dataset: str, column: str) -> pd.Series[float]:
    """Return a column of a printed table on a data set, by configuration."""
    frame = printed_tables.table(name)
    values: pd.Series[float] = frame[frame["dataset"] == printed_name(dataset)].set_index("model")[column].astype(float)
    return values


def _accuracies(dataset: str) -> pd.Series[float]:
    return _values("classification", dataset, "accuracy_pct")


def _ndts(values: pd.Series[float]) -> pd.Series[float]:
    return values[values.index.str.startswith("ndt-")]


def _best(dataset: str) -> str:
    """Return the printed NDT with the highest accuracy."""
    return str(_ndts(_accuracies(dataset)).idxmax())


def judge_always_above(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether every printed NDT variant is above vanilla and above DT."""
    accuracies = _accuracies(dataset)
    ndt = _ndts(accuracies)
    above = {model: int((ndt > accuracies[model]).sum()) for model in ("vanilla", "diff")}
    counts = " and ".join(f"{count} of {len(ndt)} above {model} ({accuracies[model]:.2f})" for model, count in above.items())
    return settled(all(count == len(ndt) for count in above.values()), f"the table has {counts.replace('diff', 'DT')}")


def _leads(datasets: Iterable[str], baseline: str) -> dict[str, float]:
    """Return how far the best printed NDT is above a baseline, in points, by data set."""
    return {name: float(_ndts(_accuracies(name)).max() - _accuracies(name)[baseline]) for name in datasets}


def judge_most_on_binary(*_: object) -> Finding:
    """Test whether the best NDT leads vanilla and DT by more on the binary data sets, on average, than on Yelp."""
    larger, parts = [], []
    for baseline, name in (("diff", "DT"), ("vanilla", "vanilla")):
        leads = _leads(DATASETS, baseline)
        two, yelp = [leads[dataset] for dataset in BINARY], leads[FINE_GRAINED]
        larger.append(float(np.mean(two)) > yelp)
        named = ", ".join(f"{DATASETS[dataset]} {signed(leads[dataset])}" for dataset in (*BINARY, FINE_GRAINED))
        parts.append(f"over {name}: {named} points (binary on average {signed(float(np.mean(two)))})")
        parts[-1] += f"; ours, not the paper's: {DATASETS['twitter_financial']} {signed(leads['twitter_financial'])}"
    return settled(all(larger), "; ".join(parts))


def judge_minimal_confusion(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether the paper's best NDT puts fewer rows than `MOST_CONFUSED` percent into a wrong class."""
    best = _best(dataset)
    wrong = 100 - float(_accuracies(dataset)[best])
    return settled(wrong < MOST_CONFUSED, f"{best} puts {percent(wrong / 100, 2)} of the rows into a wrong class")


def judge_compact_clusters(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether the paper's best NDT has a silhouette above `WEAK`."""
    silhouettes, best = _values("silhouette", dataset, "silhouette"), _best(dataset)
    spread = f"all configurations {number(silhouettes.min(), 3)} to {number(silhouettes.max(), 3)}"
    return settled(bool(silhouettes[best] > WEAK), f"the silhouette of {best} is {number(silhouettes[best], 3)}, {spread}")


def judge_higher(dataset: str, _: Sequence[Run], *, model: str, baseline: str) -> Finding:
    """Test whether a printed configuration is above another one."""
    accuracies = _accuracies(dataset)
    evidence = ", ".join(f"{name} {percent(accuracies[name] / 100, 2)}" for name in (model, baseline))
    return settled(bool(accuracies[model] > accuracies[baseline]), evidence)


def judge_two_are_best(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether two components are best under each constraint."""
    ndt = _ndts(_accuracies(dataset))
    best = [str(part.idxmax()) for _, part in ndt.groupby(ndt.index.str.rsplit("-", n=1).str[0], sort=False)]
    return settled(all(name.endswith("-2") for name in best), f"best of each constraint: {', '.join(best)}")


def judge_first_three_have_four(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether the three best printed NDTs have four components."""
    best = _ndts(_accuracies(dataset)).sort_values(ascending=False)
    first = [f"{name} {value:.2f}" for name, value in best[:4].items()]
    return settled(all(str(name).endswith("-4") for name in best.index[:3]), f"the first four are {', '.join(first)}")


def judge_unit_is_best(*_: object) -> Finding:
    """Test whether the best printed NDT has lambdas in [0,1] on both binary data sets."""
    best = {name: _best(name) for name in BINARY}
    return settled(
        all(model.startswith("ndt-unit-") for model in best.values()),
        ", ".join(f"{DATASETS[name]} {model}" for name, model in best.items()),
    )


def judge_order_of_silhouettes(*_: object) -> Finding:
    """Test whether, in each configuration, the printed silhouette is highest on SST-2 and lowest on Yelp."""
    frame = printed_tables.table("silhouette").pivot(index="model", columns="dataset", values="silhouette").astype(float)
    highest, lowest = int((frame.idxmax(axis=1) == "sst2").sum()), int((frame.idxmin(axis=1) == "yelp").sum())
    return settled(
        highest == lowest == len(frame), f"highest on SST-2 in {highest}, lowest on Yelp in {lowest} of {len(frame)} configurations"
    )


def judge_highest_silhouette(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether [-1,1] with four components has the highest printed silhouette."""
    first, second = _values("silhouette", dataset, "silhouette").sort_values(ascending=False).head(2).items()
    return settled(first[0] == "ndt-symmetric-4", f"the highest is {first[0]} with {first[1]:.3f}, then {second[0]} with {second[1]:.3f}")


def judge_highest_auc(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether [0,inf) with four components has the highest printed AUC."""
    first, second = _values("classification", dataset, "auc").sort_values(ascending=False).head(2).items()
    return settled(first[0] == "ndt-nonneg-4", f"the highest is {first[0]} with {first[1]:.3f}, then {second[0]} with {second[1]:.3f}")


def judge_positive_only_on_sst2(*_: object) -> Finding:
    """Test whether printed lambdas under [-1,1] are positive in layer 2 on SST-2, and nowhere else."""
    frame = printed_tables.table("lambdas")
    frame = frame[frame["constraint"] == "[-1,1]"]
    there = (frame["dataset"] == "sst2") & (frame["layer"] == 2)
    positive = frame["lambda"] > 0
    inside, outside = int(positive[there].sum()), int(positive[~there].sum())
    evidence = f"positive: {inside} of {int(there.sum())} in layer 2 on SST-2, {outside} of {int((~there).sum())} elsewhere"
    return settled(inside > 0 and outside == 0, evidence)


def judge_time_grows(dataset: str, _: Sequence[Run]) -> Finding:
    """Test whether the printed time per batch grows with the number of components; equal times leave it open."""
    values = _values_by_components(dataset)
    steps = np.diff(values)
    written = ", ".join(f"C = {size} {value:.2f} ms" for size, value in zip((2, 3, 4), values, strict=True))
    written += "; the times are rounded" if (steps == 0).any() else ""
    return Finding(decide(bool((steps > 0).all()), bool((steps < 0).any())), written)


def _values_by_components(dataset: str) -> list[float]:
    frame = printed_tables.table("inference_ms_per_batch")
    rows = frame[(frame["dataset"] == printed_name(dataset)) & (frame["family"] == "ndt")].sort_values("components")
    return [float(value) for value in rows["milliseconds"]]


TABLES: Reference = "its own tables"
CONFUSED = f"a best NDT with fewer than {MOST_CONFUSED:.0f} % of the rows in a wrong class counts as minimal confusion; the limit is ours"
CLUSTERED = f"a silhouette above {WEAK} counts as clusters: up to {WEAK} Kaufman and Rousseeuw (1990) see no substantial structure"


def _everywhere(*ids: str, place: str) -> dict[str, tuple[str, str]]:
    return {dataset: (name, place) for dataset, name in zip(DATASETS, ids, strict=True)}


ROWS = (
    Row("Every NDT is above vanilla and DT", "Every NDT variant is above vanilla and DT on {}", TABLES, "printed", judge_always_above,
        _everywhere("4b7e10", "a90c3d", "e2d561", "17f8b4", place="section V"), "results", "accuracy-beside-print"),
    Row("NDT's lead is largest on binary tasks", "The best NDT leads by more on IMDb and SST-2 than on Yelp", TABLES, "printed",
        judge_most_on_binary, {"": ("60d2ce", "section IV-H2")}, "results", "accuracy-beside-print"),
    Row("The best NDT confuses few rows", "The best NDT confuses classes minimally on {}", TABLES, "printed", judge_minimal_confusion,
        _everywhere("c5a3f2", "08be77", "f4196d", "93e0ab", place="section IV-G1"), "confusion", "confusion-panels", CONFUSED),
    Row("The best NDT has compact clusters", "The best NDT has compact and distinct clusters on {}", TABLES, "printed",
        judge_compact_clusters,
        _everywhere("2fd98e", "b16c05", "76a4e3", "d8305f", place="section IV-G3"), "tsne", "", CLUSTERED),
    Row("Vanilla is above DT", "Vanilla is above DT on {}", TABLES, "printed", partial(judge_higher, model="vanilla", baseline="diff"),
        {"yelp_full": ("59c7d2", "section IV-D1")}, "results", "accuracy-beside-print"),
    Row("DT is above vanilla", "DT is above vanilla on {}", TABLES, "printed", partial(judge_higher, model="diff", baseline="vanilla"),
        {"imdb": ("ab41f7", "table I"), "sst2": ("3e9d60", "table III"), "twitter_financial": ("c4b27a", "table VII")}, "results",
        "accuracy-beside-print"),
    Row("Two components are best under each range", "On {} two components are best under each range of lambda", TABLES, "printed",
        judge_two_are_best, {"imdb": ("87f1c9", "section IV-B1")}, "results", "accuracy-grid"),
    Row("The three best have four components", "The three best NDTs on {} have four components", TABLES, "printed",
        judge_first_three_have_four,
        {"twitter_financial": ("1d6ea5", "section IV-E1")}, "results", "accuracy-grid"),
    Row("[0,1] is best on binary tasks", "The best NDT has lambdas in [0,1] on IMDb and SST-2", TABLES, "printed", judge_unit_is_best,
        {"": ("f0837b", "section IV-H2")}, "results", "accuracy-grid"),
    Row("Silhouettes: SST-2 highest, Yelp lowest", "Silhouettes are highest on SST-2 and lowest on Yelp", TABLES, "printed",
        judge_order_of_silhouettes, {"": ("45ec18", "section IV-F")}, "results", "accuracy-beside-print"),
    Row("[−1,1] with C = 4 has the highest silhouette", "[−1,1] with four components has the highest silhouette on {}", TABLES, "printed",
        judge_highest_silhouette, {"sst2": ("9a2b7d", "section IV-F")}, "results", "accuracy-beside-print"),
    Row("[0,∞) with C = 4 has the highest AUC", "[0,inf) with four components has the highest AUC on {}", TABLES, "printed",
        judge_highest_auc,
        {"sst2": ("6cd4f3", "section IV-C1")}, "roc", "accuracy-beside-print"),
    Row("λ turns positive only in layer 2 of SST-2", "Under [−1,1] only lambdas of layer 2 on SST-2 become positive",
        TABLES, "printed", judge_positive_only_on_sst2, {"": ("b357e9", "sections IV-C2, IV-E2")}, "lambda", "lambda-grid"),
    Row("Time per batch grows with C", "The time per batch on {} grows with the number of components", TABLES, "printed", judge_time_grows,
        {"imdb": ("e8054c", "section IV-H2"), "sst2": ("72a96f", "section IV-H2"), "yelp_full": ("0fb3d8", "section IV-H2")}, "cost",
        "cost"),
)  # fmt: skip

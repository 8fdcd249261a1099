"""Conclusions of the NDT paper, tested on its own tables: which models lead, how pure classes and clusters are, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from sentviz.analysis.claim import Board, Finding, decide, settled
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, percent, signed
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.study import ACCURACY, DATASETS, TITLES, printed_name

BINARY, FINE_GRAINED = ("imdb", "sst2"), "yelp_full"  # the data sets that section IV-H2 compares; it does not name Twitter
MOST_CONFUSED = 25.0  # percent of rows in a wrong class that count as minimal confusion
WEAK = 0.25  # silhouette up to which Kaufman and Rousseeuw (1990) see no substantial clusters
CONFUSED = f"a best NDT with fewer than {MOST_CONFUSED:.0f} % of the rows in a wrong class counts as minimal confusion; the limit is ours"
CLUSTERED = f"a silhouette above {WEAK} counts as clusters: up to {WEAK} Kaufman and Rousseeuw (1990) see no substantial structure"
BOARD = Board(DATASETS, TITLES)
printed = partial(BOARD.claim, against="its own tables", kind="printed")
of_results = partial(printed, where=ACCURACY, section="results", figure="accuracy-beside-print")
of_grid = partial(printed, where=ACCURACY, section="results", figure="accuracy-grid")


def _on_each(*ids: str) -> dict[str, str]:
    """Return the ids of a claim by data set."""
    return dict(zip(DATASETS, ids, strict=True))


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


@of_results(_on_each("4b7e10", "a90c3d", "e2d561", "17f8b4"), "Every NDT variant is above vanilla and DT on {}",
    "Every NDT is above vanilla and DT", where="section V")  # fmt: skip
def judge_always_above(dataset: str) -> Finding:
    accuracies = _accuracies(dataset)
    ndt = _ndts(accuracies)
    above = {model: int((ndt > accuracies[model]).sum()) for model in ("vanilla", "diff")}
    counts = " and ".join(f"{count} of {len(ndt)} above {model} ({accuracies[model]:.2f})" for model, count in above.items())
    return settled(all(count == len(ndt) for count in above.values()), f"the table has {counts.replace('diff', 'DT')}")


def _leads(datasets: Iterable[str], baseline: str) -> dict[str, float]:
    """Return how far the best printed NDT is above a baseline, in points, by data set."""
    return {name: float(_ndts(_accuracies(name)).max() - _accuracies(name)[baseline]) for name in datasets}


@of_results(
    "60d2ce", "The best NDT leads by more on IMDb and SST-2 than on Yelp", "NDT's lead is largest on binary tasks", where="section IV-H2"
)
def judge_most_on_binary() -> Finding:
    larger, parts = [], []
    for baseline, name in (("diff", "DT"), ("vanilla", "vanilla")):
        leads = _leads(DATASETS, baseline)
        two, yelp = [leads[dataset] for dataset in BINARY], leads[FINE_GRAINED]
        larger.append(float(np.mean(two)) > yelp)
        named = ", ".join(f"{DATASETS[dataset]} {signed(leads[dataset])}" for dataset in (*BINARY, FINE_GRAINED))
        parts.append(f"over {name}: {named} points (binary on average {signed(float(np.mean(two)))})")
        parts[-1] += f"; ours, not the paper's: {DATASETS['twitter_financial']} {signed(leads['twitter_financial'])}"
    return settled(all(larger), "; ".join(parts))


@printed(_on_each("c5a3f2", "08be77", "f4196d", "93e0ab"), "The best NDT confuses classes minimally on {}",
    "The best NDT confuses few rows", where="section IV-G1", section="confusion", figure="confusion-panels", how=CONFUSED)  # fmt: skip
def judge_minimal_confusion(dataset: str) -> Finding:
    best = _best(dataset)
    wrong = 100 - float(_accuracies(dataset)[best])
    return settled(wrong < MOST_CONFUSED, f"{best} puts {percent(wrong / 100, 2)} of the rows into a wrong class")


@printed(_on_each("2fd98e", "b16c05", "76a4e3", "d8305f"), "The best NDT has compact and distinct clusters on {}",
    "The best NDT has compact clusters", where="section IV-G3", section="tsne", how=CLUSTERED)  # fmt: skip
def judge_compact_clusters(dataset: str) -> Finding:
    silhouettes, best = _values("silhouette", dataset, "silhouette"), _best(dataset)
    spread = f"all configurations {number(silhouettes.min(), 3)} to {number(silhouettes.max(), 3)}"
    return settled(silhouettes[best] > WEAK, f"the silhouette of {best} is {number(silhouettes[best], 3)}, {spread}")


@of_results({"yelp_full": "59c7d2"}, "Vanilla is above DT on {}", model="vanilla", baseline="diff")
@of_results({"imdb": "ab41f7", "sst2": "3e9d60", "twitter_financial": "c4b27a"}, "DT is above vanilla on {}",
    where={"imdb": "table I", "sst2": "table III", "twitter_financial": "table VII"}, model="diff", baseline="vanilla")  # fmt: skip
def judge_higher(dataset: str, *, model: str, baseline: str) -> Finding:
    accuracies = _accuracies(dataset)
    evidence = ", ".join(f"{name} {percent(accuracies[name] / 100, 2)}" for name in (model, baseline))
    return settled(accuracies[model] > accuracies[baseline], evidence)


@of_grid({"imdb": "87f1c9"}, "On {} two components are best under each range of lambda", "Two components are best under each range")
def judge_two_are_best(dataset: str) -> Finding:
    ndt = _ndts(_accuracies(dataset))
    best = [str(part.idxmax()) for _, part in ndt.groupby(ndt.index.str.rsplit("-", n=1).str[0], sort=False)]
    return settled(all(name.endswith("-2") for name in best), f"best of each constraint: {', '.join(best)}")


@of_grid({"twitter_financial": "1d6ea5"}, "The three best NDTs on {} have four components", "The three best have four components")
def judge_first_three_have_four(dataset: str) -> Finding:
    best = _ndts(_accuracies(dataset)).sort_values(ascending=False)
    first = [f"{name} {value:.2f}" for name, value in best[:4].items()]
    return settled(all(str(name).endswith("-4") for name in best.index[:3]), f"the first four are {', '.join(first)}")


@of_grid("f0837b", "The best NDT has lambdas in [0,1] on IMDb and SST-2", "[0,1] is best on binary tasks", where="section IV-H2")
def judge_unit_is_best() -> Finding:
    best = {name: _best(name) for name in BINARY}
    evidence = ", ".join(f"{DATASETS[name]} {model}" for name, model in best.items())
    return settled(all(model.startswith("ndt-unit-") for model in best.values()), evidence)


@of_results(
    "45ec18", "Silhouettes are highest on SST-2 and lowest on Yelp", "Silhouettes: SST-2 highest, Yelp lowest", where="section IV-F"
)
def judge_order_of_silhouettes() -> Finding:
    frame = printed_tables.table("silhouette").pivot(index="model", columns="dataset", values="silhouette").astype(float)
    highest, lowest = int((frame.idxmax(axis=1) == "sst2").sum()), int((frame.idxmin(axis=1) == "yelp").sum())
    evidence = f"highest on SST-2 in {highest}, lowest on Yelp in {lowest} of {len(frame)} configurations"
    return settled(highest == lowest == len(frame), evidence)


@of_results({"sst2": "9a2b7d"}, "[−1,1] with four components has the highest silhouette on {}",
    "[−1,1] with C = 4 has the highest silhouette", where="section IV-F")  # fmt: skip
def judge_highest_silhouette(dataset: str) -> Finding:
    first, second = _values("silhouette", dataset, "silhouette").sort_values(ascending=False).head(2).items()
    return settled(first[0] == "ndt-symmetric-4", f"the highest is {first[0]} with {first[1]:.3f}, then {second[0]} with {second[1]:.3f}")


@of_results(
    {"sst2": "6cd4f3"}, "[0,inf) with four components has the highest AUC on {}", "[0,∞) with C = 4 has the highest AUC", section="roc"
)
def judge_highest_auc(dataset: str) -> Finding:
    first, second = _values("classification", dataset, "auc").sort_values(ascending=False).head(2).items()
    return settled(first[0] == "ndt-nonneg-4", f"the highest is {first[0]} with {first[1]:.3f}, then {second[0]} with {second[1]:.3f}")


@printed("b357e9", "Under [−1,1] only lambdas of layer 2 on SST-2 become positive", "λ turns positive only in layer 2 of SST-2",
    where="sections IV-C2, IV-E2", section="lambda", figure="lambda-grid")  # fmt: skip
def judge_positive_only_on_sst2() -> Finding:
    frame = printed_tables.table("lambdas")
    frame = frame[frame["constraint"] == "[-1,1]"]
    there = (frame["dataset"] == "sst2") & (frame["layer"] == 2)
    positive = frame["lambda"] > 0
    inside, outside = int(positive[there].sum()), int(positive[~there].sum())
    evidence = f"positive: {inside} of {int(there.sum())} in layer 2 on SST-2, {outside} of {int((~there).sum())} elsewhere"
    return settled(inside > 0 and outside == 0, evidence)


@printed({"imdb": "e8054c", "sst2": "72a96f", "yelp_full": "0fb3d8"}, "The time per batch on {} grows with the number of components",
    "Time per batch grows with C", where="section IV-H2", section="cost", figure="cost")  # fmt: skip
def judge_time_grows(dataset: str) -> Finding:
    """Leave it open if times are equal."""
    frame = printed_tables.table("inference_ms_per_batch")
    rows = frame[(frame["dataset"] == printed_name(dataset)) & (frame["family"] == "ndt")].sort_values("components")
    values = rows["milliseconds"].astype(float).to_list()
    steps = np.diff(values)
    written = ", ".join(f"C = {size} {value:.2f} ms" for size, value in zip((2, 3, 4), values, strict=True))
    written += "; the times are rounded" if (steps == 0).any() else ""
    return Finding(decide(bool((steps > 0).all()), bool((steps < 0).any())), written)

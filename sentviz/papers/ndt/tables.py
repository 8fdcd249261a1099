"""The paper's tables with our numbers in them; every frame is numeric, so that it sorts and exports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent, signed
from sentviz.io.table import Column, Table
from sentviz.papers.ndt import latency, printed_tables
from sentviz.papers.ndt.answer import BASES, against
from sentviz.papers.ndt.averages import describe_averages, fits
from sentviz.papers.ndt.lambdas import lambda_frames
from sentviz.papers.ndt.study import (
    DATASETS,
    PRESETS,
    VOCABULARIES,
    beside,
    configurations,
    controlled_lambdas,
    parameters,
    printed_name,
    summary,
)
from sentviz.papers.studies.compare_configurations import SEEDS_IN_WORDS
from sentviz.papers.studies.items import Maker, PaperItem
from sentviz.papers.studies.means import combined
from sentviz.papers.studies.stored import Stored
from sentviz.papers.studies.tables import VERDICTS
from sentviz.runs.presets import CONSTRAINT_SIGNS
from sentviz.runs.store import Run

DEEP = 2  # layer, counted from 1, in which the paper says that lambda grows
UNBOUNDED = ("nonneg", "free")
SAMPLES = {"yelp_full": 489_999}  # printed training texts of data sets whose sample is another here
COLUMNS = {  # metrics of tables I, III, V, VII and IX -> title, and the difference (points for accuracy) that gets the full colour
    "accuracy": ("Accuracy", 3.0),
    "precision_weighted": ("Precision", 0.03),
    "f1_weighted": ("F1", 0.03),
    "auc": ("AUC", 0.03),
    "silhouette": ("Silhouette", 0.15),
}
LEAK = Stored(
    Path(__file__).parent / "measured" / "leak.csv",
    ("rows", "length", "stands", "share", "n", "model", "value", "low", "high", "seeds"),
    "The leak of the re-split is",
    "python -m experiments ndt leak",
    ("rows", "length", "stands", "model"),
)


def direction_in_words(frame: pd.DataFrame, title: str) -> str:
    """Return in which direction the lambdas of layer 2 move here, and where the paper's lie; "" if the paper reports none.

    Args:
        frame: model, layer (counted from 1), start, change, printed; one row per lambda, NaN where nothing is reported.
        title: the data set's.
    """
    rows = frame[frame["model"].str.startswith("ndt-") & (frame["layer"] == DEEP) & frame["printed"].notna()]
    free = rows[rows["model"].str.contains("|".join(UNBOUNDED))]
    if free.empty:
        return ""
    same = int((np.sign(rows["change"]) == np.sign(rows["printed"] - rows["start"])).sum())
    ours, theirs = float(free["change"].mean()), float((free["printed"] - free["start"]).mean())
    against = "opposite directions" if ours * theirs < 0 else "the same direction"
    return (
        f"Direction on {title}: under [0,∞) and (−∞,∞) training changes λ in layer {DEEP} by {signed(ours)} on average here, and the"
        f" paper's end values are {signed(theirs)} from our start values: {against}. Of all {len(rows)} λ of NDTs in layer {DEEP}, {same}"
        " move to the paper's side of the start."
    )


def _require_runs(runs: Sequence[Run], *datasets: str) -> None:
    """Raise InputError, with the command that trains them, if no run of the study is on one of these data sets."""
    if not any(configurations(runs, dataset) for dataset in datasets):
        titles = " or ".join(DATASETS[dataset] for dataset in datasets)
        raise InputError(f"No run on {titles} is installed: `sentviz study ndt --dataset {datasets[0]}` trains them.")


def results(runs: Sequence[Run], dataset: str, split: str = "test", measured: pd.DataFrame | None = None) -> Table:
    """Return table I, III, V or VII: model, seeds, n, and for each metric our value, its interval, the reported value and the difference.

    Args:
        measured: result of `summary` for this split; computed by default.
    """
    means = summary(runs, dataset, split) if measured is None else measured
    frame = None
    for metric in COLUMNS:
        compared = beside(means, dataset, metric, split)
        compared["difference"] = compared["value"] - compared["printed"]
        if frame is None:
            frame = compared[["model", "seeds", "n"]]
        names = {"value": metric, **{name: f"{metric}_{name}" for name in ("low", "high", "printed", "difference")}}
        frame = frame.join(compared[list(names)].rename(columns=names))
    assert frame is not None
    words = [
        f"{DATASETS[dataset]}, {split}: measured with 95 % intervals over test rows and, with several seeds, over seeds"
        + (", next to the reported values." if split == "test" else "; the paper reports no values for these rows."),
        other_sample(runs, dataset),
        describe_averages(fits(means, dataset)) if split == "test" else "",
        "vanilla-matched is ours: NDT's block with one map.",
    ]
    printed = bool(frame[[f"{metric}_printed" for metric in COLUMNS]].notna().any(axis=None))
    if printed:
        words.append(
            "★ is the best of a column. Δ is our value minus the reported value: green if ours is higher, purple if ours is lower, with"
            " the full colour at 3 points"
            " (silhouette: 0.15)."
        )
    columns = [Column("model"), Column("seeds", form="{:.0f}")]
    for metric, (title, full) in COLUMNS.items():
        percent = metric == "accuracy"
        digits = 2 if percent else 3
        interval = (f"{metric}_low", f"{metric}_high")
        label = f"{title}, %" if percent else title
        columns.append(Column(metric, label, f"{{:.{digits}f}}", interval, percent=percent, best=True, width=185))
        if printed:
            columns += [
                Column(f"{metric}_printed", f"{title}, paper", f"{{:.{digits}f}}", percent=percent, best=True, width=110),
                Column(f"{metric}_difference", f"{title}, Δ", f"{{:+.{digits}f}}", percent=percent, full_shade=full, width=110),
            ]
    return Table(f"results-{dataset}", f"Results on {DATASETS[dataset]}", frame, " ".join(filter(None, words)), columns)


def other_sample(runs: Sequence[Run], dataset: str) -> str:
    """Return a sentence if our sample of a data set is not the paper's; "" if it is, or if there is no run."""
    first_run = next((seeds[0] for seeds in configurations(runs, dataset).values()), None)
    if dataset not in SAMPLES or first_run is None:
        return ""
    ours = first_run.config["data"]["splits"]["train"]["n"]
    return f"We do not have the paper's sample. Our sample has {ours:,} training texts, the paper's {SAMPLES[dataset]:,}."


def lambdas(runs: Sequence[Run], dataset: str) -> tuple[pd.DataFrame, dict[str, str]]:
    """Tables II, IV, VI, VIII: model, layer, component, start, value, low, high, change, printed, difference, seeds.

    Layers and components count from 1, as in print; low and high are the least and largest of the seeds.
    """
    curves, marks = lambda_frames(runs, dataset)
    if curves.empty:
        raise InputError(f"No run on {DATASETS[dataset]} has lambdas: `sentviz study ndt --dataset {dataset}` trains them.")
    keys = ["model", "constraint", "components", "layer", "component"]
    ends = curves.sort_values("step").groupby(keys, as_index=False, sort=False).last()
    starts = (
        curves.sort_values("step").groupby(keys, as_index=False, sort=False).first()[[*keys, "value"]].rename(columns={"value": "start"})
    )
    marks = marks.rename(columns={"value": "printed"})
    frame = ends.merge(starts, on=keys).merge(marks, on=keys[1:], how="left")
    frame["difference"] = frame["value"] - frame["printed"]
    frame["order"] = frame["model"].map({model: i for i, model in enumerate(configurations(runs, dataset))})
    frame = frame.sort_values(["order", "layer", "component"], ignore_index=True)
    frame = frame.assign(layer=frame["layer"] + 1, component=frame["component"] + 1)
    columns = ["model", "layer", "component", "start", "value", "low", "high", "change", "printed", "difference", "seeds"]
    return frame[columns], {"data": DATASETS[dataset], "direction": direction_in_words(frame, DATASETS[dataset])}


def silhouettes(runs: Sequence[Run]) -> pd.DataFrame:
    """Return table IX: model, and for each data set our value, its interval and the reported value."""
    parts = []
    for dataset in DATASETS:
        compared = beside(_stored(list(configurations(runs, dataset).items()), "silhouette"), dataset, "silhouette")
        names = {"value": dataset, **{name: f"{dataset}_{name}" for name in ("low", "high", "printed")}}
        parts.append(compared.set_index("model")[list(names)].rename(columns=names))
    return pd.concat(parts, axis=1).reset_index()


def totals(runs: Sequence[Run], dataset: str = "all") -> Table:
    """Return table X: data, model, components, printed, value (millions), printed_added, added (to vanilla), vocabulary.

    Like the paper's table it has one row for all constraints of a number of components, because constraints do not change the number.
    """
    names = list(DATASETS) if dataset == "all" else [dataset]
    _require_runs(runs, *names)
    frames = {name: parameters(runs, name) for name in names}
    together = [frame.assign(data=DATASETS[name]) for name, frame in frames.items() if not frame.empty]
    frame = pd.concat(together, ignore_index=True)[
        ["data", "model", "components", "printed", "value", "printed_added", "added", "vocabulary"]
    ]
    frame["model"] = [
        f"NDT, C = {components}" if model.startswith("ndt-") else model
        for model, components in zip(frame["model"], frame["components"], strict=True)
    ]
    frame = frame.drop_duplicates(["data", "model"], ignore_index=True)
    words = (
        f"Parameters in millions. {about_vocabularies(frame)} NDT with two maps has as many as vanilla-matched: the reported gap to vanilla"
        " comes from the wider block."
    )
    columns = [Column("model"), Column("printed", "paper", "{:.2f}"), Column("value", "ours", "{:.2f}")]
    columns += [
        Column("printed_added", "added, paper", "{:+.2f}", help="Reported millions of parameters added to vanilla"),
        Column("added", "added, ours", "{:+.2f}", help="Our millions of parameters added to vanilla"),
        Column("vocabulary", "vocabulary", help="Number of words in our vocabulary"),
    ]
    return Table("parameters", "Parameters", frame, words, [Column("data", "data set"), *columns] if dataset == "all" else columns)


def about_vocabularies(frame: pd.DataFrame) -> str:
    """Explain why totals differ from the paper's: list our and the reported vocabulary sizes, for a frame like that of `totals`."""
    ours = dict(zip(frame["data"], frame["vocabulary"], strict=True))
    sizes = [f"{DATASETS[name]} {ours[DATASETS[name]]:,} ({size:,})" for name, size in VOCABULARIES.items() if DATASETS[name] in ours]
    return (
        "With the reported vocabulary sizes the configurations give every reported total. Our vocabularies in words (reported):"
        f" {', '.join(sizes) or 'no runs here'}."
    )


def milliseconds(runs: Sequence[Run], dataset: str = "all") -> Table:
    """Return table XI: dataset, model, milliseconds measured and printed, ratios to vanilla and to the control, the printed ratio."""
    frame = latency.MEASURED.require()
    if dataset != "all":
        frame = frame[frame["dataset"] == dataset]
        if frame.empty:
            command = f"{latency.MEASURED.command} {dataset}"
            raise InputError(f"The time per batch on {DATASETS[dataset]} is not measured: `{command}` measures it.")
    parts = []
    for name, rows in frame.groupby("dataset", sort=False):
        ratios = latency.printed_ratios(str(name)).rename(columns={name: f"printed_{name}" for name in ("value", "low", "high")})
        printed = rows["model"].map(latency.printed_milliseconds(str(name)))
        parts.append(rows.assign(printed_milliseconds=printed).merge(ratios, on="model", how="left"))
    together = pd.concat(parts, ignore_index=True)
    together["dataset"] = together["dataset"].map(DATASETS)
    names = ["dataset", "model", "milliseconds", "printed_milliseconds", "to_vanilla", "to_vanilla_low", "to_vanilla_high"]
    names += [
        "to_matched",
        "to_matched_low",
        "to_matched_high",
        "printed_value",
        "printed_low",
        "printed_high",
        "batches",
        "tokens",
        "rounds",
    ]
    batch, hardware, torch, note = (
        "; ".join(filter(None, dict.fromkeys(frame[name].astype(str)))) for name in ("batch", "hardware", "torch", "note")
    )
    words = (
        f"Milliseconds (processor time of one thread) per test batch of {batch} and ratios within one process, median over rounds"
        f" with 95 % intervals, on {hardware}, torch {torch}{'; ' + note if note else ''}. The paper's times look like whole seconds over"
        " the number of batches. Its intervals are what rounding to whole seconds allows. For Twitter the paper reports 0."
    )
    columns = [
        Column("model"),
        Column("milliseconds", form="{:.1f}"),
        Column("printed_milliseconds", "milliseconds, paper", "{:.2f}"),
        Column("to_vanilla", "times vanilla", "{:.2f}", ("to_vanilla_low", "to_vanilla_high")),
        Column("to_matched", "times vanilla-matched", "{:.2f}", ("to_matched_low", "to_matched_high")),
        Column("printed_value", "times vanilla, paper", "{:.2f}", ("printed_low", "printed_high")),
        *(Column(name, form="{:.0f}") for name in ("batches", "tokens", "rounds")),
    ]
    table_columns = [Column("dataset", "data set"), *columns] if dataset == "all" else columns
    return Table("milliseconds", "Milliseconds per test batch", together[names], words, table_columns)


def costs(dataset: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Parameters (millions) and time as a multiple of vanilla's, measured and printed: model, parameters, value, low, high."""
    frame = latency.MEASURED.read()
    on_dataset = frame[frame["dataset"] == dataset]
    names = {"to_vanilla": "value", "to_vanilla_low": "low", "to_vanilla_high": "high"}
    ours = on_dataset[["model", "parameters", *names]].rename(columns=names).assign(parameters=on_dataset["parameters"] / 1e6)
    table = printed_tables.table("parameters")
    table = table[table["dataset"] == printed_name(dataset)]
    millions = {
        row["family"] if row["family"] != "ndt" else f"ndt-unit-{row['components']}": float(row["parameters_millions"])
        for row in table.to_dict("records")
    }
    ratios = latency.printed_ratios(dataset)
    theirs = ratios.assign(parameters=[millions[model] for model in ratios["model"]])[["model", "parameters", "value", "low", "high"]]
    return ours.reset_index(drop=True), pd.DataFrame(theirs)


def grid(frame: pd.DataFrame) -> pd.DataFrame:
    """`beside`'s rows with constraint ("" of a baseline) and components, as the accuracy grid draws them."""
    shapes = [PRESETS[model].shape for model in frame["model"]]
    constraint = [CONSTRAINT_SIGNS.get(shape.get("mixing", ""), "") for shape in shapes]
    return frame.assign(constraint=constraint, components=[shape.get("components", 1) for shape in shapes])


def comparisons(runs: Sequence[Run], dataset: str, base: str, split: str = "test") -> Table:
    """Every configuration against one of `BASES`."""
    frame = against(runs, dataset, base, split)
    words = (
        f"Every configuration on {DATASETS[dataset]}, {split}, against {BASES[base]}: difference of mean accuracy on the same rows with a"
        f" 95 % interval, and p after Holm's correction over the {len(frame)} comparisons. {SEEDS_IN_WORDS}"
    )
    columns = (
        Column("model"),
        Column("verdict", words=VERDICTS),
        Column("difference", "difference, points", "{:+.2f}", ("low", "high"), percent=True),
        Column("adjusted", "p after Holm", "{:.2g}"),
        Column("p", form="{:.2g}"),
        Column("accuracy", "accuracy, %", "{:.2f}", percent=True),
        Column("seeds"),
        Column("base_seeds", "seeds of the other model"),
        Column("n"),
    )
    return Table(f"against-{base}-{dataset}", f"Against {BASES[base]} on {DATASETS[dataset]}", frame, words, columns)


def _stored(by_model: Sequence[tuple[str, Sequence[Run]]], metric: str) -> pd.DataFrame:
    """A metric whose interval needs no predictions, as `summary` has it."""

    rows = []
    for model, seeds in by_model:
        stored = [run.metrics()["test"].get(metric) for run in seeds]
        if all(stored):
            mean = combined([value for value in stored if value])
            rows.append({"model": model, "metric": metric} | mean | {"n": stored[0].get("n"), "seeds": len(seeds)})
    return pd.DataFrame(rows, columns=["model", "metric", "value", "low", "high", "n", "seeds"])


def leaked() -> tuple[pd.DataFrame, dict[str, str]]:
    """Return accuracies on SST-2's test phrases inside and outside training phrases, as `experiments.ndt.leak.measured` returned them."""
    frame = LEAK.require()
    shares = []
    for length, rows in frame[(frame["rows"] == "the re-split") & (frame["stands"] == "inside")].groupby("length", sort=True):
        inside = f"{percent(rows['share'].iloc[0], 0)} ({int(rows['n'].iloc[0]):,})"
        what = "Of the re-split's test phrases" if length == "any" else f"of the phrases of {length},"
        shares.append(f"{what} {inside} are inside")
    return frame, {"shares": "; ".join(shares[::-1])}


def measured_results(runs: Sequence[Run], dataset: str) -> Table:
    """Return `results` of a data set that has runs."""
    _require_runs(runs, dataset)
    return results(runs, dataset)


def measured_silhouettes(runs: Sequence[Run]) -> pd.DataFrame:
    """Return `silhouettes` if there are runs."""
    _require_runs(runs, *DATASETS)
    return silhouettes(runs)


def _comparisons(runs: Sequence[Run]) -> list[PaperItem]:
    """Return the comparisons with every baseline on every data set; tables without rows are left out."""
    pairs = [(dataset, base) for dataset in DATASETS for base in BASES if base in configurations(runs, dataset)]
    return [table for dataset, base in pairs if len((table := comparisons(runs, dataset, base)).frame)]


def beaten_in_words(table: Table, base: str) -> str:
    """Return how many configurations beat a baseline, from the table of `comparisons`."""
    verdicts, is_ndt = table.frame["verdict"], table.frame["model"].str.startswith("ndt-")
    counts = " · ".join(f"{(verdicts == word).sum()} {text}" for word, text in VERDICTS.items())
    beaten = f"{(verdicts[is_ndt] == 'better').sum()} of {is_ndt.sum()} NDT configurations beat {BASES[base]}"
    return f"**{beaten}** after Holm's correction; of all {len(verdicts)}: {counts}"


def averages(runs: Sequence[Run], dataset: str, measured: pd.DataFrame) -> Table:
    """Return every average of the result of `summary`, with a column for each metric."""
    wide = measured.pivot(index="model", columns="metric", values="value").reindex(list(configurations(runs, dataset)))
    words = "Precision, recall and F1 as macro and weighted means and, for two classes, of the positive class; loss in nats."
    return Table(f"averages-{dataset}", "Every average", wide.rename_axis(columns=None).reset_index(), words)


def controls(runs: Sequence[Run], dataset: str) -> pd.DataFrame:
    """Return every lambda of the runs that were trained with other starts, rates and decays; layers and components count from 1."""
    frame = controlled_lambdas(runs, dataset)
    return frame.assign(layer=frame["layer"] + 1, component=frame["component"] + 1, variant=frame["variant"].replace("", "as it is"))


MAKERS: dict[str, Maker] = {"comparisons": _comparisons}

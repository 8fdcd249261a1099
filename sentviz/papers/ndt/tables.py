"""The paper's tables with our numbers in them; every frame is numeric, so that it sorts and exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.papers.ndt import latency, leak, prints
from sentviz.papers.ndt.answer import BASES, against
from sentviz.papers.ndt.averages import fits, said
from sentviz.papers.ndt.presets import PRESETS
from sentviz.papers.ndt.study import DATASETS, VOCABULARIES, beside, configurations, parameters, printed_name, summary
from sentviz.papers.studies.against import SEEDS_IN_WORDS
from sentviz.papers.studies.made import Table
from sentviz.runs.presets import CONSTRAINT_SIGNS
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

SAMPLES = {"yelp_full": 489_999}  # printed training texts of data sets whose sample is another here
COLUMNS = ("accuracy", "precision_weighted", "f1_weighted", "auc", "silhouette")  # what tables I, III, V, VII and IX print


def results(runs: Sequence[Run], dataset: str, split: str = "test", measured: pd.DataFrame | None = None) -> Table:
    """Tables I, III, V, VII: model, seeds, n, and of each printed column ours, its interval, the print and the difference.

    Args:
        measured: what `summary` returned for this split, if it is at hand.
    """
    found = summary(runs, dataset, split) if measured is None else measured
    frame = None
    for metric in COLUMNS:
        one = beside(found, dataset, metric, split)
        one["difference"] = one["value"] - one["printed"]
        if frame is None:
            frame = one[["model", "seeds", "n"]]
        names = {"value": metric, **{name: f"{metric}_{name}" for name in ("low", "high", "printed", "difference")}}
        frame = frame.join(one[list(names)].rename(columns=names))
    assert frame is not None
    words = [
        f"{DATASETS[dataset]}, {split}: measured with 95% intervals over test rows and, with several seeds, over seeds"
        + (", beside the print." if split == "test" else "; the paper prints nothing of these rows."),
        other_sample(runs, dataset),
        said(fits(found, dataset)) if split == "test" else "",
        "vanilla-matched is ours: NDT's block with one map.",
    ]
    return Table(f"results-{dataset}", f"Results on {DATASETS[dataset]}", frame, " ".join(filter(None, words)))


def other_sample(runs: Sequence[Run], dataset: str) -> str:
    """That ours is not the paper's sample of a data set, where it is not."""
    here = next((seeds[0] for seeds in configurations(runs, dataset).values()), None)
    if dataset not in SAMPLES or here is None:
        return ""
    ours = here.config["data"]["splits"]["train"]["n"]
    return f"Another sample than the paper's, which cannot be had: {ours:,} training texts, not {SAMPLES[dataset]:,}."


def lambdas(runs: Sequence[Run], dataset: str, frames: tuple[pd.DataFrame, pd.DataFrame] | None = None) -> Table:
    """Tables II, IV, VI, VIII: model, layer, component, start, value, low, high, change, printed, difference, seeds.

    Layers and components count from 1, as in print; low and high are the least and largest of the seeds.

    Args:
        frames: as `lambda_frames` returns them of these runs, where they are at hand.
    """
    from sentviz.papers.ndt.panels import lambda_frames

    curves, marks = frames or lambda_frames(runs, dataset)
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
    words = (
        f"λ at the end of training on {DATASETS[dataset]}, mean over seeds with their least and largest (the stored weights are of the"
        " best validation step, which may be earlier); the start is put in by the initialisation and change is what training made of it."
        " Of DT, −λ."
    )
    return Table(f"lambdas-{dataset}", f"Learned λ on {DATASETS[dataset]}", frame[columns], words)


def silhouettes(runs: Sequence[Run]) -> Table:
    """Table IX: model, and of each data set ours, its interval and the print."""
    import pandas as pd

    frame = None
    for dataset in DATASETS:
        here = [(model, seeds) for model, seeds in configurations(runs, dataset).items()]
        one = beside(_stored(here, "silhouette"), dataset, "silhouette")
        names = {"value": dataset, **{name: f"{dataset}_{name}" for name in ("low", "high", "printed")}}
        part = one.set_index("model")[list(names)].rename(columns=names)
        frame = part if frame is None else frame.join(part)
    assert isinstance(frame, pd.DataFrame)
    words = (
        "Silhouette (euclidean) of the pooled vectors of up to 2,000 test rows, sample seed 0, with 95% intervals over rows and, with"
        " several seeds, over seeds. The paper states neither rows nor distance."
    )
    return Table("silhouettes", "Silhouette scores", frame.reset_index(), words)


def totals(runs: Sequence[Run]) -> Table:
    """Table X: data, model, components, printed, value (millions), vocabulary."""
    import pandas as pd

    frames = [parameters(runs, dataset) for dataset in DATASETS]
    together = [frame.assign(data=DATASETS[dataset]) for dataset, frame in zip(DATASETS, frames, strict=True) if not frame.empty]
    columns = ["data", "model", "components", "printed", "value", "vocabulary"]
    frame = pd.concat(together, ignore_index=True)[columns] if together else pd.DataFrame(columns=columns)
    words = (
        f"Parameters in millions. {about_vocabularies(frame)} vanilla-matched has as many as NDT with two maps: the printed gap to vanilla"
        " is the wider block."
    )
    return Table("parameters", "Parameters", frame, words)


def about_vocabularies(frame: pd.DataFrame) -> str:
    """Why totals differ from the print: the words of each vocabulary, ours and printed; of a frame like that of `totals`."""
    ours = dict(zip(frame["data"], frame["vocabulary"], strict=True))
    sizes = [f"{DATASETS[name]} {ours[DATASETS[name]]:,} ({size:,})" for name, size in VOCABULARIES.items() if DATASETS[name] in ours]
    return (
        "At the printed vocabulary sizes the configurations meet every printed total; ours are of the texts at hand, in words (printed):"
        f" {', '.join(sizes) or 'no runs here'}."
    )


def milliseconds() -> Table:
    """Table XI: data, model, ours in milliseconds and as ratios with intervals, the print in milliseconds and as a ratio."""
    import pandas as pd

    frame = latency.measured()
    parts = []
    for dataset, rows in frame.groupby("dataset", sort=False):
        ratios = latency.printed_ratios(str(dataset)).rename(columns={name: f"printed_{name}" for name in ("value", "low", "high")})
        parts.append(rows.merge(ratios, on="model", how="left"))
    together = pd.concat(parts, ignore_index=True)
    together["dataset"] = together["dataset"].map(DATASETS)
    kept = ["dataset", "model", "milliseconds", "to_vanilla", "to_vanilla_low", "to_vanilla_high", "to_matched", "to_matched_low"]
    kept += ["to_matched_high", "printed_value", "printed_low", "printed_high", "batches", "tokens", "rounds"]
    batch, hardware, torch, note = (
        "; ".join(filter(None, dict.fromkeys(frame[name].astype(str)))) for name in ("batch", "hardware", "torch", "note")
    )
    words = (
        f"Milliseconds (processor time of one thread) per test batch of {batch} and ratios within one process, median over rounds"
        f" with 95% intervals, on {hardware}, torch {torch}{'; ' + note if note else ''}. The print looks like whole seconds over the"
        " number of batches: taken as rounded, its interval is what half a second either way allows; of Twitter it prints 0."
    )
    return Table("milliseconds", "Milliseconds per test batch", together[kept], words)


def costs(dataset: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Parameters (millions) and time as a multiple of vanilla's, measured and printed: model, parameters, value, low, high."""
    import pandas as pd

    frame = latency.measured()
    here = frame[frame["dataset"] == dataset]
    names = {"to_vanilla": "value", "to_vanilla_low": "low", "to_vanilla_high": "high"}
    ours = here[["model", "parameters", *names]].rename(columns=names).assign(parameters=here["parameters"] / 1e6)
    table = prints.table("parameters")
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
        f" 95% interval, and p after Holm's correction over the {len(frame)} comparisons. {SEEDS_IN_WORDS}"
    )
    return Table(f"against-{base}-{dataset}", f"Against {BASES[base]} on {DATASETS[dataset]}", frame, words)


def _stored(here: Sequence[tuple[str, Sequence[Run]]], metric: str) -> pd.DataFrame:
    """A metric whose interval needs no predictions, as `summary` has it."""
    import pandas as pd

    from sentviz.papers.studies.means import combined

    rows = []
    for model, seeds in here:
        stored = [run.metrics()["test"].get(metric) for run in seeds]
        if all(stored):
            one = combined([value for value in stored if value])
            rows.append({"model": model, "metric": metric} | one | {"n": stored[0].get("n"), "seeds": len(seeds)})
    return pd.DataFrame(rows, columns=["model", "metric", "value", "low", "high", "n", "seeds"])


def leaked() -> Table:
    """Accuracies on SST-2's test phrases inside and outside training phrases, as `leak.measured` stored them."""
    frame = leak.table()
    words = "The re-split deals phrases of one sentence to training and test: a test phrase is inside where it stands, word by word, in a"
    words += " training phrase. Official test sentences are of other reviews. Means over seeds, 95% intervals for other rows and seeds."
    told = [
        f"of those of {length}, {rows['share'].iloc[0]:.0%} ({int(rows['n'].iloc[0]):,}) are inside"
        if length != "any"
        else f"Of the re-split's test phrases {rows['share'].iloc[0]:.0%} ({int(rows['n'].iloc[0]):,}) are inside"
        for length, rows in frame[(frame["rows"] == "the re-split") & (frame["stands"] == "inside")].groupby("length", sort=True)
    ]
    return Table(
        "leak-sst2", "What the re-split of SST-2 leaks", frame, " ".join([words, "; ".join(told[::-1]) + "." if told else ""]).strip()
    )

"""The tables of Sentiment-Fused Attention with our numbers in them; every frame is numeric, so that it sorts and exports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sentviz.analysis.evaluation import not_learned_sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.table import Column, Table
from sentviz.papers.fused import coverage
from sentviz.papers.fused import study as fused
from sentviz.papers.fused.study import DATASETS, ENCODER_TITLES, ENCODERS, SCRATCH, SETTINGS, TASKS, configurations
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.stored import Stored
from sentviz.runs.store import Run

NEGATIVE = Stored(
    Path(__file__).parent / "measured" / "negative.csv",
    ("run", "dataset", "layer", "pairs", "alike", "negative", "negative_alike", "texts"),
    "The share of negative scores is",
    "python -m experiments fused negative",
    ("run", "dataset"),
)


def accuracies(runs: Sequence[Run]) -> Table:
    """Return table 1: setting, the printed accuracy by encoder, and for each data set ours with interval, n and seeds."""
    frame = fused.printed_accuracies().pivot(index="model", columns="encoder", values="value").loc[list(SETTINGS), list(ENCODERS)]
    frame = frame.rename_axis(columns=None)
    ours = [(dataset, encoder) for dataset in DATASETS for encoder in fused.encoders(runs, dataset)]
    based = any(encoder != SCRATCH for _, encoder in ours)
    for dataset, encoder in ours:
        measured = compare_configurations.summary(configurations(runs, dataset, encoder))
        part = measured[measured["metric"] == "accuracy"].set_index("model").reindex(frame.index)
        key = _column(dataset, encoder)
        names = {"value": key, **{name: f"{key}_{name}" for name in ("low", "high", "n", "seeds")}}
        frame = frame.join(part[list(names)].rename(columns=names).astype(float))
    words = (
        f"Accuracy that the paper reports for five pretrained encoders on NSMC, and our accuracy: {_our_encoders(based)}, on NSMC"
        " with KNU and on SST-2 with VADER, 95 % intervals over test rows and, with several seeds, over seeds. The labels of the paper's"
        " rows are damaged in our copy. “setting” names the rows by the reported means of table 2; “by the labels” names the paper's"
        " numbers by what is left of the labels, which section 5.1 agrees with. ★ is the best of a column."
    )
    columns = [
        Column("setting"),
        Column("labels", "by the labels"),
        *(Column(name, form="{:.2f}", percent=True, best=True) for name in ENCODERS),
    ]
    for dataset, encoder in ours:
        key = _column(dataset, encoder)
        title = ", ".join([ENCODER_TITLES[encoder] if based else "ours", DATASETS[dataset]])
        columns.append(Column(key, title, "{:.2f}", (f"{key}_low", f"{key}_high"), percent=True, best=True, width=180))
        columns.append(Column(f"{key}_seeds", f"seeds, {title if based else DATASETS[dataset]}", "{:.0f}"))
    named = _titled(frame.reset_index())
    named.insert(1, "labels", [SETTINGS[fused.BY_LABELS.get(model, model)] for model in frame.index])
    return Table("accuracy", "Accuracy with and without the lexicon", named, words, columns)


def _column(dataset: str, encoder: str) -> str:
    """Return the name of the column of an encoder's accuracy on a data set."""
    return dataset if encoder == SCRATCH else f"{dataset}_{encoder}"


def _our_encoders(based: bool) -> str:
    """Return our encoders in words."""
    small = "one small encoder trained from scratch"
    return f"a pretrained encoder with an adapter and {small}" if based else small


def comparisons(runs: Sequence[Run]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return every setting against the baseline: data, setting, kind, accuracy, difference, low, high, p, adjusted, verdict, spread,
    seeds, n; if runs on a base are installed, also encoder. And the words for what p is corrected over.
    """
    ours = [(dataset, encoder) for dataset in DATASETS for encoder in fused.encoders(runs, dataset)]
    encoder_names = ["encoder"] if any(encoder != SCRATCH for _, encoder in ours) else []
    parts = [
        fused.gains(runs, dataset, encoder).assign(data=DATASETS[dataset], encoder=ENCODER_TITLES[encoder]) for dataset, encoder in ours
    ]
    columns = ["data", *encoder_names, "model", "kind", "accuracy", "difference", "low", "high", "p", "adjusted", "verdict", "spread"]
    frame = _joined(parts)[[*columns, "seeds", "base_seeds", "n"]]
    if frame.empty:
        raise InputError(
            "No baseline and injected run of the same data set are installed. `sentviz study fused --dataset nsmc` trains them."
        )
    return _titled(frame), {"scope": " and an encoder" if encoder_names else ""}


def statistics(runs: Sequence[Run]) -> pd.DataFrame:
    """Return table 2: setting, mean, deviation and variance recomputed from table 1, what is printed, and ours over our encoders."""
    return _titled(fused.statistics().merge(fused.statistics_here(runs), on="model", how="left"))


def published() -> pd.DataFrame:
    """Return each baseline of tables 1 and 3 beside the number that was published before: task, encoder, baseline, published, source."""
    frame = fused.published()
    frame["equal"] = frame["equal"].map({True: "yes", False: "no"}).where(frame["published"].notna(), "")
    return frame


def tasks(runs: Sequence[Run]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return table 3: task, the printed gain by encoder, and ours with baseline, interval, p, seeds and n; and which runs did not learn."""
    printed = fused.printed_tasks().pivot(index="task", columns="encoder", values="value")[list(ENCODERS)]
    rows = pd.DataFrame({"task": [task.title for task in TASKS], "printed": [task.printed for task in TASKS]})
    frame = rows.join(printed, on="printed").drop(columns="printed")
    ours = fused.task_encoders(runs)
    results = {ENCODER_TITLES[encoder]: fused.out_of_domain(runs, encoder).drop(columns=["dataset", "split"]) for encoder in ours}
    numbers = [name for name in next(iter(results.values())).columns if name not in ("task", "verdict", "test")]
    parts = {title: frame.merge(part, on="task", how="left").astype(dict.fromkeys(numbers, float)) for title, part in results.items()}
    for title in parts if len(ours) > 1 else ():
        parts[title].insert(1, "encoder", title)
    by_setting = [configurations(runs, task.dataset, encoder) for task in TASKS for encoder in ours]
    not_learned = not_learned_sentence(run for settings in by_setting for seeds in settings.values() for run in seeds)
    return pd.concat(parts.values(), ignore_index=True), {"not_learned": not_learned}


def covered() -> pd.DataFrame:
    """Return figure 4 in numbers: data set, lexicon, neutral, tokens, texts, tokenizer, vocabulary, known, frequent."""
    frame = coverage.MEASURED.require()
    titled = frame.assign(dataset=frame["dataset"].map(coverage.TITLES), lexicon=frame["lexicon"].map(coverage.LEXICON_TITLES))
    return titled.drop(columns="recipe")


def negatives() -> pd.DataFrame:
    """Return the share of negative scores of each measured baseline, the mean over its layers: run, alike, all, least, most, texts."""
    by_run = NEGATIVE.require().groupby("run", sort=False)
    numbers = by_run.agg(
        alike=("negative_alike", "mean"),
        least=("negative_alike", "min"),
        most=("negative_alike", "max"),
        every=("negative", "mean"),
        texts=("texts", "max"),
    )
    return numbers.reset_index()


def tokenizers() -> pd.DataFrame:
    """Return figure 4 with one tokenizer for all tasks: task, and the neutral share with each tokenizer."""
    frame = coverage.WITH_TOKENIZERS.require()
    wide = frame.pivot(index="dataset", columns="tokenizer", values="neutral").loc[list(coverage.PAPER), list(coverage.TOKENIZERS)]
    return wide.rename_axis(columns=None).rename(index=coverage.TITLES).reset_index()


def gain_rows(runs: Sequence[Run], dataset: str) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return measured and printed gains as `sentviz.charts.gains.gain_dots` takes them, and the rows from top to bottom.

    If the data set has several encoders, each has its own rows; the printed gains stand in the rows of the first, in both readings of
    table 1.
    """
    printed, ours = (
        _joined([fused.printed_gains(reading).assign(reading=reading) for reading in fused.READINGS]),
        fused.encoders(runs, dataset),
    )
    printed = printed[(printed["reading"] == "means") | printed["model"].isin(fused.BY_LABELS)].replace({"reading": fused.READINGS})
    settings = [model for model in SETTINGS if model != fused.BASE]
    names = {encoder: {model: _row(SETTINGS[model], encoder, ours) for model in settings} for encoder in ours}
    measured = _joined([frame.assign(row=frame["model"].map(names[each])) for each in ours for frame in [fused.gains(runs, dataset, each)]])
    return measured, printed.assign(row=printed["model"].map(names[ours[0]])), [row for of in names.values() for row in of.values()]


def task_rows(runs: Sequence[Run]) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return measured and printed gains on the out-of-domain tasks, and their rows, as `gain_rows` does."""
    printed, ours = fused.printed_tasks(), fused.task_encoders(runs)
    names = {task.printed: _row(task.title, ours[0], ours) for task in TASKS}
    parts = [
        frame.assign(row=[_row(title, each, ours) for title in frame["task"]], kind=frame["test"].map(fused.KINDS))
        for each in ours
        for frame in [fused.out_of_domain(runs, each)]
    ]
    rows = [_row(task.title, each, ours) for each in ours for task in TASKS]
    return _joined(parts), printed.assign(row=printed["task"].map(names)), rows


def _row(title: str, encoder: str, ours: Sequence[str]) -> str:
    """Return the name of a row: with the encoder, if there are several."""
    return title if len(ours) == 1 else f"{'scratch' if encoder == SCRATCH else encoder}: {title}"


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of all frames; empty frames are left out, because they have no types."""
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def _names(frame: pd.DataFrame) -> pd.Series[str]:
    return frame["model"].map(SETTINGS)


def _titled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with titles of settings in place of presets."""
    return frame.assign(setting=_names)[["setting" if name == "model" else name for name in frame.columns]]

"""The tables of Sentiment-Fused Attention with our numbers in them; every frame is numeric, so that it sorts and exports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sentviz.analysis.evaluation import not_learned_sentence
from sentviz.charts.figure import sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.table import Column, Table
from sentviz.papers.fused import coverage
from sentviz.papers.fused import study as fused
from sentviz.papers.fused.study import DATASETS, ENCODER_TITLES, ENCODERS, SCRATCH, SETTINGS, TASKS, configurations
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.compare_configurations import SEEDS_IN_WORDS
from sentviz.papers.studies.items import VERDICTS, TableMaker, of_all
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


def comparisons(runs: Sequence[Run]) -> Table:
    """Return every setting against the baseline: data, setting, kind, accuracy, difference, low, high, p, adjusted, verdict, spread,
    seeds, n; if runs on a base are installed, also encoder.
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
    words = (
        f"Difference of accuracy to the baseline on the same test rows. {SEEDS_IN_WORDS} p after Holm is over the settings of a data set"
        f"{' and an encoder' if encoder_names else ''};"
        " deviation over seeds is the standard deviation of the setting's accuracy, in points."
    )
    written = (
        Column("data", "data set"),
        *map(Column, encoder_names),
        Column("setting"),
        Column("kind", "comparison"),
        Column("verdict", words=VERDICTS),
        Column("difference", "gain, points", "{:+.2f}", ("low", "high"), percent=True),
        Column("p", form="{:.2g}"),
        Column("adjusted", "p after Holm", "{:.2g}"),
        Column("accuracy", "accuracy, %", "{:.2f}", percent=True),
        Column(
            "spread",
            "deviation over seeds",
            "{:.2f}",
            percent=True,
            help="Standard deviation of the setting's accuracy over its seeds, points",
        ),
        Column("seeds"),
        Column("n"),
    )
    return Table("gains", "Every setting against the baseline", _titled(frame), words, written)


def statistics(runs: Sequence[Run]) -> Table:
    """Return table 2: setting, mean, deviation and variance recomputed from table 1, what is printed, and ours over our encoders."""
    words = (
        "Gains in points over five encoders, computed from table 1 and compared with table 2. The reported σ is the variance and the"
        " reported σ² is the sample standard deviation (divisor n − 1): the two columns are swapped. Ours are our gains on NSMC over our"
        " encoders."
    )
    titles = {
        "mean": "mean",
        "printed_mean": "mean, paper",
        "deviation": "standard deviation",
        "printed_sigma": "σ, paper",
        "variance": "variance",
        "printed_sigma_squared": "σ², paper",
        "ours": "mean, ours",
        "ours_deviation": "standard deviation, ours",
    }
    columns = (Column("setting"), *(Column(name, title) for name, title in titles.items()), Column("encoders", "encoders, ours", "{:.0f}"))
    frame = fused.statistics().merge(fused.statistics_here(runs), on="model", how="left")
    return Table("gain-statistics", "Mean and spread of the gains", _titled(frame), words, columns)


def published() -> Table:
    """Return each baseline of tables 1 and 3 beside the number that was published before: task, encoder, baseline, published, source."""
    frame = fused.published()
    frame["equal"] = frame["equal"].map({True: "yes", False: "no"}).where(frame["published"].notna(), "")
    words = (
        "Baselines of tables 1 and 3, and the nearest number that was published before for the same encoder and task, in the repository"
        " named as its source on GitHub. Numbers for hate speech were published as F1, and are accuracies in the paper's table."
    )
    columns = (
        Column("task"),
        Column("encoder"),
        Column("baseline", "baseline, paper", "{:.2f}", percent=True),
        Column("published", "published before", "{:.2f}", percent=True),
        Column("metric"),
        Column("equal"),
        Column("model", "as"),
        Column("source"),
    )
    return Table("published", "Where the baselines were published before", frame, words, columns)


def tasks(runs: Sequence[Run]) -> Table:
    """Return table 3: task, the printed gain by encoder, and ours with baseline, interval, p, seeds and n."""
    printed = fused.printed_tasks().pivot(index="task", columns="encoder", values="value")[list(ENCODERS)]
    rows = pd.DataFrame({"task": [task.title for task in TASKS], "printed": [task.printed for task in TASKS]})
    frame = rows.join(printed, on="printed").drop(columns="printed")
    ours = fused.task_encoders(runs)
    encoder_names = ["encoder"] if len(ours) > 1 else []
    results = {ENCODER_TITLES[encoder]: fused.out_of_domain(runs, encoder).drop(columns=["dataset", "split"]) for encoder in ours}
    words = (
        "Reported gains of the last head ÷ √d over the baseline, and our gains on the same test rows with 95 % intervals and p after Holm"
        " over the tasks. Our runs for KorNLI are trained on KLUE-NLI, which has other pairs; we have no training pairs of PAWS."
        " `sentviz study fused-ood --dataset korean_hate_speech` trains the pair of runs of one task."
    )
    numbers = [name for name in next(iter(results.values())).columns if name not in ("task", "verdict", "test")]
    parts = {title: frame.merge(part, on="task", how="left").astype(dict.fromkeys(numbers, float)) for title, part in results.items()}
    for title in parts if encoder_names else ():
        parts[title].insert(1, "encoder", title)
    frame = pd.concat(parts.values(), ignore_index=True)
    by_setting = [configurations(runs, task.dataset, encoder) for task in TASKS for encoder in ours]
    words = sentence([words, not_learned_sentence(run for settings in by_setting for seeds in settings.values() for run in seeds)])
    columns = (
        Column("task"),
        *map(Column, encoder_names),
        Column("verdict", words=VERDICTS),
        Column("difference", "gain, points", "{:+.2f}", ("low", "high"), percent=True),
        Column("adjusted", "p after Holm", "{:.2g}"),
        Column("baseline", "baseline, %", "{:.2f}", percent=True),
        Column("injected", "with lexicon, %", "{:.2f}", percent=True),
        *(Column(name, form="{:,.0f}") for name in ("seeds", "n")),
        *(Column(name, f"{name}, paper", "{:+.2f}", percent=True) for name in ENCODERS),
    )
    return Table("out-of-domain", "Out-of-domain tasks", frame, words, columns)


def covered() -> Table:
    """Return figure 4 in numbers: data set, lexicon, neutral, tokens, texts, tokenizer, vocabulary, known, frequent."""
    frame = coverage.MEASURED.require()
    frame = frame.assign(dataset=frame["dataset"].map(coverage.TITLES), lexicon=frame["lexicon"].map(coverage.LEXICON_TITLES))
    words = (
        "Share of the tokens of a test split that no lexicon entry contains. The CSV also has the share of the vocabulary that an entry"
        " contains. The most frequent tokens that are not neutral are often punctuation marks and particles that occur in some entry."
        " Special and unknown tokens are left out."
    )
    columns = (
        Column("dataset", "data set"),
        Column("lexicon"),
        Column("neutral", "neutral, %", "{:.1f}", percent=True),
        Column("tokens"),
        Column("frequent", "most frequent tokens that are not neutral"),
    )
    return Table("coverage", "Tokens that stay neutral", frame.drop(columns="recipe"), words, columns)


def negatives() -> Table:
    """Return the share of negative scores of each measured baseline, the mean over its layers: run, alike, all, least, most, texts."""
    by = NEGATIVE.require().groupby("run", sort=False)
    frame = by.agg(
        alike=("negative_alike", "mean"),
        least=("negative_alike", "min"),
        most=("negative_alike", "max"),
        every=("negative", "mean"),
        texts=("texts", "max"),
    ).reset_index()
    words = (
        "Share of negative scores before softmax, over all heads and layers of baselines, which have no injection. Words are alike if"
        " their similarity σ is above 1/3, that of neutral tokens."
    )
    columns = (
        Column("run"),
        Column("alike", "between alike words, %", "{:.1f}", percent=True),
        Column("least", "least of a layer, %", "{:.1f}", percent=True),
        Column("most", "most of a layer, %", "{:.1f}", percent=True),
        Column("every", "between all words, %", "{:.1f}", percent=True),
        Column("texts"),
    )
    return Table("negative-scores", "Negative scores of baselines", frame, words, columns)


def tokenizers() -> Table:
    """Return figure 4 with one tokenizer for all tasks: task, and the neutral share with each tokenizer."""
    frame = coverage.WITH_TOKENIZERS.require()
    wide = frame.pivot(index="dataset", columns="tokenizer", values="neutral").loc[list(coverage.PAPER), list(coverage.TOKENIZERS)]
    wide = wide.rename_axis(columns=None).rename(index=coverage.TITLES).reset_index()
    words = (
        "Share of the tokens of a test split that no entry of KNU contains, with one tokenizer for all tasks. The tokenizers are those of"
        " our encoders; the paper has those of its five."
    )
    columns = [
        Column("dataset", "data set"),
        *(
            Column(name, title.partition(",")[0], "{:.1f}", percent=True, help=f"Tokenizer: {title}")
            for name, title in coverage.TOKENIZERS.items()
        ),
    ]
    return Table("tokenizers", "Tokens that stay neutral, by tokenizer", wide, words, columns)


TABLES: dict[str, TableMaker] = {
    "accuracy": of_all(accuracies),
    "comparisons": of_all(comparisons),
    "statistics": of_all(statistics),
    "published": lambda runs, dataset: published(),
    "tasks": of_all(tasks),
    "coverage": lambda runs, dataset: covered(),
    "negative": lambda runs, dataset: negatives(),
    "tokenizers": lambda runs, dataset: tokenizers(),
}


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

"""The tables of Sentiment-Fused Attention with our numbers in them; every frame is numeric, so that it sorts and exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.errors import InputError
from sentviz.papers.fused import coverage
from sentviz.papers.fused import study as fused
from sentviz.papers.fused.study import DATASETS, ENCODERS, SETTINGS, TASKS, configurations
from sentviz.papers.studies import collected
from sentviz.papers.studies.against import SEEDS_IN_WORDS
from sentviz.papers.studies.item_types import VERDICTS, Column, Table, TableMaker, of_all
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd


def accuracies(runs: Sequence[Run]) -> Table:
    """Return table 1: setting, the printed accuracy by encoder, and for each data set ours with interval, n and seeds."""
    frame = fused.printed_accuracies().pivot(index="model", columns="encoder", values="value").loc[list(SETTINGS), list(ENCODERS)]
    frame = frame.rename_axis(columns=None)
    for dataset in DATASETS:
        measured = collected.summary(configurations(runs, dataset))
        part = measured[measured["metric"] == "accuracy"].set_index("model").reindex(frame.index)
        names = {"value": dataset, **{name: f"{dataset}_{name}" for name in ("low", "high", "n", "seeds")}}
        frame = frame.join(part[list(names)].rename(columns=names).astype(float))
    words = (
        "Accuracy as the paper prints it for five pretrained encoders on NSMC, and ours: one small encoder trained from scratch, on NSMC"
        " with KNU and on SST-2 with VADER, 95% intervals over test rows and, with several seeds, over seeds. The printed rows are in the"
        " order of the printed mean gains. ★ is the best of a column."
    )
    columns = [Column("setting"), *(Column(name, form="{:.2f}", percent=True, best=True) for name in ENCODERS)]
    for dataset, title in DATASETS.items():
        interval = (f"{dataset}_low", f"{dataset}_high")
        columns.append(Column(dataset, f"ours, {title}", "{:.2f}", interval, percent=True, best=True, width=180))
        columns.append(Column(f"{dataset}_seeds", f"seeds, {title}", "{:.0f}"))
    return Table("accuracy", "Accuracy with and without the lexicon", _titled(frame.reset_index()), words, columns)


def comparisons(runs: Sequence[Run]) -> Table:
    """Return every setting against the baseline: data, setting, kind, accuracy, difference, low, high, p, adjusted, verdict, spread,
    seeds, n.
    """
    import pandas as pd

    parts = [fused.gains(runs, dataset).assign(data=title) for dataset, title in DATASETS.items()]
    columns = ["data", "model", "kind", "accuracy", "difference", "low", "high", "p", "adjusted", "verdict", "spread", "seeds"]
    frame = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)[[*columns, "base_seeds", "n"]]
    if frame.empty:
        raise InputError("There is no baseline with an injected run next to it: `sentviz study fused --dataset nsmc` trains them.")
    words = (
        f"Difference of accuracy to the baseline on the same test rows. {SEEDS_IN_WORDS} p after Holm is over the settings of a data set;"
        " spread is the standard deviation of the setting's accuracy over its seeds."
    )
    written = (
        Column("data"),
        Column("setting"),
        Column("kind"),
        Column("verdict", words=VERDICTS),
        Column("difference", "gain, points", "{:+.2f}", ("low", "high"), percent=True),
        Column("p", form="{:.2g}"),
        Column("adjusted", "p after Holm", "{:.2g}"),
        Column("accuracy", "accuracy, %", "{:.2f}", percent=True),
        Column(
            "spread", "over seeds ±", "{:.2f}", percent=True, help="Standard deviation of the setting's accuracy over its seeds, points"
        ),
        Column("seeds"),
        Column("n"),
    )
    return Table("gains", "Every setting against the baseline", _titled(frame), words, written)


def statistics() -> Table:
    """Return table 2: setting, mean, deviation and variance recomputed from table 1, and what is printed."""
    words = (
        "Gains in points over five encoders, recomputed from table 1, beside table 2. The printed σ is the variance and the printed σ² the"
        " sample standard deviation (divisor n − 1): the two columns are swapped."
    )
    titles = {
        "mean": "mean",
        "printed_mean": "mean, print",
        "deviation": "std",
        "printed_sigma": "σ, print",
        "variance": "variance",
        "printed_sigma_squared": "σ², print",
    }
    columns = (Column("setting"), *(Column(name, title) for name, title in titles.items()))
    return Table("gain-statistics", "Mean and spread of the printed gains", _titled(fused.statistics()), words, columns)


def tasks(runs: Sequence[Run]) -> Table:
    """Return table 3: task, the printed gain by encoder, and ours with baseline, interval, p, seeds and n."""
    import pandas as pd

    printed = fused.printed_tasks().pivot(index="task", columns="encoder", values="value")[list(ENCODERS)]
    rows = pd.DataFrame({"task": [task.title for task in TASKS], "printed": [task.printed for task in TASKS]})
    frame = rows.join(printed, on="printed").drop(columns="printed")
    measured = fused.out_of_domain(runs).drop(columns=["dataset", "split"])
    words = (
        "Printed gains of the last head ÷ √d over the baseline, and ours on the same test rows with 95% intervals and p after Holm over"
        " the tasks. Ours of KorNLI learned from KLUE-NLI, whose pairs are others; PAWS cannot be trained here."
        " `sentviz study fused-ood --dataset korean_hate_speech` trains the pair of runs of one task."
    )
    numbers = [name for name in measured.columns if name not in ("task", "verdict", "test")]
    frame = frame.merge(measured, on="task", how="left").astype(dict.fromkeys(numbers, float))
    columns = (
        Column("task"),
        Column("verdict", words=VERDICTS),
        Column("difference", "gain, points", "{:+.2f}", ("low", "high"), percent=True),
        Column("adjusted", "p after Holm", "{:.2g}"),
        *(Column(name, form="{:.2f}", percent=True) for name in ("baseline", "injected")),
        *(Column(name, form="{:,.0f}") for name in ("seeds", "n")),
        *(Column(name, f"{name}, print", "{:+.2f}", percent=True) for name in ENCODERS),
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


TABLES: dict[str, TableMaker] = {
    "accuracy": of_all(accuracies),
    "comparisons": of_all(comparisons),
    "statistics": lambda runs, dataset: statistics(),
    "tasks": of_all(tasks),
    "coverage": lambda runs, dataset: covered(),
}


def gain_rows(runs: Sequence[Run], dataset: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return measured and printed gains as `sentviz.figures.gains.gain_dots` takes them."""
    printed = fused.printed_gains()
    return fused.gains(runs, dataset).assign(row=_names), printed.assign(row=printed["model"].map(SETTINGS))


def task_rows(runs: Sequence[Run]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return measured and printed gains on the out-of-domain tasks, as `gain_rows` does."""
    measured, printed = fused.out_of_domain(runs), fused.printed_tasks()
    names = {task.printed: task.title for task in TASKS}
    return measured.assign(row=measured["task"], kind=measured["test"].map(fused.KINDS)), printed.assign(row=printed["task"].map(names))


def _names(frame: pd.DataFrame) -> pd.Series[str]:
    return frame["model"].map(SETTINGS)


def _titled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with titles of settings in place of presets."""
    return frame.assign(setting=_names)[["setting" if name == "model" else name for name in frame.columns]]

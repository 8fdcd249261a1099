"""Tables I and II, gates and speed, with our numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sentviz.analysis.evaluation import not_learned_sentence
from sentviz.charts.figure import sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.table import Column, Table
from sentviz.papers.sentiformer import measured, printed_tables, throughput
from sentviz.papers.sentiformer.study import (
    COMPARED,
    DATASETS,
    MODELS,
    RATES,
    READINGS,
    WHOLE,
    ablations,
    beside,
    configurations,
    gated,
    gates_over_seeds,
    not_trained,
)
from sentviz.papers.studies.compare_configurations import SEEDS_IN_WORDS
from sentviz.papers.studies.items import VERDICTS, TableMaker, of_all
from sentviz.papers.studies.means import combined
from sentviz.papers.studies.rates import chosen
from sentviz.runs.presets import without_training
from sentviz.runs.store import Run

SHORT = {DATASETS["sst5_trees_binary"]: "SST-5 binary", DATASETS["yelp_polarity"]: "Yelp"}  # titles for the ten columns of table I
UNPRINTED = ("sst5_trees_binary",)  # data sets of ours that no column of the paper's tables shows
FREQUENT = 0.01  # least share of a part of speech in the table


def accuracy(runs: Sequence[Run]) -> Table:
    """Return table I: data, model, printed, value, low, high (shares), n, seeds."""
    frame = pd.concat([main(beside(runs, dataset), dataset).assign(data=title) for dataset, title in DATASETS.items()], ignore_index=True)
    words = (
        "Test accuracy, measured and reported, with 95 % intervals over test rows and, with several seeds, over seeds. The paper has one"
        " column SST5; our binary column has two of its five classes. The paper does not name its Twitter set: TweetEval is our choice. We"
        " do not have DistilBERT and BERT-base. An adapter on"
        " MiniLM, a pretrained encoder of 6 layers, was trained on 30,000 rows, equally many of each class (IMDb and Yelp: 10,000 rows of"
        " 128 tokens). Yelp is a sample of Yelp polarity (1 and 2 against 4 and 5 stars). Our training is shorter than the paper's. Rows"
        " without a learning rate have the paper's rate for SentiFormer, 1e-4; comparisons use the rate with the smallest validation loss"
        " for each model. If the winner had a rate or more epochs that the other model did not have, the comparison cannot be told."
    )
    words = sentence([words, _not_learned(runs, DATASETS, [name for name in COMPARED | RATES if without_training(name) in COMPARED])])
    columns = (
        Column("printed", "paper", "{:.1f}", percent=True, optional=True),
        Column("value", "ours", "{:.1f}", ("low", "high"), percent=True, width=116),
    )
    numbers = frame.replace({"data": SHORT})[["data", "model", "printed", "value", "low", "high", "n", "seeds"]]
    return Table("accuracy", "Accuracy on four data sets", numbers, words, columns, groups="data")


def _not_learned(runs: Sequence[Run], datasets: Iterable[str], presets: Iterable[str]) -> str:
    """Return a sentence on the runs of some presets that did not learn; "" if all learned."""
    names = list(presets)
    by_preset = [configurations(runs, dataset) for dataset in datasets]
    return not_learned_sentence(run for of_dataset in by_preset for name in names for run in of_dataset.get(name, ()))


def main(frame: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return the rows of table I of the frame that `beside` returns.

    The paper has one column SST5, so our two classes have no printed value.
    """
    rows = frame[~frame["model"].str.startswith(tuple(printed_tables.TITLES.values()))]
    return (rows.assign(printed=float("nan")) if dataset in UNPRINTED else rows).reset_index(drop=True)


def ablation(runs: Sequence[Run]) -> Table:
    """Return table II: data, title, verdict, difference, low, high, printed (shares), accuracy, p, adjusted, seeds, base_seeds, n."""
    frames = [ablations(runs, dataset).assign(data=DATASETS[dataset]) for dataset in READINGS]
    names = ["data", "title", "verdict", "difference", "low", "high", "printed", "accuracy", "p", "adjusted", "seeds", "base_seeds", "n"]
    frame = pd.concat([part for part in frames if len(part)] or frames[:1], ignore_index=True)[[*names, "test"]]
    if frame.empty:
        raise InputError(f"No ablation is installed: `sentviz study sentiformer-ablations --dataset {next(iter(READINGS))}` trains them.")
    frame.loc[frame["data"].isin([DATASETS[dataset] for dataset in UNPRINTED]), "printed"] = float("nan")
    words = (
        "Accuracy without a part minus accuracy of the complete model on the same test rows, and the reported difference. "
        "Each has the learning rate of 1e-4 (reported), 3e-4 and 1e-3 with the smallest validation loss."
        f" {SEEDS_IN_WORDS} p after Holm is over the parts."
    )
    used = [
        run
        for dataset, part in zip(READINGS, frames, strict=True)
        for name in part["preset"]
        for run in configurations(runs, dataset)[name]
    ]
    words = sentence([words, not_learned_sentence(used)])
    columns = (
        Column("data", "data set"),
        Column("title", "model"),
        Column("verdict", words=VERDICTS),
        Column("difference", "difference, points", "{:+.2f}", ("low", "high"), percent=True),
        Column("printed", "paper", "{:+.1f}", percent=True),
        Column("adjusted", "p after Holm", "{:.2g}"),
        Column("accuracy", "accuracy, %", "{:.2f}", percent=True),
        Column("seeds"),
        Column("n"),
    )
    return Table("ablation", "Accuracy without each part", frame, words, columns)


def gates(runs: Sequence[Run], dataset: str) -> Table:
    """Return the mean gates by class of words: name, against, value, low, high, seeds, n."""
    measured_runs = gated(runs, dataset)
    if not measured_runs:
        best = chosen(configurations(runs, dataset), WHOLE) or WHOLE
        raise InputError(f"No SentiFormer on {DATASETS[dataset]} has measured gates. `sentviz gates {dataset}/{best}` measures them.")
    frame = gates_over_seeds(measured_runs)
    means = frame[(frame["layer"] < 0) & frame["kind"].isin(["class", "difference"])]
    seeds = int(means["seeds"].max())
    over = (
        f"other texts and other seeds, {seeds} here"
        if seeds > 1
        else "other texts (there is only one seed, so another training can differ)"
    )
    model = MODELS[measured_runs[0].configuration]
    words = f"{model}: mean over layers, with 95 % intervals for {over}. n: texts that have such a token."
    columns = (
        Column("name", "group"),
        Column("against", "minus"),
        Column("value", "mean gate", "{:.2f}", ("low", "high")),
        Column("seeds"),
        Column("n"),
    )
    return Table(f"gates-{dataset}", f"Mean gates on {DATASETS[dataset]}", means.drop(columns=["kind", "layer"]), words, columns)


def places() -> Table:
    """Return how often sentiment words agree with the label of their text, by place in the text."""
    frame = measured.PLACES.require()
    words = (
        "The share of sentiment words (VADER) that agree with the label of their text, by tenth of the text, and at both ends minus in the"
        " middle, with 95 % intervals for other texts. Test texts with a neutral label are left out."
    )
    columns = (Column("place", "tenth of the text"), Column("value", "words that agree, %", "{:.1f}", ("low", "high"), percent=True))
    frame = frame.assign(dataset=frame["dataset"].map(DATASETS))
    return Table("places", "Sentiment words by place", frame, words, columns, groups="dataset", keys=("place",))


def speech() -> Table:
    """Return the parts of speech of sentiment words, the frequent ones."""
    frame = measured.SPEECH.require()
    words = "The share of sentiment words (VADER) in test texts that have each part of speech, with 95 % intervals for other texts."
    columns = (Column("tag", "part of speech"), Column("value", "share, %", "{:.1f}", ("low", "high"), percent=True))
    frequent = frame[frame["value"] > FREQUENT]["tag"].unique()
    frame = frame[frame["tag"].isin(frequent)].assign(dataset=frame["dataset"].map(DATASETS))
    return Table("speech", "Parts of speech of sentiment words", frame, words, columns, groups="dataset", keys=("tag",))


STILL = "still learned"


def leads(runs: Sequence[Run]) -> Table:
    """Return the lead over each baseline on each quarter of the texts by length, means over seeds.

    Data sets on which a model still learned when its training ended are marked.
    """
    frame, keys = measured.LEADS.require(), ["dataset", "baseline", "part"]
    rows = [
        dict(zip(keys, key, strict=True)) | combined(measured.records(each)) | {"seeds": len(each), "n": int(each["n"].iloc[0])}
        for key, each in frame.groupby(keys, sort=False)
    ]
    table = pd.DataFrame(rows)
    titles = {name: DATASETS[name] + f" ({STILL})" * bool(not_trained(runs, name)) for name in table["dataset"].unique()}
    table = table.assign(dataset=table["dataset"].map(titles), baseline=[COMPARED[without_training(name)] for name in table["baseline"]])
    words = (
        "Accuracy of SentiFormer minus that of the baseline on each quarter of the test texts, shortest texts first, with 95 % intervals"
        " for other texts and other seeds; the last row is the longest quarter minus the shortest. Learning rates were chosen by"
        " validation. “Still learned”: when the training ended, the validation loss of one model still fell, faster than that of its"
        " rival, so the lead says nothing about finished trainings."
    )
    columns = (
        Column("baseline"),
        Column("part", "quarter", words={"4 minus 1": "4 − 1"}),
        Column("value", "difference, points", "{:+.1f}", ("low", "high"), percent=True),
    )
    return Table("leads", "Lead on short and long texts", table, words, columns, groups="dataset", keys=("baseline", "part"))


def memory_table() -> Table:
    """Return the memory that one text takes, by its length."""
    frame = measured.MEMORY.require()
    words = (
        "The highest memory of a process with one text, weights and activations included, in MiB; 32-bit numbers, our size with 8,000"
        " pieces of vocabulary. The fused kernel of full attention stores no map, so full attention fits as well. The paper says that"
        " 10,000 tokens fit on a V100."
    )
    columns = (Column("of", "work"), Column("attention"), Column("tokens"), Column("mib", "MiB", "{:,.0f}"))
    return Table("memory", "Memory of a long text", frame, words, columns)


def guided() -> Table:
    """Return what a trained model predicts if the gates of a lexicon's words are open."""
    frame = measured.LEXICON_GATES.require()
    titles = {"lexicon_en_vader": "VADER", "lexicon_en_opinion": "Opinion Lexicon", "lexicon_en_sentiwordnet": "SentiWordNet"}
    words = (
        f"{frame['run'].iloc[0]}, trained without a lexicon, on {int(frame['n'].iloc[0]):,} test texts. The gates of all tokens that an"
        " entry of the lexicon contains are open (1) in every layer; the others stay as learned. 95 % intervals for other texts; one seed."
    )
    columns = (
        Column("lexicon"),
        Column("opened", "gates opened, %", "{:.1f}", percent=True),
        Column("changed", "predictions changed, %", "{:.1f}", percent=True),
        Column("accuracy", "accuracy, %", "{:.1f}", percent=True),
        Column("difference", "change of accuracy, points", "{:+.2f}", ("low", "high"), percent=True),
    )
    return Table("lexicon-gates", "Gates that a lexicon opens", frame.assign(lexicon=frame["lexicon"].map(titles)), words, columns)


TABLES: dict[str, TableMaker] = {
    "accuracy": of_all(accuracy),
    "ablation": of_all(ablation),
    "gates": gates,
    "speeds": lambda runs, dataset: throughput.speeds_table(),
    "growth": lambda runs, dataset: throughput.growth_table(),
    "steps": lambda runs, dataset: throughput.steps_table(),
    "places": lambda runs, dataset: places(),
    "speech": lambda runs, dataset: speech(),
    "leads": lambda runs, dataset: leads(runs),
    "memory": lambda runs, dataset: memory_table(),
    "lexicon-gates": lambda runs, dataset: guided(),
}

"""Tables I and II, gates and speed, with our numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sentviz.analysis.evaluation import not_learned_sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.papers.sentiformer import measured, printed_tables
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
from sentviz.papers.studies.means import combined
from sentviz.papers.studies.rates import chosen
from sentviz.runs.presets import without_training
from sentviz.runs.store import Run

SHORT = {DATASETS["sst5_trees_binary"]: "SST-5 binary", DATASETS["yelp_polarity"]: "Yelp"}  # titles for the ten columns of table I
UNPRINTED = ("sst5_trees_binary",)  # data sets of ours that no column of the paper's tables shows
FREQUENT = 0.01  # least share of a part of speech in the table


def accuracy(runs: Sequence[Run]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return table I: data, model, printed, value, low, high (shares), n, seeds; and which runs did not learn."""
    frame = pd.concat([main(beside(runs, dataset), dataset).assign(data=title) for dataset, title in DATASETS.items()], ignore_index=True)
    not_learned = _not_learned(runs, DATASETS, [name for name in COMPARED | RATES if without_training(name) in COMPARED])
    numbers = frame.replace({"data": SHORT})[["data", "model", "printed", "value", "low", "high", "n", "seeds"]]
    return numbers, {"not_learned": not_learned}


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


def ablation(runs: Sequence[Run]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return table II: data, title, verdict, difference, low, high, printed (shares), accuracy, p, adjusted, seeds, base_seeds, n."""
    frames = [ablations(runs, dataset).assign(data=DATASETS[dataset]) for dataset in READINGS]
    names = ["data", "title", "verdict", "difference", "low", "high", "printed", "accuracy", "p", "adjusted", "seeds", "base_seeds", "n"]
    frame = pd.concat([part for part in frames if len(part)] or frames[:1], ignore_index=True)[[*names, "test"]]
    if frame.empty:
        raise InputError(f"No ablation is installed: `sentviz study sentiformer-ablations --dataset {next(iter(READINGS))}` trains them.")
    frame.loc[frame["data"].isin([DATASETS[dataset] for dataset in UNPRINTED]), "printed"] = float("nan")
    used = [
        run
        for dataset, part in zip(READINGS, frames, strict=True)
        for name in part["preset"]
        for run in configurations(runs, dataset)[name]
    ]
    return frame, {"not_learned": not_learned_sentence(used)}


def gates(runs: Sequence[Run], dataset: str) -> tuple[pd.DataFrame, dict[str, str]]:
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
    return means.drop(columns=["kind", "layer"]), {"model": model, "over": over, "data": DATASETS[dataset]}


def places() -> pd.DataFrame:
    """Return how often sentiment words agree with the label of their text, by place in the text."""
    frame = measured.PLACES.require()
    return frame.assign(dataset=frame["dataset"].map(DATASETS))


def speech() -> pd.DataFrame:
    """Return the parts of speech of sentiment words, the frequent ones."""
    frame = measured.SPEECH.require()
    frequent = frame[frame["value"] > FREQUENT]["tag"].unique()
    return frame[frame["tag"].isin(frequent)].assign(dataset=frame["dataset"].map(DATASETS))


STILL = "still learned"


def leads(runs: Sequence[Run]) -> pd.DataFrame:
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
    return table.assign(dataset=table["dataset"].map(titles), baseline=[COMPARED[without_training(name)] for name in table["baseline"]])


def guided() -> pd.DataFrame:
    """Return what a trained model predicts if the gates of a lexicon's words are open."""
    frame = measured.LEXICON_GATES.require()
    titles = {"lexicon_en_vader": "VADER", "lexicon_en_opinion": "Opinion Lexicon", "lexicon_en_sentiwordnet": "SentiWordNet"}
    return frame.assign(lexicon=frame["lexicon"].map(titles))

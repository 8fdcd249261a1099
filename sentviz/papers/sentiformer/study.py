"""The runs of the SentiFormer study: against its baselines, without each part, gates, classes of SST-5; the tables with our numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sentviz.analysis.evaluation import holm, not_learned_sentence
from sentviz.analysis.maps.gates import FILE
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.papers.sentiformer import measured, printed_tables
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.compare_configurations import Comparison, Word, compared, mixed, over_seeds
from sentviz.papers.studies.means import combined
from sentviz.papers.studies.rates import chosen, only_tried_for, remark, still_learning, tried
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.presets import without_training
from sentviz.runs.registry import read_paper
from sentviz.runs.store import Run

STUDIES = read_paper(Path(__file__).parent).studies
WHOLE, *BASELINES = STUDIES["sentiformer"].models
_, *ABLATIONS = STUDIES["sentiformer-ablations"].models
DATASETS = {
    "sst5_trees": "SST-5",
    "sst5_trees_binary": "SST-5 as two classes",
    "imdb": "IMDb",
    "yelp_polarity": "Yelp polarity",
    "tweeteval_sentiment": "Twitter",
}
COMPARED = {WHOLE: "SentiFormer", "bilstm": "BiLSTM", "cnn": "CNN"}
RATES = {  # the printed rate is SentiFormer's
    f"{name}-{ending}": f"{title}, rate {rate}"
    for name, title in (COMPARED | {name: printed_tables.TITLES[name] for name in ABLATIONS}).items()
    for ending, rate in (("3e-4", "3e-4"), ("fast", "1e-3"))
}
LONGER = {f"{WHOLE}-2-epochs": "SentiFormer, two epochs"}  # on IMDb it hardly learns in the one epoch that all models get
PRETRAINED = {"minilm": "MiniLM, adapter"}  # ours, beside the pretrained encoders that the paper prints
MODELS = COMPARED | RATES | LONGER | printed_tables.TITLES | PRETRAINED
GATE_KEYS = ["kind", "name", "against", "layer"]
SHORT = {DATASETS["sst5_trees_binary"]: "SST-5 binary", DATASETS["yelp_polarity"]: "Yelp"}  # titles for the ten columns of table I
UNPRINTED = ("sst5_trees_binary",)  # data sets of ours that no column of the paper's tables shows
FREQUENT = 0.01  # least share of a part of speech in the table
READINGS = {"sst5_trees": "five", "sst5_trees_binary": "two"}  # classes that the printed SST-5 numbers may count


def configurations(runs: Iterable[Run], dataset: str) -> dict[str, list[Run]]:
    """Return the study's runs of a data set by preset, in the order of `MODELS`, seeds in order."""
    return compare_configurations.configurations(runs, dataset, list(MODELS))


def with_weights(runs: Iterable[Run]) -> list[Run]:
    """Return the runs of the complete SentiFormer that can make predictions."""
    every = list(runs)
    return [run for dataset in DATASETS for run in configurations(every, dataset).get(WHOLE, []) if run.has_weights]


def beside(runs: Iterable[Run], dataset: str) -> pd.DataFrame:
    """Return table I on a data set with our accuracies, on SST-5 followed by table II: model (title), printed, value, low, high, n, seeds.

    Models that the paper does not print come last. Accuracies are shares (0..1); NaN is unknown.
    """
    reported = printed_tables.accuracies(dataset)
    accuracy = over_seeds(configurations(runs, dataset)).assign(model=lambda frame: frame["model"].map(MODELS))
    order = [*reported["model"], *(title for title in (RATES | LONGER | PRETRAINED).values() if title in set(accuracy["model"]))]
    return compare_configurations.beside(order, reported.set_index("model")["printed"], accuracy)


@dataclass(frozen=True)
class BaselineComparison:
    """SentiFormer and a baseline, each in the training with its smallest validation loss."""

    own: str  # preset of SentiFormer
    baseline: str  # preset of the baseline
    comparison: Comparison  # SentiFormer minus the baseline
    adjusted: float  # p after Holm, over the baselines
    doubtful: frozenset[Word]  # verdicts that a winner with more trainings to choose from may have caused

    @property
    def word(self) -> Word:
        """Verdict on SentiFormer. It stays open if the winner had a learning rate or a number of epochs that the other did not have."""
        result = self.comparison.word(self.adjusted)
        return "cannot be told" if result in self.doubtful else result

    @property
    def numbers(self) -> str:
        """Difference in words, with the reason if the winner had more trainings."""
        title, result = COMPARED[without_training(self.baseline)], self.comparison.word(self.adjusted)
        loser, winner = (COMPARED[WHOLE], title) if result == "worse" else (title, COMPARED[WHOLE])
        unfair = f" ({loser} did not have every training of {winner})" if result in self.doubtful else ""
        return f"{title} {self.comparison.explained(self.adjusted)}{unfair}"


def not_trained(runs: Iterable[Run], dataset: str) -> str:
    """Return the numbers that show that SentiFormer or a baseline still learned when its training ended, faster than its rival.

    "" if each of them was trained to its end, or is missing.
    """
    by_preset = configurations(runs, dataset)
    own = chosen(by_preset, WHOLE)
    baselines = [name for model in BASELINES if (name := chosen(by_preset, model))] if own else []
    sides = [side for name in baselines for side in ((own, name), (name, own))]
    return next(filter(None, (still_learning(by_preset, late, rival, COMPARED.__getitem__) for late, rival in sides)), "")


def against_baselines(runs: Iterable[Run], dataset: str) -> list[BaselineComparison]:
    """Compare SentiFormer with each baseline that has runs."""
    by_preset = configurations(runs, dataset)
    noise = seed_noise(by_preset.values())
    own, baselines = chosen(by_preset, WHOLE), {model: name for model in BASELINES if (name := chosen(by_preset, model))}
    comparisons = {model: mixed(by_preset[own], by_preset[name], noise=noise) for model, name in baselines.items()} if own else {}
    adjusted = holm({model: comparison.p for model, comparison in comparisons.items()})
    sides: dict[str, dict[Word, tuple[str, str]]] = {model: {"better": (WHOLE, model), "worse": (model, WHOLE)} for model in comparisons}
    doubtful = {model: frozenset(word for word, pair in of.items() if only_tried_for(by_preset, *pair)) for model, of in sides.items()}
    return [
        BaselineComparison(own, baselines[model], comparison, adjusted[model], doubtful[model]) for model, comparison in comparisons.items()
    ]


def rates_in_words(runs: Iterable[Run], dataset: str, models: Iterable[str]) -> str:
    """Return the learning rates that validation chose for some models, and which models have one rate only."""
    every = list(runs)
    by_preset = configurations(every, dataset)
    return remark(every, dataset, [name for model in models if (name := chosen(by_preset, model))], MODELS.__getitem__)


def ablations(runs: Iterable[Run], dataset: str) -> pd.DataFrame:
    """Compare each ablation with the complete model, as `compared` does, each at the learning rate that validation chose.

    Removing a part that matters makes the model worse. Three more columns: preset; title; printed, the paper's difference (a share; NaN if
    the paper has none).
    """
    every = configurations(runs, dataset)
    presets = {model: name for model in (WHOLE, *ABLATIONS) if (name := chosen(every, model))}
    frame = compared({model: every[name] for model, name in presets.items()}, WHOLE, noise=seed_noise(every.values()))
    reported = printed_tables.accuracies(dataset).set_index("model")["printed"]
    gains = {name: reported[MODELS[name]] - reported[MODELS[WHOLE]] for name in ABLATIONS if MODELS[name] in reported.index}
    return frame.assign(
        preset=frame["model"].map(presets), title=frame["model"].map(MODELS), printed=frame["model"].map(gains).astype(float)
    )


def gated(runs: Iterable[Run], dataset: str) -> list[Run]:
    """Return the runs of SentiFormer on a data set whose gates are measured, seeds in order: of the recipe's training, else of another."""
    by_preset = configurations(runs, dataset)
    with_gates = ([run for run in by_preset[name] if FILE in run.files] for name in tried(by_preset, WHOLE).values())
    return next(filter(None, with_gates), [])


def gates_over_seeds(runs: Sequence[Run]) -> pd.DataFrame:
    """Return measured gates of runs of one configuration on the same texts (section IV-B), with intervals over texts and seeds.

    There is one row per key that every seed has; the frame is empty if no run is measured.

    Frame:
        kind, name, against, layer, of `sentviz.analysis.maps.gates.over_split`; value (mean over seeds), low, high (for other texts and
        other seeds; of one seed for other texts only), seeds, n.
    """
    frames = [run.frame(FILE) for run in runs if FILE in run.files]
    by_key: dict[tuple[Any, ...], list[dict[Any, Any]]] = {}
    for row in (row for frame in frames for row in frame[[*GATE_KEYS, "value", "low", "high", "n"]].to_dict("records")):
        by_key.setdefault(tuple(row[key] for key in GATE_KEYS), []).append(row)
    rows = [
        dict(zip(GATE_KEYS, key, strict=True)) | combined(each) | {"seeds": len(each), "n": max(row["n"] for row in each)}
        for key, each in by_key.items()
        if len(each) == len(frames)
    ]
    return pd.DataFrame(rows, columns=[*GATE_KEYS, "value", "low", "high", "seeds", "n"])


@dataclass(frozen=True)
class SST5Result:
    """Accuracy of a model on SST-5 with five and with two classes, and the accuracy that the paper prints."""

    model: str  # title of the model
    printed: float  # share, as all numbers below
    five: tuple[float, float, float]  # value, low, high
    two: tuple[float, float, float]

    @property
    def nearer(self) -> Literal["five", "two"]:
        """Number of classes whose interval is nearer to the printed accuracy."""
        return "five" if self._off(self.five) < self._off(self.two) else "two"

    def _off(self, span: tuple[float, float, float]) -> float:
        _, low, high = span
        return max(low - self.printed, self.printed - high, 0.0)

    @property
    def numbers(self) -> str:
        """Printed and measured accuracies in words."""
        spans = {"five": self.five, "two": self.two}
        parts = [f"{percent(value, ends=(low, high))} of {name} classes" for name, (value, low, high) in spans.items()]
        return f"{self.model}: reported {percent(self.printed)}, measured {' and '.join(parts)}"


def readings(runs: Iterable[Run]) -> list[SST5Result]:
    """Return the result of each printed model that was trained with five and with two classes, at the learning rates that validation
    chose.
    """
    every = list(runs)
    spans: list[dict[str, tuple[float, float, float]]] = []
    printed: dict[str, float] = {}
    for dataset in READINGS:
        rows, by_preset = {str(row["model"]): row for _, row in beside(every, dataset).iterrows()}, configurations(every, dataset)
        printed |= {title: float(row["printed"]) for title, row in rows.items() if row["printed"] == row["printed"]}
        own = {MODELS[name]: MODELS[best] for name in (*COMPARED, *ABLATIONS) if (best := chosen(by_preset, name))}
        spans.append({title: _span(rows[best]) for title, best in own.items() if title in printed})
    five, two = spans
    return [SST5Result(model, printed[model], five[model], two[model]) for model in five if model in two]


def rates_of_readings(runs: Sequence[Run], results: Iterable[SST5Result]) -> str:
    """Return the learning rates behind the results in words, with five and with two classes."""
    titles = {result.model for result in results}
    models = [preset for preset, title in MODELS.items() if title in titles]
    return "; ".join(f"{classes} classes: {rates_in_words(runs, dataset, models)}" for dataset, classes in READINGS.items())


def _span(row: pd.Series[float]) -> tuple[float, float, float]:
    return float(row["value"]), float(row["low"]), float(row["high"])


# ---- the tables


def accuracy(runs: Sequence[Run]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return table I: data, model, printed, value, low, high (shares), n, seeds; and which runs did not learn."""
    frame = pd.concat(
        [rows_of_table_1(beside(runs, dataset), dataset).assign(data=title) for dataset, title in DATASETS.items()], ignore_index=True
    )
    not_learned = _not_learned(runs, DATASETS, [name for name in COMPARED | RATES if without_training(name) in COMPARED])
    numbers = frame.replace({"data": SHORT})[["data", "model", "printed", "value", "low", "high", "n", "seeds"]]
    return numbers, {"not_learned": not_learned}


def _not_learned(runs: Sequence[Run], datasets: Iterable[str], presets: Iterable[str]) -> str:
    """Return a sentence on the runs of some presets that did not learn; "" if all learned."""
    names = list(presets)
    by_preset = [configurations(runs, dataset) for dataset in datasets]
    return not_learned_sentence(run for of_dataset in by_preset for name in names for run in of_dataset.get(name, ()))


def rows_of_table_1(frame: pd.DataFrame, dataset: str) -> pd.DataFrame:
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
    titles = {name: DATASETS[name] + " (still learned)" * bool(not_trained(runs, name)) for name in table["dataset"].unique()}
    return table.assign(dataset=table["dataset"].map(titles), baseline=[COMPARED[without_training(name)] for name in table["baseline"]])


def guided() -> pd.DataFrame:
    """Return what a trained model predicts if the gates of a lexicon's words are open."""
    frame = measured.LEXICON_GATES.require()
    titles = {"lexicon_en_vader": "VADER", "lexicon_en_opinion": "Opinion Lexicon", "lexicon_en_sentiwordnet": "SentiWordNet"}
    return frame.assign(lexicon=frame["lexicon"].map(titles))

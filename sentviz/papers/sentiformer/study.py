"""The runs of the SentiFormer study: against its baselines, without each part, and the reading of SST-5 that its print fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sentviz.evaluation import holm
from sentviz.papers.sentiformer import prints
from sentviz.papers.sentiformer.presets import ABLATIONS, BASELINES
from sentviz.runs import Run
from sentviz.studies import collected
from sentviz.studies.against import Comparison, Word, compared, mixed
from sentviz.studies.seeds import seed_noise

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DATASETS",
    "MODELS",
    "READINGS",
    "WHOLE",
    "Reading",
    "ablations",
    "against_baselines",
    "beside",
    "chosen",
    "configurations",
    "readings",
]

WHOLE = "sentiformer"
DATASETS = {
    "sst5_trees": "SST-5",
    "sst5_trees_binary": "SST-5 as two classes",
    "imdb": "IMDb",
    "yelp_polarity": "Yelp polarity",
    "tweeteval_sentiment": "Twitter",
}
COMPARED = {WHOLE: "SentiFormer", "bilstm": "BiLSTM", "cnn": "CNN"}
RATES = {f"{name}-fast": f"{title}, rate 1e-3" for name, title in COMPARED.items()}  # the printed rate is SentiFormer's
MODELS = COMPARED | RATES | prints.TITLES
READINGS = {"sst5_trees": "five", "sst5_trees_binary": "two"}  # classes that the printed SST-5 numbers may count


def configurations(runs: Iterable[Run], dataset: str) -> dict[str, list[Run]]:
    """The study's runs of a data set by preset, in the order of `MODELS`, seeds in order."""
    return collected.configurations(runs, dataset, list(MODELS))


def beside(runs: Iterable[Run], dataset: str) -> pd.DataFrame:
    """Table I on a data set, then what the print lacks, on SST-5 table II behind it: model (title), printed, value, low, high, n, seeds.

    Accuracies are shares (0..1); NaN is unknown.
    """
    import pandas as pd

    said = prints.accuracies(dataset)
    found = collected.summary(configurations(runs, dataset))
    here = found[found["metric"] == "accuracy"].assign(model=lambda frame: frame["model"].map(MODELS)).drop(columns="metric")
    order = [*said["model"], *(title for title in RATES.values() if title in set(here["model"]))]
    frame = pd.DataFrame({"model": order}).merge(said, on="model", how="left").merge(here, on="model", how="left")
    return frame.astype(dict.fromkeys(("printed", "value", "low", "high", "n", "seeds"), float))


def chosen(here: Mapping[str, Sequence[Run]], model: str) -> str:
    """Of a model's rates that are here the one of the least loss on validation, as a preset; "" where none is."""
    rates = [name for name in (model, f"{model}-fast") if name in here]
    return min(rates, key=lambda name: sum(run.config["best"]["loss"] for run in here[name]) / len(here[name]), default="")


def against_baselines(runs: Iterable[Run], dataset: str) -> dict[str, tuple[Comparison, Word]]:
    """SentiFormer against each baseline here, both at the rate chosen on validation, by the baseline's preset; the word is after Holm."""
    here = configurations(runs, dataset)
    noise = seed_noise(here.values())
    own, others = chosen(here, WHOLE), [name for model in BASELINES if (name := chosen(here, model))]
    found = {name: mixed(here[own], here[name], noise=noise) for name in others} if own else {}
    adjusted = holm({name: one.p for name, one in found.items()})
    return {name: (one, one.word(adjusted[name])) for name, one in found.items()}


def ablations(runs: Iterable[Run], dataset: str) -> pd.DataFrame:
    """Each ablation against the whole, as `compared` gives it (a part that matters makes it worse), with the printed difference.

    Columns besides: title, printed (a share; NaN where the paper prints none).
    """
    every = configurations(runs, dataset)
    here = {name: seeds for name, seeds in every.items() if name == WHOLE or name in ABLATIONS}
    frame = compared(here, WHOLE, noise=seed_noise(every.values()))
    said = prints.accuracies(dataset).set_index("model")["printed"]
    gains = {name: said[MODELS[name]] - said[MODELS[WHOLE]] for name in ABLATIONS if MODELS[name] in said.index}
    return frame.assign(title=frame["model"].map(MODELS), printed=frame["model"].map(gains).astype(float))


@dataclass(frozen=True)
class Reading:
    """What a model reaches on SST-5 read as five and as two classes, and the number that the paper prints."""

    model: str  # its title
    printed: float  # shares, as all below
    five: tuple[float, float, float]  # value, low, high
    two: tuple[float, float, float]

    @property
    def nearer(self) -> Literal["five", "two"]:
        """The reading whose interval lies nearer to the print."""
        return "five" if self._off(self.five) < self._off(self.two) else "two"

    def _off(self, measured: tuple[float, float, float]) -> float:
        _, low, high = measured
        return max(low - self.printed, self.printed - high, 0.0)

    @property
    def numbers(self) -> str:
        """In words."""
        spans = {"five": self.five, "two": self.two}
        said = [f"{value:.1%} [{low:.1%}, {high:.1%}] of {name} classes" for name, (value, low, high) in spans.items()]
        return f"{self.model}: printed {self.printed:.1%}, measured {' and '.join(said)}"


def readings(runs: Iterable[Run]) -> list[Reading]:
    """Of each model whose number the paper prints and that was trained here on both readings."""
    here = list(runs)
    frames = [beside(here, dataset).dropna(subset=["printed", "value"]).set_index("model") for dataset in READINGS]
    both = [model for model in frames[0].index if model in frames[1].index]
    spans = [{model: _span(frame.loc[model]) for model in both} for frame in frames]
    return [Reading(model, float(frames[0].loc[model, "printed"]), spans[0][model], spans[1][model]) for model in both]


def worded(words: Sequence[Word]) -> Literal["holds", "does not hold", "cannot be told"]:
    """Whether something is better in every one of several comparisons."""
    if "worse" in words:
        return "does not hold"
    return "holds" if words and set(words) == {"better"} else "cannot be told"


def _span(row: pd.Series[float]) -> tuple[float, float, float]:
    return float(row["value"]), float(row["low"]), float(row["high"])

"""The runs of the SentiFormer study: against its baselines, without each part, and the reading of SST-5 that its print fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sentviz.analysis.claim import Verdict, decide
from sentviz.analysis.evaluation import holm
from sentviz.papers.sentiformer import prints
from sentviz.papers.sentiformer.presets import ABLATIONS, BASELINES
from sentviz.papers.studies import collected
from sentviz.papers.studies.against import Comparison, Word, compared, mixed
from sentviz.papers.studies.seeds import seed_noise
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

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


def rates(here: Mapping[str, Sequence[Run]], model: str) -> dict[str, str]:
    """The rates that a model was trained at, "" for the printed one, with their presets."""
    return {rate: name for rate in ("", "-fast") if (name := f"{model}{rate}") in here}


def chosen(here: Mapping[str, Sequence[Run]], model: str) -> str:
    """Of a model's rates that are here the one of the least loss on validation, as a preset; "" where none is."""
    return min(
        rates(here, model).values(), key=lambda name: sum(run.config["best"]["loss"] for run in here[name]) / len(here[name]), default=""
    )


@dataclass(frozen=True)
class Against:
    """SentiFormer and a baseline, each at the rate that validation chose of those it was trained at."""

    own: str  # presets
    other: str
    comparison: Comparison  # of SentiFormer minus the baseline
    adjusted: float  # p after Holm, over the baselines
    more: frozenset[str]  # the models with a rate that the other one was not trained at

    @property
    def word(self) -> Word:
        """Of SentiFormer; a winner that had a rate more to choose from tells nothing."""
        found = self.comparison.word(self.adjusted)
        winner = {"better": WHOLE, "worse": self.other.removesuffix("-fast"), "cannot be told": ""}[found]
        return "cannot be told" if winner in self.more else found

    @property
    def numbers(self) -> str:
        """In words, with what makes it unfair."""
        named = " and ".join(sorted(MODELS[name] for name in self.more))
        unfair = f"; {named} had a rate to choose that the other had not" if named else ""
        return f"{MODELS[self.other]} {self.comparison.explained(self.adjusted)}{unfair}"


def against_baselines(runs: Iterable[Run], dataset: str) -> list[Against]:
    """SentiFormer against each baseline here."""
    here = configurations(runs, dataset)
    noise = seed_noise(here.values())
    own, others = chosen(here, WHOLE), {model: name for model in BASELINES if (name := chosen(here, model))}
    found = {model: mixed(here[own], here[name], noise=noise) for model, name in others.items()} if own else {}
    adjusted = holm({model: one.p for model, one in found.items()})
    return [Against(own, others[model], one, adjusted[model], _more(here, WHOLE, model)) for model, one in found.items()]


def _more(here: Mapping[str, Sequence[Run]], *models: str) -> frozenset[str]:
    """Which of two models were trained at a rate that the other was not."""
    tried = {model: set(rates(here, model)) for model in models}
    return frozenset(one for one in models for other in models if tried[one] - tried[other])


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
    """Of each model whose number the paper prints and that was trained here on both readings, at the rates that validation chose."""
    here = list(runs)
    spans: list[dict[str, tuple[float, float, float]]] = []
    printed: dict[str, float] = {}
    for dataset in READINGS:
        rows, found = {str(row["model"]): row for _, row in beside(here, dataset).iterrows()}, configurations(here, dataset)
        printed |= {title: float(row["printed"]) for title, row in rows.items() if row["printed"] == row["printed"]}
        own = {MODELS[name]: MODELS[best] for name in (*COMPARED, *ABLATIONS) if (best := chosen(found, name))}
        spans.append({title: _span(rows[best]) for title, best in own.items() if title in printed})
    five, two = spans
    return [Reading(model, printed[model], five[model], two[model]) for model in five if model in two]


def worded(words: Sequence[Word]) -> Verdict:
    """Return the verdict on "better in each of several comparisons"; "open" if there is no comparison."""
    return decide(holds=set(words) == {"better"}, fails="worse" in words)


def _span(row: pd.Series[float]) -> tuple[float, float, float]:
    return float(row["value"]), float(row["low"]), float(row["high"])

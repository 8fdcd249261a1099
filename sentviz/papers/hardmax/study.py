"""The hardmax paper's runs: every seed by dimension, and their accuracies beside the public code's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sentviz.papers.studies.collected import configurations
from sentviz.papers.studies.means import means
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

DATASET = "imdb"
WORDS = {"": 128, "wide-512": 512}  # words of a review that are read, by variant; "wide-512" also has the start of the public code
NAMED = ("amazing", "torture")  # leaders that the poster names as the furthest from the decision line
EXAMPLE = (  # a review of ours with both words
    "An amazing cast and a wonderful score make up for a first hour that is pure torture, with a dull plot and terrible jokes."
)
PUBLIC = {2: 0.791, 4: 0.823, 8: 0.8505, 16: 0.882}  # best test accuracy of the authors' public code by d


def trained(runs: Iterable[Run], variant: str = "") -> dict[int, list[Run]]:
    """The softmax-trained hardmax runs of a variant by d, all seeds in order."""
    every, ending = list(runs), f"-{variant}" * bool(variant)
    widths = sorted({run.shape.width for run in every if run.configuration == f"hardmax-d{getattr(run.shape, 'width', '')}{ending}"})
    by_model = configurations(every, DATASET, [f"hardmax-d{d}{ending}" for d in widths])
    return {d: by_model[f"hardmax-d{d}{ending}"] for d in widths if f"hardmax-d{d}{ending}" in by_model}


def by_dimension(runs: Iterable[Run]) -> dict[int, dict[str, list[Run]]]:
    """The seeds of each dimension by variant (a key of `WORDS`), the variant with the smallest validation loss first."""
    every, by_d = list(runs), dict[int, dict[str, list[Run]]]()
    for variant in WORDS:
        for d, seeds in trained(every, variant).items():
            by_d.setdefault(d, {})[variant] = seeds
    return {d: dict(sorted(by_d[d].items(), key=lambda entry: _best(entry[1], "loss"))) for d in sorted(by_d)}


def compared(runs: Iterable[Run]) -> dict[int, list[Run]]:
    """The runs compared with the public code, by d: of all variants that are here, the one with the smallest validation loss."""
    return {d: next(iter(variants.values())) for d, variants in by_dimension(runs).items()}


def with_weights(runs: Iterable[Run], d: int = 2) -> list[Run]:
    """Return the seeds of one dimension that have weights."""
    return [run for run in trained(runs).get(d, []) if run.has_weights]


def counted(runs: Iterable[Run], *, weights: bool = False) -> list[Run]:
    """Return every training whose leaders were counted over the test split: all dimensions, then all variants and seeds.

    Args:
        weights: True for those with weights only.
    """
    from sentviz.analysis.testset.leaders import FILE

    by_d = by_dimension(runs)
    every = [run for variants in by_d.values() for variant in WORDS for run in variants.get(variant, [])]
    return [run for run in every if FILE in run.files and (run.has_weights or not weights)]


def surveyed(runs: Iterable[Run], d: int = 2) -> list[Run]:
    """Return the seeds of one dimension that have weights and whose leaders were counted over the test split."""
    from sentviz.analysis.testset.leaders import FILE

    return [run for run in with_weights(runs, d) if FILE in run.files]


def beside(runs: Iterable[Run]) -> pd.DataFrame:
    """Mean accuracy by d beside the public code's: d, model, value, low, high, n, seeds, printed; only what is here.

    The runs of `compared` come first. Those of the other variants follow without a printed number.
    """
    import pandas as pd

    rows = [{"d": d, "model": model, **means(seeds)["accuracy"], "printed": printed} for d, model, seeds, printed in _rows(runs)]
    return pd.DataFrame(rows, columns=["d", "model", "value", "low", "high", "n", "seeds", "printed"])


def points(runs: Iterable[Run]) -> pd.DataFrame:
    """Every run by itself: model, seed, value."""
    import pandas as pd

    rows = [
        (model, run.config["recipe"]["seed"], run.metrics()["test"]["accuracy"]["value"])
        for _, model, seeds, _ in _rows(runs)
        for run in seeds
    ]
    return pd.DataFrame(rows, columns=["model", "seed", "value"])


def _rows(runs: Iterable[Run]) -> Iterator[tuple[int, str, list[Run], float]]:
    """Yield the rows of `beside`: d, title, seeds and the public accuracy."""
    dimensions = by_dimension(runs)
    for d, variants in dimensions.items():
        yield d, f"d = {d}", next(iter(variants.values())), PUBLIC.get(d, np.nan)
    for d, variants in dimensions.items():
        for variant in list(variants)[1:]:
            yield d, f"d = {d}, {WORDS[variant]} words", variants[variant], np.nan


def setting(runs: Iterable[Run]) -> str:
    """Return in words how the start and the number of words change the validation accuracy; "" if only one variant is here."""
    changes = [
        f"d = {d} from {_best(variants[''], 'accuracy'):.1%} to {_best(variants['wide-512'], 'accuracy'):.1%}"
        for d, variants in by_dimension(runs).items()
        if len(variants) == len(WORDS)
    ]
    changed = "word vectors that start ten times as far apart and 512 words in place of 128 change the validation accuracy"
    return f"{changed}: {', '.join(changes)}" if changes else ""


def _best(seeds: Sequence[Run], metric: str) -> float:
    """Return the mean of a validation metric of the stored steps over seeds."""
    return float(np.mean([run.config["best"][metric] for run in seeds]))

"""The hardmax paper's runs: every seed by dimension, and their accuracies beside the public code's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sentviz.papers.studies.collected import configurations
from sentviz.papers.studies.means import means
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

DATASET = "imdb"
WORDS = {"": 128, "wide-512": 512}  # words of a review that are read, by variant; "wide-512" also has the start of the public code
PUBLIC = {2: 0.791, 4: 0.823, 8: 0.8505, 16: 0.882}  # best test accuracy of the authors' public code by d


def trained(runs: Iterable[Run], variant: str = "") -> dict[int, list[Run]]:
    """The softmax-trained hardmax runs of a variant by d, all seeds in order."""
    every, ending = list(runs), f"-{variant}" * bool(variant)
    widths = sorted({run.shape.width for run in every if run.configuration == f"hardmax-d{getattr(run.shape, 'width', '')}{ending}"})
    by_model = configurations(every, DATASET, [f"hardmax-d{d}{ending}" for d in widths])
    return {d: by_model[f"hardmax-d{d}{ending}"] for d in widths if f"hardmax-d{d}{ending}" in by_model}


def compared(runs: Iterable[Run]) -> dict[int, list[Run]]:
    """The runs compared with the public code, by d: of all variants that are here, the one with the smallest validation loss."""
    by_variant = _by_variant(runs)
    return {d: seeds for d in sorted({d for widths in by_variant.values() for d in widths}) for _, seeds in [_chosen(by_variant, d)]}


def _by_variant(runs: Iterable[Run]) -> dict[str, dict[int, list[Run]]]:
    every = list(runs)
    return {variant: trained(every, variant) for variant in WORDS}


def _chosen(by_variant: Mapping[str, Mapping[int, list[Run]]], d: int) -> tuple[str, list[Run]]:
    """The variant of a dimension that validation prefers, and its seeds."""
    variants = {variant: widths[d] for variant, widths in by_variant.items() if d in widths}
    return min(variants.items(), key=lambda entry: float(np.mean([run.config["best"]["loss"] for run in entry[1]])))


def surveyed(runs: Iterable[Run], d: int = 2) -> list[Run]:
    """Return the seeds of one dimension that have weights and whose leaders were counted over the test split."""
    from sentviz.analysis.testset.leaders import FILE

    return [run for run in trained(runs).get(d, []) if run.has_weights and FILE in run.config["files"]]


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
    by_variant = _by_variant(runs)
    widths = sorted({d for widths in by_variant.values() for d in widths})
    for d in widths:
        yield d, f"d = {d}", _chosen(by_variant, d)[1], PUBLIC.get(d, np.nan)
    for d in widths:
        for variant, words in WORDS.items():
            if d in by_variant[variant] and variant != _chosen(by_variant, d)[0]:
                yield d, f"d = {d}, {words} words", by_variant[variant][d], np.nan


def setting(runs: Iterable[Run]) -> str:
    """Return in words how the start and the number of words change the validation accuracy; "" if only one variant is here."""
    by_variant = _by_variant(runs)
    changes = [
        f"d = {d} from {_validation(by_variant[''][d]):.1%} to {_validation(seeds):.1%}"
        for d, seeds in by_variant["wide-512"].items()
        if d in by_variant[""]
    ]
    if not changes:
        return ""
    return (
        f"word vectors that start ten times as far apart and 512 words in place of 128 change the validation accuracy: {', '.join(changes)}"
    )


def _validation(seeds: Sequence[Run]) -> float:
    return float(np.mean([run.config["best"]["accuracy"] for run in seeds]))

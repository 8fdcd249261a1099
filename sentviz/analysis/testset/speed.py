"""The speed of compared sources on this machine: rows per second, measured once, when it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.testset.comparison import Comparison
from sentviz.analysis.testset.rows import RowsSource, predicted, with_texts
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.models import loading
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.models.model import Model

ROWS, WARM, SEED = 64, 8, 0  # timed rows, and rows that are predicted before


def timed(of: Comparison, models: Mapping[str, Model] | None = None, *, load: Callable[[Run], Model] | None = None) -> Comparison:
    """Return the comparison with the rows per second of each source that has a model, in `Comparison.speeds`.

    Reading the text, prediction and probabilities are timed, on the same sample of 64 rows (fewer if there are fewer).

    Args:
        models: opened models by the name of their source; runs with weights are opened with `load`.
    Raises:
        InputError: the rows have no texts on this machine. DataMissingError: as `with_texts`.
    """
    rows = with_texts(of.first)
    if not rows.has_text:
        raise InputError(f"The speed cannot be measured, because {rows.source.name} has no texts.")
    places = np.random.default_rng(SEED).permutation(len(rows))[:ROWS]
    frame = rows.frame.iloc[places][[name for name in ("id", "text", "text_pair") if name in rows.frame]]
    speeds = {}
    for each in of.candidates:
        source = each.rows.source
        model = (models or {}).get(each.name)
        if model is None and source.ask is not None:
            model = (load or loading.load)(source.ask)
        if model is not None:
            speeds[each.name] = _rows_per_second(model, source, frame)
    return replace(of, speeds=speeds)


def _rows_per_second(model: Model, source: RowsSource, frame: pd.DataFrame) -> float:
    predicted(model, source, frame.head(WARM), "mine")
    begin = time.perf_counter()
    predicted(model, source, frame, "mine")
    return len(frame) / (time.perf_counter() - begin)

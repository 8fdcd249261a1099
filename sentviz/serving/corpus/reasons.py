"""The reason for the prediction of each row, as the command `explain` gives it for one text, and the words with the largest values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sentviz.analysis.explain.headline import reason, supported
from sentviz.analysis.explain.leave_out import words
from sentviz.data.texts import TokenizedText
from sentviz.errors import InputError
from sentviz.io.lazy import pa, pd
from sentviz.runs.headline_evidence import Chance
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.models.model import Model

WORDS = 5  # words of a row that are named
COLUMNS = ("reason", *(f"{what}_{place}" for place in range(1, WORDS + 1) for what in ("word", "value")))


def chance_for(model: Model, run: Run) -> Chance:
    """Return what chance gives a run, or a model of the user, which has no stored measurement."""
    from sentviz.analysis.explain.headline import chance_in, chance_of
    from sentviz.models.in_memory import OpenModel

    return chance_in(model) if isinstance(run, OpenModel) else chance_of(model, run)


def reasons(model: Model, rows: pd.DataFrame, readings: Sequence[TokenizedText | None], chance: Chance) -> dict[str, Any]:
    """Return the columns `COLUMNS` of some rows; blank for a row that the model cannot read, or has fewer words.

    A value is the fall of the log-odds of the predicted class without the word; the largest ones, by size, come first.

    Args:
        rows: text and perhaps text_pair. readings: the same rows, as the model reads them.
    """
    pairs = rows["text_pair"].tolist() if "text_pair" in rows else [None] * len(rows)
    explained_rows = [
        _of_text(model, text, pair, chance) if reading is not None and len(reading) else []
        for text, pair, reading in zip(rows["text"].tolist(), pairs, readings, strict=True)
    ]
    full = [row + [None] * (len(COLUMNS) - len(row)) for row in explained_rows]
    types = {name: pa.float32() if name.startswith("value") else pa.string() for name in COLUMNS}
    return {name: pa.array([row[k] for row in full], type=types[name]) for k, name in enumerate(COLUMNS)}


def _of_text(model: Model, text: str, pair: str | None, chance: Chance) -> list[Any]:
    try:
        trace = supported(model, model.trace(text, pair, maps=False), chance)
    except InputError as error:
        return [str(error)]
    values = [(word.text, float(trace.token_scores["removal"][word.indices[0]])) for word in words(trace)]
    top = sorted(values, key=lambda each: -abs(each[1]))[:WORDS]
    return [reason(trace), *(cell for each in top for cell in each)]

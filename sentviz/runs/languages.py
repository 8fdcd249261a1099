"""The language that a run reads, and whether it reads pairs of texts."""

from __future__ import annotations

from sentviz.data import datasets
from sentviz.errors import InputError
from sentviz.runs.store import Run


def reads_pairs(run: Run) -> bool:
    """Whether a run was trained on pairs of texts."""
    try:
        return datasets.info(run.config["data"]["name"]).pair
    except InputError:  # a data set that is not known here
        return run.has_weights and run.example().text_pair is not None


def language(run: Run) -> str:
    """The language of the texts that a run was trained on, as in "ko"; "en" where its data set is not known here."""
    try:
        return datasets.info(run.config["data"]["name"]).language
    except InputError:
        return "en"

"""The plain name of a run, as people read it in a choice of runs, and the groups of such a choice.

A plain name has the language, the system, its size, what differs from the usual training, and the accuracy on official test sentences:
"English, MPNet, 12 layers, 94 % of SST-2", or "NDT [0,1], 2 components, IMDb 85 %" for a run of one English data set.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache

from sentviz.data import datasets
from sentviz.errors import InputError, RunError
from sentviz.io.numbers import percent
from sentviz.runs.catalog import best_run, is_mixture, language
from sentviz.runs.presets import VARIANTS, find_preset, split
from sentviz.runs.store import WITHOUT_ROWS, Run

BEST, PAPERS, OWN = GROUPS = ("most accurate", "papers", "yours")
LANGUAGES = {"en": "English", "ko": "Korean"}
BASES = {"minilm": "MiniLM", "mpnet": "MPNet", "e5": "E5"}  # names of the shipped bases as their authors write them
ENDINGS = {  # addition to the model, by the ending of a preset's name
    "xia": "lexicon multiplied",
    "all": "lexicon on all heads",
    "all-scaled": "lexicon on all heads, scaled",
    "from-cls": "answers from [CLS]",
    "from-cls-last-scaled": "answers from [CLS], lexicon on the last head, scaled",
    "last": "lexicon on the last head",
    "last-scaled": "lexicon on the last head, scaled",
    "gated": "gates",
    "aware": "sentiment-aware positions",
    "windowed": "windows",
    "rope": "second phase",
    "unmasked": "with padding read",
    "ndt-free-2": "NDT (−∞,∞), 2 components",
    "ndt-unit-2": "NDT [0,1], 2 components",
}
CHANGES = {  # difference from the usual training, by variant
    "equal": "equal λ at the start",
    "swapped": "λ with the opposite sign at the start",
    "frozen": "frozen λ",
    "high": "λ of 0.4 at the start",
    "slow-lambda": "slow λ",
    "1e-4": "all rates 0.0001",
    "no-decay": "no weight decay",
    "again": "trained again",
    "512": "512 tokens",
    "3e-4": "rate 0.0003",
    "fast": "rate 0.001",
    **{f"{thousands}k": f"{thousands},000 rows" for thousands in (5, 10, 20, 40, 80)},
    "5k-epochs": "5,000 rows, with epochs",
    "6k-updates": "6,000 updates",
    "2-epochs": "two epochs",
    "12-epochs": "twelve epochs at most",
    "3k-masked": "3,000 masked updates first",
    "wide": "wide start",
    "wide-512": "wide start, 512 tokens",
    "epochs": "with epochs",
    "full": "all matrices trained",
    "labels": "from labels alone",
    "whole-words": "lexicon of whole words",
}


def plain_name(run: Run) -> str:
    """Return the plain name of a run; without the accuracy if its measurements cannot be read."""
    return _plain_name(run, run.digest)


@lru_cache(maxsize=1024)
def _plain_name(run: Run, digest: str) -> str:
    if not run.config["files"]:  # a model that is open in memory
        return "Your model"
    data, layers = str(run.config["data"]["name"]), run.capabilities.layers
    is_general = is_mixture(data)
    spoken = language(run)
    parts = [LANGUAGES.get(spoken, spoken)] if is_general or spoken != "en" else []
    parts += _model(run)
    if is_general:
        parts.append(f"{layers} layer{'s' * (layers > 1)}")
    if seed := run.config["recipe"].get("seed"):
        parts.append(f"seed {seed}")
    try:
        tested, accuracy = _accuracy(run, digest)
        parts.append(f"{percent(accuracy, 0)} of {_short(tested)}" if is_general else f"{_short(tested)} {percent(accuracy, 0)}")
    except RunError:
        parts += [_short(data)] if data else []
    name = ", ".join(parts)
    return name[:1].upper() + name[1:]


def grouped(runs: Mapping[str, Run]) -> dict[str, list[str]]:
    """Return the names of runs by group, in the order of `GROUPS`; without empty groups.

    Runs that ship and were trained on a mixture of data sets answer best, and for each language the best of all. They are sorted by
    language and accuracy, other runs by name. Runs that do not ship are the visitor's.
    """
    from sentviz.runs.releases import index

    known = index()
    best = {best_run(runs.values(), spoken): order for order, spoken in enumerate(LANGUAGES)}
    groups: dict[str, list[tuple[tuple[float, ...], str]]] = {group: [] for group in GROUPS}
    for name, run in runs.items():
        order: tuple[float, ...] = ()
        if name not in known or known[name].digest != run.digest:
            group = OWN
        elif name in best or is_mixture(run.config["data"]["name"]):
            group, order = BEST, (list(LANGUAGES).index(language(run)), name not in best, -_known_accuracy(run))
        else:
            group = PAPERS
        groups[group].append((order, name))
    return {group: [name for _, name in sorted(members)] for group, members in groups.items() if members}


def _model(run: Run) -> list[str]:
    """Return the system of a run and what its name adds or changes."""
    configuration, base = run.configuration, str(run.config["recipe"].get("base") or "")
    if base:
        endings = configuration.removeprefix(base).strip("-")
        return [BASES.get(base, base), *filter(None, [(ENDINGS | CHANGES).get(endings, endings)])]
    changes = sorted((name for name in VARIANTS if configuration.endswith(f"-{name}")), key=len, reverse=True)
    for change in [*changes, ""]:  # the longest one that leaves the name of a preset
        name, endings = split(configuration.removesuffix(f"-{change}"))
        with suppress(InputError):
            return [find_preset(name).title, *filter(None, [ENDINGS.get(endings, endings), CHANGES.get(change)])]
    return [configuration]  # The model is of a paper that is not installed, or it has no preset.


def _short(dataset: str) -> str:
    try:
        return datasets.info(dataset).short or dataset
    except InputError:
        return dataset


def _known_accuracy(run: Run) -> float:
    try:
        return _accuracy(run, run.digest)[1]
    except RunError:
        return 0.0


@lru_cache(maxsize=1024)
def _accuracy(run: Run, digest: str) -> tuple[str, float]:
    """Return a data set, and the accuracy of a run on its official test rows; for a mixture, those of the first data set in its test split.

    Raises:
        RunError: the measurements are missing or damaged.
    """
    dataset, metrics = str(run.config["data"]["name"]), run.metrics()
    if not run.has_rows:
        raise RunError(WITHOUT_ROWS.format(run.name))
    try:
        if is_mixture(dataset):
            tested = [part.partition("/")[0] for cut in datasets.info(dataset).cuts if "test" in cut.into for part in cut.parts]
            first = tested[0]
            if {first} == set(tested):
                return first, float(metrics["test"]["accuracy"]["value"])
            rows = run.frame("test.parquet")
            rows = rows[(rows["split"] == "test") & rows["id"].str.startswith(f"{first}/")]
            if len(rows):
                return first, float((rows[list(run.labels)].to_numpy().argmax(1) == rows["label"].to_numpy()).mean())
        measured = metrics.get("official_test") or metrics["test"]
        return dataset, float(measured["accuracy"]["value"])
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{run.name}: metrics.json or test.parquet was not written by sentviz ({error}).") from error

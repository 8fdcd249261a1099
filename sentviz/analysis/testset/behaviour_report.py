"""The behaviour card as a file, and the rates that a continuous integration requires of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentviz.analysis.testset.behaviour import Card, answers_one_side
from sentviz.data.behaviour import DIRECTION, FUNCTIONALITY, INVARIANCE, LANGUAGES, digest
from sentviz.errors import InputError, nearest
from sentviz.io.documents import read_toml
from sentviz.io.numbers import percent

COUNTS = {"rate": "the rate", "low": "the lower limit of the 95 % interval"}
SOURCE = "Kinds of tests: Ribeiro et al. 2020 (CheckList). Intervals: Wilson, 95 %, over cases."
HOW = {
    FUNCTIONALITY: "share of texts whose predicted class is right",
    INVARIANCE: "share of edits that do not change the predicted class",
    DIRECTION: "share of edits that do not move the positive probability by more than 0.1 in the wrong direction",
}


@dataclass(frozen=True)
class Requirement:
    """Minimum rates by capability, from 0 to 1."""

    minimum: Mapping[str, float]
    counts: str = "rate"  # key of `COUNTS`: number that is compared with the minimum

    def check(self, known: Sequence[str]) -> None:
        """Raise InputError if a capability is not among the known ones."""
        if unknown := [name for name in self.minimum if name not in known]:
            near = nearest(unknown[0], known)
            raise InputError(f"There is no capability {unknown[0]!r}; {near}the capabilities are {', '.join(known)}.")

    def verdicts(self, card: Card) -> dict[str, tuple[float, float, bool]]:
        """Return what counts, the minimum, and whether it is met, for each required capability.

        No rate of invariance or direction is met by a model that predicts one class for every case.
        """
        rows = {row["capability"]: row for row in card.frame().to_dict("records")}
        self.check(list(rows))
        empty = answers_one_side(card)
        return {
            name: (
                float(rows[name][self.counts]),
                least,
                float(rows[name][self.counts]) >= least and not (empty and rows[name]["kind"] != FUNCTIONALITY),
            )
            for name, least in self.minimum.items()
        }


def read_requirement(path: str | Path) -> Requirement:
    """Return the minimum rates of a TOML file: a table [minimum] with a number from 0 to 1 per capability, and counts = "rate" or "low"."""
    name = Path(path).name
    tables = read_toml(path, 1 << 20, name)
    if unknown := [key for key in tables if key not in ("counts", "minimum")]:
        raise InputError(f"{name} has the unknown entry {unknown[0]!r}. It may have counts and the table [minimum].")
    counts, minimum = tables.get("counts", "rate"), tables.get("minimum")
    if counts not in COUNTS:
        raise InputError(f'In {name}, counts must be "rate" or "low" (the lower limit of the interval), not {counts!r}.')
    if not isinstance(minimum, dict) or not minimum:
        raise InputError(f"{name} needs a table [minimum] with a rate for at least one capability, for example negation = 0.8.")
    for capability, least in minimum.items():
        if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
            raise InputError(f"In {name}, the minimum of {capability} must be a number from 0 to 1, not {least!r}; 80 % is 0.8.")
    return Requirement({capability: float(least) for capability, least in minimum.items()}, counts)


def as_json(card: Card, baselines: Sequence[Card] = (), requirement: Requirement | None = None) -> str:
    """Return a card as JSON; equal cards give equal bytes. Rates have six decimals."""
    return json.dumps(numbers_of(card, baselines, requirement), ensure_ascii=False, indent=1) + "\n"


def numbers_of(card: Card, baselines: Sequence[Card] = (), requirement: Requirement | None = None) -> dict[str, Any]:
    """Return a card as numbers, texts, lists and dictionaries."""
    verdicts = requirement.verdicts(card) if requirement else {}
    entries = []
    for entry in _entries(card):
        if entry["capability"] in verdicts:
            _, least, met = verdicts[entry["capability"]]
            entry |= {"minimum": least, "met": met}
        entries.append(entry)
    content: dict[str, Any] = {
        "model": card.name,
        "digest": card.digest,
        "language": card.language,
        "cases": {"n": len(card.cases), "digest": digest(card.cases)},
        "capabilities": entries,
        "baselines": {each.name: _entries(each) for each in baselines},
        "failed": card.failures()["id"].tolist(),
        "remarks": list(card.remarks),
        "source": SOURCE,
    }
    if requirement:
        content |= {"counts": requirement.counts, "met": all(met for *_, met in verdicts.values())}
    return content


def _entries(card: Card) -> list[dict[str, Any]]:
    entries = []
    for row in card.frame().to_dict("records"):
        known = {str(name): round(value, 6) if isinstance(value, float) else value for name, value in row.items()}
        entries.append({name: value for name, value in known.items() if value == value})  # without NaN
    return entries


def as_markdown(card: Card, baselines: Sequence[Card] = ()) -> str:
    """Return a card as Markdown; equal cards give equal bytes."""
    frames = [each.frame().set_index("capability") for each in baselines]
    head = ["capability", "passed", "of", "rate, %", "random edit, %", *(f"{each.name}, %" for each in baselines)]
    lines = []
    for row in card.frame().to_dict("records"):
        by_chance = "" if row["kind"] == FUNCTIONALITY else percent(row["random"], 0, (row["random_low"], row["random_high"]))
        rates_of_baselines = [
            percent(rate, 0, ends) for rate, *ends in (each.loc[row["capability"], ["rate", "low", "high"]] for each in frames)
        ]
        rate = percent(row["rate"], 0, (row["low"], row["high"]))
        lines.append([row["capability"], str(row["passed"]), str(row["n"]), rate, by_chance, *rates_of_baselines])
    table = "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))
    of: dict[str, list[str]] = {}
    for row in card.frame().to_dict("records"):
        of.setdefault(row["kind"], []).append(row["capability"])
    kinds = "\n".join(f"- {kind} ({', '.join(names)}): {HOW[kind]}." for kind, names in of.items())
    by = f" Digest of the run: `{card.digest}`." if card.digest else ""
    return (
        "\n\n".join(
            [
                f"# Behaviour of {card.name}",
                f"{len(card.cases):,} {LANGUAGES[card.language]} cases, digest `{digest(card.cases)}`.{by} {SOURCE}",
                table,
                kinds,
                "Random edit: share that passes if as many random words at random places are changed in place of the edit.",
                *card.remarks,
            ]
        )
        + "\n"
    )

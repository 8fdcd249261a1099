"""The table of claims: for each claim of a paper made-up numbers, and the verdict that these numbers must give."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pandas as pd
import pytest

from sentviz.analysis.claim import Claim, Finding, Kind, Reference, Verdict
from sentviz.papers.studies import stats
from sentviz.papers.studies.claims import claims_of
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from tests.studies import made_run, plant, with_gates, with_heads

DIRECTIONS: dict[Kind, set[Verdict]] = {  # the verdicts that a claim of each kind must be able to have
    "printed": {"holds", "fails"},
    "counted": {"holds", "fails"},
    "theorem": {"holds", "fails"},
    "tested": {"holds", "fails", "open"},
}
MADE: dict[tuple[object, ...], Run] = {}  # runs that were made for any case


READ: dict[tuple[object, ...], Any] = {}  # What was read of their files is stored by the digest of the file.
ANSWERS = stats._answers


def frame_of(run: Run, file: str) -> pd.DataFrame:
    """Return a table of a run; equal tables of several runs are read once."""
    return read((run.config["files"].get(file),), lambda: Run.frame(run, file))


def answers_of(run: Run, split: str) -> pd.DataFrame:
    """Return the answers of a run; equal answers of several runs are read once."""
    return read((run.config["files"].get("test.parquet"), run.labels, split), lambda: ANSWERS(run, split))


def read(key: tuple[object, ...], make: Callable[[], Any]) -> Any:
    """Return what a function reads, once for each key."""
    if key not in READ:
        READ[key] = make()
    return READ[key]


@dataclass(frozen=True)
class World:
    """The made-up numbers of one case: replaced tables and measurements, and runs."""

    patch: pytest.MonkeyPatch
    folder: Path
    runs_in: Path  # Runs are made in this folder, once for all cases.

    def of_files(self, runs: Iterable[Run]) -> None:
        """Let runs read their metrics by the method of their class, which a case replaces."""
        for run in runs:
            vars(run).pop("metrics", None)

    def plant(self, place: str, rows: pd.DataFrame | list[dict[str, Any]] | None = None) -> None:
        """Put measurements, or none, in place of those that ship."""
        plant(self.patch, place, self.folder, rows)

    def run(self, dataset: str, model: str, seed: int = 0, **options: Any) -> Run:
        """Return a made-up run, also with measured heads, as (from [CLS], to [CLS]), or gates."""
        key = model, seed, repr(sorted(options.items()))
        heads, gates = options.pop("heads", None), options.pop("gates", False)
        if key not in MADE:
            run = made_run(self.runs_in / str(len(MADE)), "any", model, seed, **options)
            run = with_heads(run, *heads) if heads else run
            MADE[key] = with_gates(run) if gates else run
        if (dataset, *key) not in MADE:
            run = Run(MADE[key].name.replace("any", dataset, 1), MADE[key].folder)
            vars(run).update(
                config=MADE[key].config | {"data": {"name": dataset}},
                frame=partial(frame_of, run),
                metrics=cache(partial(Run.metrics, run)),
            )
            MADE[dataset, *key] = run
        return MADE[dataset, *key]

    def runs(self, dataset: str, wrong: Mapping[str, int | Sequence[int]], seeds: int = 2, **options: Any) -> list[Run]:
        """Return runs by the number of wrong answers of 200 of each model, or of each of its seeds, which err on other rows.

        A variant stands behind "@", as in "diff@frozen".
        """
        every = []
        for name, counts in wrong.items():
            model, _, variant = name.partition("@")
            for seed, count in enumerate([counts] * seeds if isinstance(counts, int) else counts):
                own = {"wrong": count, "first_wrong": 7 * seed} | ({"variant": variant} if variant else {}) | options
                every.append(self.run(dataset, model, seed, **own))
        return every


Numbers = Callable[[World], Sequence[Run] | None]
Row = Numbers | tuple[Any, ...]  # the numbers, and what the evidence must then say


@dataclass(frozen=True)
class Case:
    """Numbers, the verdict that they give, and what the evidence then says."""

    verdict: Verdict
    numbers: Numbers
    says: tuple[str, ...]


@dataclass
class Table:
    """The cases of each claim of a paper."""

    paper: str
    cases: dict[str, list[Case]] = field(default_factory=dict)  # id of a claim -> its cases
    never: dict[str, set[Verdict]] = field(default_factory=dict)  # id of a claim -> directions in which it never is

    def claim(self, statement: str, against: Reference | None = None) -> Claim:
        """Return the claim with a statement, or with the beginning of one."""
        every = [claim for claim in claims_of(find_paper(self.paper)) if against in (None, claim.against)]
        matching = [claim for claim in every if claim.statement == statement] or [
            claim for claim in every if claim.statement.startswith(statement)
        ]
        assert len(matching) == 1, (statement, [claim.statement for claim in matching])
        return matching[0]

    def of(self, statement: str, against: Reference | None = None, *, never: Iterable[Verdict] = (), **rows: Sequence[Row]) -> None:
        """Add the cases of a claim.

        Args:
            never: directions in which it never is.
            rows: verdict -> cases.
        """
        assert rows.keys() <= set(get_args(Verdict))
        claim = self.claim(statement, against)
        self.never.setdefault(claim.id, set()).update(never)
        for verdict, each in rows.items():
            for row in each:
                numbers, *says = row if isinstance(row, tuple) else (row,)
                self.cases.setdefault(claim.id, []).append(Case(verdict, numbers, tuple(says)))  # type: ignore[arg-type]

    def tried(self, claim: Claim) -> set[Verdict]:
        """Return the verdicts that its cases have or that it never has."""
        return {case.verdict for case in self.cases.get(claim.id, [])} | self.never.get(claim.id, set())


def runs(dataset: str, wrong: Mapping[str, int | Sequence[int]], seeds: int = 2, **options: Any) -> Numbers:
    """Return runs as the numbers of a case (`World.runs`)."""
    return lambda world: world.runs(dataset, wrong, seeds, **options)


def planted(place: str, rows: pd.DataFrame | list[dict[str, Any]] | None = None, then: Numbers = lambda world: None) -> Numbers:
    """Return planted measurements (`World.plant`) as the numbers of a case, and then other numbers."""

    def numbers(world: World) -> Sequence[Run] | None:
        world.plant(place, rows)
        return then(world)

    return numbers


def patched(values: Mapping[str, Any], then: Numbers = lambda world: None) -> Numbers:
    """Return replaced attributes as the numbers of a case, and then other numbers."""

    def numbers(world: World) -> Sequence[Run] | None:
        for target, value in values.items():
            world.patch.setattr(target, value)
        return then(world)

    return numbers


def nothing(world: World) -> None:
    """No run, and what is stored as it ships."""


def stub_run(name: str, **attributes: Any) -> Any:
    """Return an object in place of a run."""
    return SimpleNamespace(name=name, **attributes)


def without_rounding_errors(evidence: str) -> str:
    """Return an evidence without tiny numbers, in which machines differ."""
    return re.sub(r"\de-\d\d", "0", evidence)


def in_words(finding: Finding) -> str:
    """Return the verdict, those of the parts, the effect, the p and the evidence of a finding."""
    effect = finding.effect
    ends = () if effect is None else (f"{end:.6g}" for end in (effect.value, effect.low, effect.high, effect.null) if end is not None)
    named = "" if effect is None else f"{effect.of} {effect.unit}: {' '.join(ends)}"
    level = "" if finding.p is None else f"p {finding.p:.4g}"
    parts = ",".join(part.verdict for _, part in finding.parts)
    return " | ".join((finding.verdict, parts, named, level, without_rounding_errors(finding.evidence)))


def described(claim: Claim) -> str:
    """Return what a claim says of itself."""
    fields = (claim.statement, claim.row, claim.on, claim.where, claim.against, claim.kind, claim.how, claim.shows, claim.figure)
    return " | ".join((*fields, *claim.data))

"""Runs cases: each with a folder of its own, within its limits."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.tools.attack.case import Case, Outcome, plain, unmet
from tests.tools.attack.guests import App
from tests.tools.attack.served import Target, targets
from tests.tools.attack.server import Server
from tests.tools.attack.watch import bounded, environment, room, small_disk


@contextmanager
def _prepared(case: Case, root: Path) -> Iterator[tuple[Mapping[str, str], str]]:
    """What the case's input is called, by name, and why it cannot be made."""
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        folder = Path(name)
        with small_disk(folder / "disk", case.mount) as lacking:
            made = {} if lacking else case.make(folder, root)
            yield {"folder": name, "disk": str(folder / "disk"), **made}, lacking


@cache
def _ordinary(words: tuple[str, ...], root: Path) -> float:
    """Megabytes that an ordinary command takes at most."""
    with tempfile.TemporaryDirectory() as home:
        return bounded([sys.executable, *words], root, environment(root, Path(home)), 300).peak


TRIES = 2  # of an attack after which another has waited, since the machine may have been busy with something else


def _of_library(case: Case, root: Path) -> Outcome:
    outcome = Outcome(case.name, case.against)
    with _prepared(case, root) as (made, outcome.skipped):
        if outcome.skipped:
            return outcome
        words = [word.format(**made) for word in case.run]
        env = environment(root, Path(made["folder"]) / "home", made)
        done = bounded([sys.executable, *words], root, env, case.seconds)
        outcome.seconds, outcome.peak, outcome.said = (
            done.seconds,
            max(0.0, done.peak - _ordinary(case.rest, root)),
            plain(done.said, made["folder"]),
        )
        outcome.falls += [done.why] if done.why else []
        unmet(case, outcome, done.said)
    return outcome


async def _of_served(case: Case, root: Path, found: Callable[[str, Mapping[str, str]], Target]) -> Outcome:
    outcome = Outcome(case.name, case.against)
    with _prepared(case, root) as (made, outcome.skipped):
        if outcome.skipped:
            return outcome
        target = found(case.against, made)
        said, log = await target.attacked(case, made, outcome)
        outcome.said = plain(said, made["folder"])
        unmet(case, outcome, said, log)
        if case.mount or outcome.falls:  # the next one meets a fresh process
            target.close()
    return outcome


def attacked(cases: list[Case], root: Path, tell: Callable[[Outcome], object]) -> list[Outcome]:
    """Run cases one after another; `tell` hears of each when it is over."""
    outcomes = []
    with targets(root, {"app": App, "server": Server}) as found:
        for case in cases:
            room()
            try:
                for _ in range(TRIES):
                    outcome = _of_library(case, root) if case.against == "library" else asyncio.run(_of_served(case, root, found))
                    if not outcome.waited:
                        break
            except Exception as error:  # of the tool itself, or of a target that cannot even start
                outcome = Outcome(case.name, case.against, falls=[f"not carried out ({type(error).__name__}: {error})"])
            outcomes.append(outcome)
            tell(outcome)
    return outcomes

"""Runs cases: each with a folder of its own, within its limits."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tools.attack.case import Case, Outcome, plain, unmet
from tools.attack.guests import App
from tools.attack.served import Target, targets
from tools.attack.server import Server
from tools.attack.watch import bounded, environment, room, small_disk


@contextmanager
def _prepared(case: Case, root: Path) -> Iterator[tuple[Mapping[str, str], str]]:
    """Make a case's inputs; yield their values by name, and the reason if they cannot be made."""
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        folder = Path(name)
        with small_disk(folder / "disk", case.mount) as lacking:
            inputs = {} if lacking else case.make(folder, root)
            yield {"folder": name, "disk": str(folder / "disk"), **inputs}, lacking


@cache
def _ordinary(words: tuple[str, ...], root: Path) -> float:
    """Megabytes that an ordinary command takes at most."""
    with tempfile.TemporaryDirectory() as home:
        return bounded([sys.executable, *words], root, environment(root, Path(home)), 300).peak


TRIES = 2  # of an attack after which another has waited, since the machine may have been busy with something else


def _of_library(case: Case, root: Path) -> Outcome:
    outcome = Outcome(case.name, case.against)
    with _prepared(case, root) as (inputs, outcome.skipped):
        if outcome.skipped:
            return outcome
        words = [word.format(**inputs) for word in case.run]
        env = environment(root, Path(inputs["folder"]) / "home", inputs)
        done = bounded([sys.executable, *words], root, env, case.seconds)
        outcome.seconds, outcome.peak, outcome.output = (
            done.seconds,
            max(0.0, done.peak - _ordinary(case.rest, root)),
            plain(done.output, inputs["folder"]),
        )
        outcome.falls += [done.why] if done.why else []
        unmet(case, outcome, done.output)
    return outcome


async def _of_served(case: Case, root: Path, find_target: Callable[[str, Mapping[str, str]], Target]) -> Outcome:
    outcome = Outcome(case.name, case.against)
    with _prepared(case, root) as (inputs, outcome.skipped):
        if outcome.skipped:
            return outcome
        target = find_target(case.against, inputs)
        output, log = await target.attacked(case, inputs, outcome)
        outcome.output = plain(output, inputs["folder"])
        unmet(case, outcome, output, log)
        if case.mount or outcome.falls:  # the next one meets a fresh process
            target.close()
    return outcome


def attacked(cases: list[Case], root: Path, tell: Callable[[Outcome], object]) -> list[Outcome]:
    """Run cases one after another; `tell` hears of each when it is over."""
    outcomes = []
    with targets(root, {"app": App, "server": Server}) as find_target:
        for case in cases:
            room()
            try:
                for _ in range(TRIES):
                    outcome = _of_library(case, root) if case.against == "library" else asyncio.run(_of_served(case, root, find_target))
                    if not outcome.waited:
                        break
            except Exception as error:  # errors of this tool, or of a target that cannot start
                outcome = Outcome(case.name, case.against, falls=[f"not carried out ({type(error).__name__}: {error})"])
            outcomes.append(outcome)
            tell(outcome)
    return outcomes

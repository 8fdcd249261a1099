"""The list of attacks: a few that cost little are carried out; verdicts follow from what was measured and said."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
from tools.attack import served
from tools.attack.__main__ import CASES, ROOT, chosen, full
from tools.attack.case import Case, Outcome, never, says, sentence, table, unmet
from tools.attack.runner import attacked
from tools.attack.watch import bounded, pace

QUICK = ("library/verify a folder", "library/archive: no zip", "server/deep JSON")


def test_names_are_unique_and_patterns_choose() -> None:
    names = [full(case) for case in CASES]
    assert len(set(names)) == len(names) > 100
    assert {case.against for case in CASES} == {"library", "app", "server"}
    assert [full(case) for case in chosen(["library/verify a*"])] == ["library/verify a pipe", "library/verify a folder"]
    assert chosen(["deep JSON"]) == chosen(["server/deep JSON"]) != []
    assert chosen([]) == list(CASES)


@pytest.mark.parametrize(
    ("measured", "message", "falls"),
    [
        ({}, "It is refused.", ""),
        ({"peak": 501.0}, "It is refused.", "501 MB"),
        ({"rest": 0.5, "felt": 9.0, "rest_work": 0.5, "work": 2.4}, "It is refused.", ""),
        ({"rest": 0.5, "felt": 1.5, "rest_work": 0.5, "work": 2.6}, "It is refused.", "another waited 1.5 s, 2.6 s of work"),
        ({"rest": 0.5, "felt": 31.0, "rest_work": 0.5, "work": 0.6}, "It is refused.", "another waited 31.0 s, 0.6 s of work"),
        ({}, "Traceback (most recent call last):\n  x\nrefused.BadError: of x", "Traceback (most recent (refused.BadError: of x)"),
        ({}, "It is taken.", "does not say 'refused'"),
    ],
)
def test_a_verdict_follows_from_what_was_measured_and_said(measured: dict[str, float], message: str, falls: str) -> None:
    case = Case("one", "library", lambda folder, root: {}, (), says("refused"))
    outcome = Outcome("one", "library", output=message, **measured)  # type: ignore[arg-type]
    unmet(case, outcome, message)
    assert "; ".join(outcome.falls) == falls
    assert outcome.verdict == (f"falls: {falls}" if falls else "holds") and outcome.verdict in table([outcome])


def test_what_is_said_is_judged_and_cut_to_a_sentence() -> None:
    assert never("equal")("") and never("equal")("It is equal.") and not never("equal")("It differs.")
    assert sentence("Rows: 10%|x\rThe file holds far more than a figure ever does. It is refused.") == (
        "The file holds far more than a figure ever does."
    )
    assert sentence("Traceback (most recent call last):\n  x\nKeyError: 'a'") == "KeyError: 'a'"


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="memory of processes is read from /proc")
def test_a_command_is_ended_when_it_takes_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that takes too much memory or time is ended, with all processes that it started."""
    monkeypatch.setattr("tools.attack.watch.MOST", 100)
    grows = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'x = []\\nwhile True: x.append(bytes(10**6))'])"
    assert "killed at" in bounded([sys.executable, "-c", grows], tmp_path, os.environ, 60).why
    assert bounded([sys.executable, "-c", "input()\nwhile True: pass"], tmp_path, os.environ, 60).code == 1
    assert "not done" in bounded([sys.executable, "-c", "while True: pass"], tmp_path, os.environ, 1).why


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="memory of processes is read from /proc")
def test_some_attacks_hold() -> None:
    outcomes = attacked([case for case in CASES if full(case) in QUICK], ROOT, lambda outcome: None)
    assert {result.name: result.verdict for result in outcomes} == {name.partition("/")[2]: "holds" for name in QUICK}


def test_work_is_counted_in_seconds_of_an_idle_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor second counts half while the machine makes half as many additions in it as if nothing else ran."""
    seconds = iter([0.0, 3.0, 3.0, 4.0])

    async def asked(answered: Callable[[], None]) -> None:
        answered()

    monkeypatch.setattr(served, "pace", lambda: 0.5)
    monkeypatch.setattr(served, "PAUSE", 0.0)
    meanwhile = served.Meanwhile(asked, lambda: next(seconds), answers=False)
    asyncio.run(meanwhile.go_on(2))
    assert meanwhile.slowest()[1] == 1.5 and not meanwhile.lost
    assert pace() > 0

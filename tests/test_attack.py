"""The list of attacks: a few that cost little are carried out; verdicts follow from what was measured and said."""

import asyncio
from collections.abc import Callable

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
from tools.attack import served
from tools.attack.__main__ import CASES, chosen, full
from tools.attack.case import Case, Outcome, never, says, sentence, table, unmet
from tools.attack.watch import pace


def test_verdicts_sentences_and_work_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    for measured, message, falls in (
        ({}, "It is refused.", ""),
        ({"peak": 501.0}, "It is refused.", "501 MB"),
        ({"rest": 0.5, "felt": 9.0, "rest_work": 0.5, "work": 2.4}, "It is refused.", ""),
        ({"rest": 0.5, "felt": 1.5, "rest_work": 0.5, "work": 2.6}, "It is refused.", "another waited 1.5 s, 2.6 s of work"),
        ({"rest": 0.5, "felt": 31.0, "rest_work": 0.5, "work": 0.6}, "It is refused.", "another waited 31.0 s, 0.6 s of work"),
        ({}, "Traceback (most recent call last):\n  x\nrefused.BadError: of x", "Traceback (most recent (refused.BadError: of x)"),
        ({}, "It is taken.", "does not say 'refused'"),
    ):
        case = Case("one", "library", lambda folder, root: {}, (), says("refused"))
        outcome = Outcome("one", "library", output=message, **measured)  # type: ignore[arg-type]
        unmet(case, outcome, message)
        assert "; ".join(outcome.falls) == falls
        assert outcome.verdict == (f"falls: {falls}" if falls else "holds") and outcome.verdict in table([outcome])
    assert never("equal")("") and never("equal")("It is equal.") and not never("equal")("It differs.")
    line = "The file holds far more than a figure ever does."
    assert sentence(f"Rows: 10%|x\r{line} It is refused.") == line
    assert sentence("Traceback (most recent call last):\n  x\nKeyError: 'a'") == "KeyError: 'a'"
    names = [full(case) for case in CASES]
    assert len(set(names)) == len(names) > 100
    assert {case.against for case in CASES} == {"library", "app", "server"}
    assert [full(case) for case in chosen(["library/verify a*"])] == ["library/verify a pipe", "library/verify a folder"]
    assert chosen(["deep JSON"]) == chosen(["server/deep JSON"]) != []
    assert chosen([]) == list(CASES)
    seconds = iter([0.0, 3.0, 3.0, 4.0])

    async def asked(answered: Callable[[], None]) -> None:
        answered()

    monkeypatch.setattr(served, "pace", lambda: 0.5)
    monkeypatch.setattr(served, "PAUSE", 0.0)
    meanwhile = served.Meanwhile(asked, lambda: next(seconds), answers=False)
    asyncio.run(meanwhile.go_on(2))
    assert meanwhile.slowest()[1] == 1.5 and not meanwhile.lost
    assert pace() > 0

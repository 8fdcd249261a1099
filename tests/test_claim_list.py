"""The list of claims for narrow screens: every claim once, with its sign, data set, verdict and effect; untrusted answers."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import streamlit as st

from app.components.claim_list import LETTERS, content, picked
from sentviz.analysis.claim import Effect, Finding
from sentviz.charts.colours import ink_on, palette
from sentviz.charts.verdicts import VERDICTS, verdict_colour
from tests.test_board import EACH, board_rows


def test_every_claim_is_listed_once_below_its_paper_and_group() -> None:
    """Rows keep their order. Papers are named if there are several; a group is named at its first row; words have verdict and effect."""
    effect = Effect(0.5, -0.2, 1.2, "points")
    first, second = board_rows(EACH, effect=effect), board_rows({"claim": "holds"}, paper="Two")
    rows = content(pd.concat([first, second], ignore_index=True), "", "light")["rows"]
    assert [verdict["key"] for row in rows for verdict in row["verdicts"]] == [*first["key"], *second["key"]]
    assert [row["paper"] for row in rows] == ["One", "", "", "", "Two"]
    assert [row["group"] for row in rows] == ["compared with installed runs, tested", "", "", "", "compared with installed runs, tested"]
    assert rows[0]["verdicts"] == [{"key": "One-claim 0", "verdict": "holds", "on": "Set", "words": "holds, +0.50 points [−0.20, +1.20]"}]
    assert rows[-1]["verdicts"][0]["words"] == "holds"
    assert {row["paper"] for row in content(first, "", "light")["rows"]} == {""}


def test_claims_of_one_row_are_one_row_and_those_of_no_data_set_are_overall() -> None:
    claims = board_rows({"a": "holds", "b": "fails"}).assign(row="Both", on=["", "Set"])
    (row,) = content(claims, "One-b", "dark")["rows"]
    assert row["words"] == "Both" and [verdict["on"] for verdict in row["verdicts"]] == ["overall", "Set"]


def test_the_parts_of_a_claim_follow_it() -> None:
    """Each part has its own button with its verdict, below the claim's, which has the level; all open the claim."""
    parts = (("phase 1", Finding("holds", "+0.4", effect=Effect(0.4))), ("phase 2", Finding("fails", "-0.2")))
    (row,) = content(board_rows({"a": "fails"}).assign(parts=pd.Series([parts]), p=0.03, adjusted=0.09), "", "light")["rows"]
    whole, first, second = row["verdicts"]
    assert whole["on"] == "Set" and whole["words"].endswith(
        "p = 0.03, after Benjamini and Hochberg = 0.09: not significant over the paper's board"
    )
    assert (first["on"], first["words"], first["verdict"]) == ("Set: phase 1", "holds, +0.40 points", "holds")
    assert (second["on"], second["words"]) == ("Set: phase 2", "does not hold") and {each["key"] for each in row["verdicts"]} == {"One-a"}


def test_colours_and_signs_are_those_of_the_board() -> None:
    for theme in ("light", "dark"):
        looks = content(board_rows(EACH), "", theme)["looks"]  # type: ignore[arg-type]
        for verdict in VERDICTS:
            colour = verdict_colour(verdict, palette(theme))  # type: ignore[arg-type]
            assert looks[verdict] == {"sign": LETTERS[verdict], "colour": colour, "ink": ink_on(colour)}
    assert len(set(LETTERS.values())) == len(VERDICTS)


@pytest.mark.parametrize(("answer", "key"), [({"pick": "ndt-0f06d0"}, "ndt-0f06d0"), ({"pick": 3}, ""), ({"pick": None}, ""), (None, "")])
def test_an_answer_that_is_no_text_is_ignored(answer: Any, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {"list": answer})
    assert picked("list") == key

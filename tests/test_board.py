"""The board of claims and its list for narrow screens: places, signs, effects, parts and levels of made-up claims; untrusted answers."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest
import streamlit as st

from app.components.claim_list import LETTERS, content, picked
from sentviz.analysis.claim import VERDICT_WORDS, Effect, Finding, Verdict
from sentviz.charts.board import board
from sentviz.charts.colours import DEFICIENCIES, THEMES, Theme, ink_on, palette, simulated
from sentviz.charts.figure import Figure
from sentviz.charts.look import Look
from sentviz.charts.verdicts import SIGNS, VERDICTS, effect_in_words, verdict_colour
from sentviz.errors import InputError
from sentviz.papers.studies.claims import ledger
from tests.test_colours import apart

EACH: dict[str, Verdict] = {f"claim {i}": verdict for i, verdict in enumerate(VERDICTS)}
PARTS = (("phase 1", Finding("holds", "+0.4", effect=Effect(0.4))), ("phase 2", Finding("fails", "-0.2")))


def board_rows(verdicts: dict[str, Verdict], *, paper: str = "One", effect: Effect | None = None) -> pd.DataFrame:
    """Claims of a row each, with these verdicts and no p."""
    usual = {"paper": paper, "name": paper.lower(), "on": "Set", "where": "section 1", "against": "runs here", "kind": "tested"}
    rest = {"evidence": "n = 3", "parts": (), "effect": effect, "p": float("nan"), "adjusted": float("nan")}
    rows = [usual | {"key": f"{paper}-{name}", "claim": f"{name} in full", "row": name, "verdict": verdict} | rest
            for name, verdict in verdicts.items()]  # fmt: skip
    return pd.DataFrame(rows, columns=[*usual, "key", "claim", "row", "verdict", *rest])


def bare(claims: pd.DataFrame, **options: Any) -> go.Figure:
    return board(claims, title="t", bare=True, **options).plot


def at_width(figure: Figure, width: int) -> go.Figure:
    return replace(figure, look=Look(width=width)).plot


def bars(plot: go.Figure) -> list[Any]:
    return [bar for bar in plot.data if bar.type == "bar" and len(bar.base)]


def test_columns_have_the_order_of_the_row_with_the_most_data_sets() -> None:
    """A first row that lacks a data set does not move it to the end; each claim stands in the column of its data set."""
    names = dict.fromkeys("abcde", VERDICTS[0])
    claims = board_rows(names).assign(row=list("xxyyy"), on=["first", "last", "first", "middle", "last"], against="data sets")
    plot = bare(claims)
    notes = [note.text for note in plot.layout.annotations]
    assert [note for note in notes if note in ("first", "middle", "last")] == ["first", "middle", "last"]
    (bar,) = bars(plot)
    places = {key: round(base + wide / 2) for (key, _), base, wide in zip(bar.customdata, bar.base, bar.x, strict=True)}
    assert places == {"One-a": 0, "One-b": 2, "One-c": 0, "One-d": 1, "One-e": 2}


def test_each_verdict_has_a_colour_and_a_sign() -> None:
    """A path of each kind or a question mark in every cell; the legend has one of each and counts; the open claim has a rim."""
    claims = board_rows(EACH)
    plot = bare(claims)
    paths = [shape.path for shape in plot.layout.shapes if shape.type == "path"]
    assert len(paths) == len(set(paths)) == len(SIGNS) == 3 and [note.text for note in plot.layout.annotations].count("<b>?</b>") == 1
    cells = {bar.customdata[0][0]: (bar.marker.color, bar.name) for bar in bars(plot)}
    wanted = {f"One-{name}": (verdict_colour(verdict, palette("light")), VERDICT_WORDS[verdict]) for name, verdict in EACH.items()}
    assert cells == wanted
    words = [note.text for note in board(claims, title="t").plot.layout.annotations]
    assert all(f"{VERDICT_WORDS[verdict]} <b>1</b>" in words for verdict in VERDICTS) and words.count("<b>?</b>") == 2
    (rim,) = [shape for shape in bare(claims, chosen="One-claim 2").layout.shapes if shape.type == "rect" and shape.line.width == 2.5]
    assert (rim.x0, rim.x1) == pytest.approx((-0.46, 0.46))


@pytest.mark.parametrize(("low", "value", "high"), [(-1.0, 0.5, 2.0), (3.0, 4.0, 5.0)])
def test_an_effect_stands_where_its_numbers_say(low: float, value: float, high: float) -> None:
    """Tick, line and dot of an effect share one scale around the null value and fit into the cell; without an interval there is no line."""
    plot = bare(board_rows({"a": "holds"}, effect=Effect(value, low, high, null=1.0)))
    tick, line, dot = (trace for trace in plot.data if trace.type == "scatter" and trace.mode != "text")
    assert tick.x[0] == tick.x[1]
    scale = (line.x[1] - line.x[0]) / (high - low)
    assert (line.x[0] - tick.x[0], dot.x[0] - tick.x[0]) == pytest.approx((scale * (low - 1), scale * (value - 1)))
    assert scale * max(abs(side - 1.0) for side in (low, value, high)) < 0.46 and -0.46 < line.x[0] < line.x[1] < 0.46
    assert len(bare(board_rows({"a": "holds"}, effect=Effect(value, null=1.0))).data[2].x) == 0


def test_an_effect_is_in_words_where_columns_leave_room() -> None:
    """An effect is on the right of a wide board of one column, below a heading; several papers in a narrow column are one tile a claim."""
    claims = board_rows({"A claim of some words": "holds", "b": "open"}, effect=Effect(4.0, 3.0, 5.0))
    plots = (at_width(board(claims, title="t"), width).data for width in (860, 300))
    wide, narrow = ([list(trace.text) for trace in plot if trace.type == "scatter" and trace.mode == "text"] for plot in plots)
    assert wide == [["effect", *["+4.00 points [+3.00, +5.00]"] * 2]] and not narrow
    both = board(pd.concat([board_rows(EACH), board_rows(EACH, paper="Two")], ignore_index=True), title="All")
    tiles, panels = (at_width(both, width) for width in (387, 800))
    assert {bar.name: len(bar.base) for bar in bars(tiles)} == dict.fromkeys(map(VERDICT_WORDS.__getitem__, VERDICTS), 2)
    assert tiles.layout.width == 387 and sum(1 for _ in panels.select_xaxes()) == 2


@pytest.mark.parametrize(
    ("effect", "words"),
    [(Effect(0.123, -0.05, 0.29), "+0.12 points [−0.05, +0.29]"),
     (Effect.from_share_difference(-0.0123, -0.02, -0.004), "−1.23 points [−2.00, −0.40]"),
     (Effect.from_share(0.5, 0.4, 0.6, 0.9), "50.0\u00a0% [40.0, 60.0]"),
     (Effect(13.4, 13.0, 15.7, "×", 5.3), "13.4 × [13.0, 15.7]"),
     (Effect(-0.3, unit=""), "−0.30")],
)  # fmt: skip
def test_an_effect_in_words(effect: Effect, words: str) -> None:
    assert effect_in_words(effect) == words


@pytest.mark.parametrize("theme", THEMES)
def test_colours_of_verdicts_stay_apart_for_every_eye(theme: Theme) -> None:
    """Verdict colours are more than 12 apart in CIELAB, for each colour deficiency too; settled verdicts contrast most with the paper."""
    colours = [verdict_colour(verdict, palette(theme)) for verdict in VERDICTS]
    for seen in (colours, *([simulated(colour, deficiency) for colour in colours] for deficiency in DEFICIENCIES)):
        assert min(apart(*pair) for pair in combinations(seen, 2)) > 12, seen
    away = [apart(colour, palette(theme).paper) for colour in colours]
    assert min(away[:2]) > max(away[2:])
    looks = content(board_rows(EACH), "", theme)["looks"]
    assert looks == {v: {"sign": LETTERS[v], "colour": colour, "ink": ink_on(colour)} for v, colour in zip(VERDICTS, colours, strict=True)}


def test_each_part_of_a_claim_has_its_own_cell() -> None:
    """Two cells side by side, each with the colour of its part, a tooltip that names part and claim, and a click that opens the claim."""
    first, second = bars(bare(board_rows({"a": "fails"}).assign(parts=pd.Series([PARTS]))))
    assert [bar.name for bar in (first, second)] == ["holds", "does not hold"]
    assert [bar.customdata[0][0] for bar in (first, second)] == ["One-a"] * 2
    assert "on phase 1; the claim as a whole does not hold" in first.customdata[0][1]
    assert first.base[0] + first.x[0] <= second.base[0] < 0.46


def test_a_verdict_that_does_not_survive_the_board_is_marked() -> None:
    """The tooltip has both p, the mark and the kind; the caption counts the decided claims by kind."""
    claims = board_rows({"a": "holds"}).assign(p=0.04, adjusted=0.2)
    figure = board(claims, title="t", bare=True)
    words = bars(figure.plot)[0].customdata[0][1].replace("<br>", " ")
    assert "p = 0.04, after Benjamini and Hochberg = 0.2: not significant over the paper's board" in words and "tested: " in words
    assert "1 decided: 1 tested (5 % risk each)" in figure.caption and figure.frame["kind"].tolist() == ["tested"]
    over = [ledger(each)["over_board"].tolist() for each in (claims, claims.assign(adjusted=0.05), board_rows(EACH))]
    assert over == [["not significant"], ["significant"], [""] * 4]


def test_strange_words_are_text_and_bad_input_is_a_sentence() -> None:
    figure = board(board_rows({"<b>x</b> & $y$": "holds"}, paper="<i>P"), title="<u>T")
    text = figure.plot.to_json()
    assert "<u>T" not in text and "<i>P" not in text and "<b>x</b> &amp;" not in figure.plot.layout.annotations[1].text
    with pytest.raises(InputError, match="There is no claim to show"):
        board(board_rows({}), title="t")
    with pytest.raises(InputError, match="200 pixels or more"):
        at_width(board(board_rows(EACH), title="t"), 100)


# ---- the list


def test_every_claim_is_listed_once_below_its_paper_and_group() -> None:
    """Papers are named if there are several, a group at its first row; claims of one row are one row, and parts follow their claim."""
    first, second = board_rows(EACH, effect=Effect(0.5, -0.2, 1.2, "points")), board_rows({"claim": "holds"}, paper="Two")
    rows = content(pd.concat([first, second], ignore_index=True), "", "light")["rows"]
    assert [verdict["key"] for row in rows for verdict in row["verdicts"]] == [*first["key"], *second["key"]]
    group = "compared with installed runs, tested"
    assert [(row["paper"], row["group"]) for row in rows] == [("One", group), *[("", "")] * 3, ("Two", group)]
    assert rows[0]["verdicts"] == [{"key": "One-claim 0", "verdict": "holds", "on": "Set", "words": "holds, +0.50 points [−0.20, +1.20]"}]
    assert rows[-1]["verdicts"][0]["words"] == "holds" and {row["paper"] for row in content(first, "", "light")["rows"]} == {""}
    (row,) = content(board_rows({"a": "holds", "b": "fails"}).assign(row="Both", on=["", "Set"]), "One-b", "dark")["rows"]
    assert row["words"] == "Both" and [verdict["on"] for verdict in row["verdicts"]] == ["overall", "Set"]
    (row,) = content(board_rows({"a": "fails"}).assign(parts=pd.Series([PARTS]), p=0.03, adjusted=0.09), "", "light")["rows"]
    level = "p = 0.03, after Benjamini and Hochberg = 0.09: not significant over the paper's board"
    whole, *parts = ((each["on"], each["words"]) for each in row["verdicts"])
    assert parts == [("Set: phase 1", "holds, +0.40 points"), ("Set: phase 2", "does not hold")]
    assert whole[0] == "Set" and whole[1].endswith(level) and {each["key"] for each in row["verdicts"]} == {"One-a"}


@pytest.mark.parametrize(("answer", "key"), [({"pick": "ndt-0f06d0"}, "ndt-0f06d0"), ({"pick": 3}, ""), ({"pick": None}, ""), (None, "")])
def test_an_answer_that_is_no_text_is_ignored(answer: Any, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {"list": answer})
    assert picked("list") == key

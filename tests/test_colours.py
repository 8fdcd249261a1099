"""One language of colour, which eyes of all kinds tell apart, and the board of claims that is drawn in it."""

import re
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
import pytest
import streamlit as st

from app.components.claim_list import LETTERS, content, picked
from sentviz.analysis.claim import VERDICT_WORDS, Effect, Finding, Verdict
from sentviz.charts.board import board
from sentviz.charts.colours import DEFICIENCIES, THEMES, Theme, class_colours, ink_on, palette, scaled, simulated, tone
from sentviz.charts.figure import Figure
from sentviz.charts.look import Look
from sentviz.charts.verdicts import SIGNS, VERDICTS, effect_in_words, verdict_colour
from sentviz.errors import InputError
from sentviz.papers.sevenessxin.figures import CURVE_COLOURS
from sentviz.papers.sevenessxin.versions import DRAWN
from sentviz.papers.studies.claims import ledger
from tests.kit import refused

HERE = Path(__file__).parents[1]
TWO = ["negative", "positive"]


def lab(colour: str) -> npt.NDArray[np.float64]:
    """Return CIE L*a*b* of ``#rrggbb`` for white D65."""
    light = []
    for i in (1, 3, 5):
        part = int(colour[i : i + 2], 16) / 255
        light.append(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
    r, g, b = light
    x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047
    y = 0.2126729 * r + 0.7151522 * g + 0.0721750 * b
    z = (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def apart(first: str, second: str) -> float:
    return float(np.linalg.norm(lab(first) - lab(second)))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])
def test_sides_are_told_apart_by_all_eyes(theme: Theme, deficiency: str | None) -> None:
    """Classes, for and against, wrong and right, and the first two series differ by at least 15 units of L*a*b*; roles share no colour."""
    colours = palette(theme)
    three = class_colours(["negative", "neutral", "positive"], theme)
    for role in (three, [colours.minus, colours.plus], [colours.wrong, colours.right], colours.lines[:2]):
        seen = role if deficiency is None else [simulated(colour, deficiency) for colour in role]
        assert min(apart(*pair) for pair in combinations(seen, 2)) > 15, (role, seen)
    roles = [class_colours(TWO, theme), [colours.minus, colours.plus], [colours.wrong, colours.right], list(colours.lines)]
    assert min(apart(a, b) for first, second in combinations(roles, 2) for a in first for b in second) > 10


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])
def test_curves_of_versions_are_told_apart_by_all_eyes(theme: Theme, deficiency: str | None) -> None:
    drawn = [palette(theme).line(number) for version, number in zip(DRAWN, CURVE_COLOURS, strict=True) if version != "7ess-v2"]
    seen = drawn if deficiency is None else [simulated(colour, deficiency) for colour in drawn]
    assert len(drawn) == 4 and min(apart(*pair) for pair in combinations(seen, 2)) > 10


def test_classes_and_numbers_have_colours_in_order() -> None:
    degrees = class_colours(["very negative", "negative", "neutral", "positive", "very positive"], "light")
    assert class_colours([f"{k} star{'s' * (k > 1)}" for k in range(1, 6)], "light") == degrees
    hues = [lab(colour)[2] for colour in degrees[1:4]]
    assert all(a > b for a, b in pairwise(hues))
    assert len(set(degrees)) == 5
    places = {"Negative": 0.25, "positive": 0.75, "neutral": 0.5, "bullish": 0.75, "very negative": 0.0, "9 stars": 1.0}
    assert {name: tone(name) for name in places} == places
    assert [tone(name) for name in ("spam", "not negative", "")] == [None] * 3
    assert class_colours(["positive", "negative"], "light") == class_colours(TWO, "light")[::-1]
    lines = list(palette("light").lines)
    assert class_colours(["entailment", "neutral", "contradiction"], "light") == lines[:3]
    assert class_colours([f"c{i}" for i in range(9)], "light") == [*lines, *lines[:2]]
    for colour in ("#000000", "#ffffff", "#c75f10", "#2673b2"):
        grey = simulated(colour, "greys")
        assert grey[1:3] == grey[3:5] == grey[5:7] and abs(lab(grey)[0] - lab(colour)[0]) < 0.5
    assert simulated("#ffffff", "protanopia") == "#ffffff"
    look = palette("dark")
    sure = scaled([1 / 2, 10 / 11, 100 / 101], "confidence", look)
    np.testing.assert_allclose(sure.places, [0, 0.5, 1], atol=1e-9)
    assert sure.ticks == ("50\u00a0%", "91\u00a0%", "99\u00a0%")
    long = scaled([2, 20, 200, 20], "length", look)
    np.testing.assert_allclose(long.places, [0, 0.5, 1, 0.5], atol=1e-9)
    assert long.ticks == ("2", "20", "200")
    for kind in ("confidence", "length"):
        equal = scaled([1.0, 1.0], kind, look)
        assert equal.places.tolist() == [0, 0] and len(set(equal.ticks)) == 1
    scale = scaled([0.5, 0.99995, 1.0], "confidence", look)
    assert scale.places[1] == scale.places[2] == 1 and scale.ticks[2] == "99.99\u00a0%"


def test_no_module_has_colours_of_its_own() -> None:
    own = {"charts/colours.py", "charts/look.py", "export/files.py", "browser/bertviz.py"}
    modules = [path for folder in ("sentviz", "app") for path in (HERE / folder).rglob("*.py")]
    coloured = {path for path in modules if re.search(r"[\"']#[0-9a-fA-F]{6}[\"']", path.read_text(encoding="utf-8"))}
    assert coloured == {HERE / "sentviz" / name for name in own}


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


def test_each_verdict_has_a_colour_and_a_sign() -> None:
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


def test_an_effect_is_in_words_where_columns_leave_room() -> None:
    claims = board_rows({"A claim of some words": "holds", "b": "open"}, effect=Effect(4.0, 3.0, 5.0))
    plots = (at_width(board(claims, title="t"), width).data for width in (860, 300))
    wide, narrow = ([list(trace.text) for trace in plot if trace.type == "scatter" and trace.mode == "text"] for plot in plots)
    assert wide == [["effect", *["+4.00 points [+3.00, +5.00]"] * 2]] and not narrow
    both = board(pd.concat([board_rows(EACH), board_rows(EACH, paper="Two")], ignore_index=True), title="All")
    tiles, panels = (at_width(both, width) for width in (387, 800))
    assert {bar.name: len(bar.base) for bar in bars(tiles)} == dict.fromkeys(map(VERDICT_WORDS.__getitem__, VERDICTS), 2)
    assert tiles.layout.width == 387 and sum(1 for _ in panels.select_xaxes()) == 2
    for effect, words in (
        (Effect(0.123, -0.05, 0.29), "+0.12 points [−0.05, +0.29]"),
        (Effect.from_share_difference(-0.0123, -0.02, -0.004), "−1.23 points [−2.00, −0.40]"),
        (Effect.from_share(0.5, 0.4, 0.6, 0.9), "50.0\u00a0% [40.0, 60.0]"),
        (Effect(13.4, 13.0, 15.7, "×", 5.3), "13.4 × [13.0, 15.7]"),
        (Effect(-0.3, unit=""), "−0.30"),
    ):
        assert effect_in_words(effect) == words


@pytest.mark.parametrize("theme", THEMES)
def test_colours_of_verdicts_stay_apart_for_every_eye(theme: Theme) -> None:
    colours = [verdict_colour(verdict, palette(theme)) for verdict in VERDICTS]
    for seen in (colours, *([simulated(colour, deficiency) for colour in colours] for deficiency in DEFICIENCIES)):
        assert min(apart(*pair) for pair in combinations(seen, 2)) > 12, seen
    away = [apart(colour, palette(theme).paper) for colour in colours]
    assert min(away[:2]) > max(away[2:])
    looks = content(board_rows(EACH), "", theme)["looks"]
    assert looks == {v: {"sign": LETTERS[v], "colour": colour, "ink": ink_on(colour)} for v, colour in zip(VERDICTS, colours, strict=True)}


def test_parts_and_strange_words_of_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = bars(bare(board_rows({"a": "fails"}).assign(parts=pd.Series([PARTS]))))
    assert [bar.name for bar in (first, second)] == ["holds", "does not hold"]
    assert [bar.customdata[0][0] for bar in (first, second)] == ["One-a"] * 2
    assert "on phase 1; the claim as a whole does not hold" in first.customdata[0][1]
    assert first.base[0] + first.x[0] <= second.base[0] < 0.46
    claims = board_rows({"a": "holds"}).assign(p=0.04, adjusted=0.2)
    figure = board(claims, title="t", bare=True)
    words = bars(figure.plot)[0].customdata[0][1].replace("<br>", " ")
    assert "p = 0.04, after Benjamini and Hochberg = 0.2: not significant over the paper's board" in words and "tested: " in words
    assert "1 decided: 1 tested (5 % risk each)" in figure.caption and figure.frame["kind"].tolist() == ["tested"]
    over = [ledger(each)["over_board"].tolist() for each in (claims, claims.assign(adjusted=0.05), board_rows(EACH))]
    assert over == [["not significant"], ["significant"], [""] * 4]
    figure = board(board_rows({"<b>x</b> & $y$": "holds"}, paper="<i>P"), title="<u>T")
    text = figure.plot.to_json()
    assert "<u>T" not in text and "<i>P" not in text and "<b>x</b> &amp;" not in figure.plot.layout.annotations[1].text
    refused(InputError, "There is no claim to show", board, board_rows({}), title="t")
    refused(InputError, "200 pixels or more", at_width, board(board_rows(EACH), title="t"), 100)
    for answer, key in (({"pick": "ndt-0f06d0"}, "ndt-0f06d0"), ({"pick": 3}, ""), (None, "")):
        monkeypatch.setattr(st, "session_state", {"list": answer})
        assert picked("list") == key


def test_every_claim_is_listed_once_below_its_paper_and_group() -> None:
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

"""The board of claims against the ledger, its colours against simulated colour blindness, and what a narrow column shows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pandas as pd
import plotly.graph_objects as go
import pytest

from sentviz.analysis.claim import VERDICT_WORDS, Effect, Finding, Verdict
from sentviz.charts.board import board
from sentviz.charts.colours import DEFICIENCIES, THEMES, Theme, palette, simulated
from sentviz.charts.figure import Figure
from sentviz.charts.look import Look
from sentviz.charts.verdicts import SIGNS, VERDICTS, effect_in_words, verdict_colour
from sentviz.errors import InputError
from sentviz.papers.studies.claims import claims_of, judged
from sentviz.papers.studies.claims import ledger as plain_ledger
from sentviz.runs.registry import papers
from tests.test_colours import apart

pytestmark = pytest.mark.slow  # trains, or reads the whole shelf


def board_rows(verdicts: dict[str, Verdict], *, paper: str = "One", effect: Effect | None = None) -> pd.DataFrame:
    """Claims of a row each, with these verdicts and no p."""
    levels = float("nan"), float("nan")
    rows = [
        (
            paper,
            paper.lower(),
            f"{paper}-{claim}",
            f"{claim} in full",
            claim,
            "Set",
            "section 1",
            "runs here",
            "tested",
            verdict,
            "n = 3",
            (),
            effect,
            *levels,
        )
        for claim, verdict in verdicts.items()
    ]
    columns = [
        "paper",
        "name",
        "key",
        "claim",
        "row",
        "on",
        "where",
        "against",
        "kind",
        "verdict",
        "evidence",
        "parts",
        "effect",
        "p",
        "adjusted",
    ]
    return pd.DataFrame(rows, columns=columns)


def at_width(figure: Figure, width: int) -> go.Figure:
    return replace(figure, look=Look(width=width)).plot


EACH: dict[str, Verdict] = {f"claim {i}": verdict for i, verdict in enumerate(VERDICTS)}


@pytest.fixture(scope="module")
def ledger() -> pd.DataFrame:
    """Every claim of every paper, judged without a run."""
    return judged([])


@pytest.mark.exhaustive
def test_every_claim_of_the_ledger_is_one_cell(ledger: pd.DataFrame) -> None:
    """On the poster and on each paper's board, every claim, or each of its parts, has one cell with its key, verdict colour and tooltip."""
    for claims in (ledger, *(group for _, group in ledger.groupby("paper"))):
        figure = board(claims, title="All")
        cells = dict[str, set[tuple[str, str]]]()
        places = set()
        for bar in (trace for trace in figure.plot.data if trace.type == "bar"):
            for (key, words), base, at in zip(bar.customdata, bar.base, bar.y, strict=True):
                cells.setdefault(key, set()).add((bar.marker.color, words.partition("</b>")[0].removeprefix("<b>")))
                places.add((bar.xaxis, round(base, 3), at))
        assert len(places) == sum(max(1, len(parts)) for parts in claims["parts"]) and len(figure.frame) == len(claims)
        for row in claims.to_dict("records"):
            verdicts = {part.verdict for _, part in row["parts"]} or {row["verdict"]}
            assert cells[row["key"]] == {(verdict_colour(verdict, palette("light")), VERDICT_WORDS[verdict]) for verdict in verdicts}
        pd.testing.assert_series_equal(figure.frame["verdict"], claims["verdict"].map(VERDICT_WORDS).reset_index(drop=True))


@pytest.mark.exhaustive
def test_rows_and_columns_are_those_of_the_claims(ledger: pd.DataFrame) -> None:
    """Each row's words and each data set are written once a panel; claims of one row stand in the columns of their data sets."""
    for paper, claims in ledger.groupby("paper"):
        figure = board(claims, title="All")
        notes = [note.text.replace("<br>", " ") for note in figure.plot.layout.annotations]
        for _, group in claims.groupby(["against", "row"]):
            assert group["row"].iloc[0] in [text.replace("&lt;", "<") for text in notes], paper
        by_row = sorted((list(filter(None, on)) for _, on in claims.groupby("row", sort=False)["on"]), key=len, reverse=True)
        order = [*([""] if "" in set(claims["on"]) else []), *dict.fromkeys(on for row in by_row for on in row)]
        columns = {on: i for i, on in enumerate(order)}
        for bar in (trace for trace in figure.plot.data if trace.type == "bar"):
            for (key, _), base, width in zip(bar.customdata, bar.base, bar.x, strict=True):
                assert round(base + width / 2) == columns[claims.set_index("key").loc[key, "on"]]


def test_columns_have_the_order_of_the_row_with_the_most_data_sets() -> None:
    """A first row that lacks a data set does not move it to the end."""
    claims = (
        pd.concat([board_rows(EACH)] * 5, ignore_index=True)
        .iloc[:5]
        .assign(row=["a", "a", "b", "b", "b"], on=["first", "last", "first", "middle", "last"], against="data sets")
    )
    notes = [note.text for note in board(claims.assign(key=list("abcde")), title="t", bare=True).plot.layout.annotations]
    assert [note for note in notes if note in ("first", "middle", "last")] == ["first", "middle", "last"]


def test_the_sign_is_there_for_who_sees_no_colour() -> None:
    """A path of each kind or a question mark in every cell; the legend has one of each and counts."""
    claims = board_rows(EACH)
    bare = board(claims, title="t", bare=True).plot.layout
    paths = [shape for shape in bare.shapes if shape.type == "path"]
    assert len(paths) == len(SIGNS) == 3 and len({shape.path for shape in paths}) == 3
    assert [note.text for note in bare.annotations].count("<b>?</b>") == 1
    whole = board(claims, title="t").plot.layout
    words = [note.text for note in whole.annotations]
    assert all(f"{VERDICT_WORDS[verdict]} <b>1</b>" in words for verdict in VERDICTS) and words.count("<b>?</b>") == 2


@pytest.mark.parametrize(("low", "value", "high"), [(-1.0, 0.5, 2.0), (3.0, 4.0, 5.0)])
def test_an_effect_stands_where_its_numbers_say(low: float, value: float, high: float) -> None:
    """Tick, line and dot of an effect share one scale around the null value and fit into the cell; without an interval there is no line."""
    claims = board_rows({"a": "holds"}, effect=Effect(value, low, high, null=1.0))
    lines = [trace for trace in board(claims, title="t", bare=True).plot.data if trace.type == "scatter" and trace.mode != "text"]
    tick, line, dot = lines
    reach = max(abs(side - 1.0) for side in (low, value, high))
    assert tick.x[0] == tick.x[1]
    scale = (line.x[1] - line.x[0]) / (high - low)
    assert line.x[0] - tick.x[0] == pytest.approx(scale * (low - 1)) and dot.x[0] - tick.x[0] == pytest.approx(scale * (value - 1))
    assert scale * reach < 0.46 and -0.46 < line.x[0] < line.x[1] < 0.46
    alone = board_rows({"a": "holds"}, effect=Effect(value, null=1.0))
    assert len(board(alone, title="t", bare=True).plot.data[2].x) == 0


def test_an_effect_is_in_words_where_columns_leave_room() -> None:
    """A board of one column has its effects in words on the right, with the heading "effect"; a narrow board has none."""
    claims = board_rows({"A claim of some words": "holds", "b": "open"}, effect=Effect(4.0, 3.0, 5.0))
    wide, narrow = (
        [list(trace.text) for trace in at_width(board(claims, title="t"), width).data if trace.type == "scatter" and trace.mode == "text"]
        for width in (860, 300)
    )
    assert wide == [["effect", *["+4.00 points [+3.00, +5.00]"] * 2]] and not narrow


@pytest.mark.parametrize("theme", THEMES)
def test_colours_of_verdicts_stay_apart_for_every_eye(theme: Theme) -> None:
    """Verdict colours are more than 12 apart in CIELAB, for each colour deficiency too; settled verdicts contrast most with the paper."""
    colours = [verdict_colour(verdict, palette(theme)) for verdict in VERDICTS]
    for seen in (colours, *([simulated(colour, deficiency) for colour in colours] for deficiency in DEFICIENCIES)):
        assert min(apart(*pair) for pair in combinations(seen, 2)) > 12, seen
    away = [apart(colour, palette(theme).paper) for colour in colours]
    assert min(away[:2]) > max(away[2:])


@pytest.mark.exhaustive
def test_several_papers_in_a_narrow_column_are_tiles(ledger: pd.DataFrame) -> None:
    """One tile a claim, as many of each verdict as there are, within the frame; wider, and of one paper, there are panels."""
    narrow, wide = (at_width(board(ledger, title="All"), width) for width in (387, 800))
    counts = {bar.name: len(bar.base) for bar in narrow.data}
    assert {name: n for name, n in counts.items() if n} == ledger["verdict"].map(VERDICT_WORDS).value_counts().to_dict()
    assert max(base + 0.92 for bar in narrow.data for base in bar.base or ()) <= narrow.layout.xaxis.range[1] + 1e-9
    assert narrow.layout.width == 387 and narrow.layout.height < 700
    assert sum(1 for _ in wide.select_xaxes()) == ledger["paper"].nunique()
    assert sum(1 for _ in at_width(board(board_rows(EACH), title="t"), 387).select_xaxes()) == 1


def test_each_part_of_a_claim_has_its_own_cell() -> None:
    """Two cells side by side, each with the colour of its part, a tooltip that names part and claim, and a click that opens the claim."""
    parts = (("phase 1", Finding("holds", "+0.4")), ("phase 2", Finding("fails", "-0.2")))
    claims = board_rows({"a": "fails"}).assign(parts=pd.Series([parts]))
    bars = [bar for bar in board(claims, title="t", bare=True).plot.data if bar.type == "bar"]
    assert [bar.name for bar in bars] == ["holds", "does not hold"]
    assert [bar.customdata[0][0] for bar in bars] == ["One-a"] * 2
    assert "on phase 1; the claim as a whole does not hold" in bars[0].customdata[0][1]
    assert bars[0].base[0] + bars[0].x[0] <= bars[1].base[0] < 0.46


def test_a_verdict_that_does_not_survive_the_board_is_marked() -> None:
    """The tooltip has both p, the mark and the kind; the caption counts the decided claims by kind."""
    claims = board_rows({"a": "holds"}).assign(p=0.04, adjusted=0.2)
    figure = board(claims, title="t", bare=True)
    words = next(bar for bar in figure.plot.data if bar.type == "bar").customdata[0][1].replace("<br>", " ")
    assert "p = 0.04, after Benjamini and Hochberg = 0.2: not significant over the paper's board" in words
    assert "tested: a test or an interval that decides with 5 % risk" in words
    assert "1 decided: 1 tested (5 % risk each)" in figure.caption
    assert plain_ledger(claims)["over_board"].tolist() == ["not significant"] and figure.frame["kind"].tolist() == ["tested"]
    sure = plain_ledger(claims.assign(adjusted=0.05))
    assert sure["over_board"].tolist() == ["significant"] and plain_ledger(board_rows(EACH))["over_board"].tolist() == [""] * 4


def test_the_claim_that_is_open_is_marked() -> None:
    claims = board_rows(EACH)
    plain, marked = (board(claims, title="t", chosen=key).plot.layout.shapes for key in ("", "One-claim 2"))
    (rim,) = [shape for shape in marked if shape.type == "rect" and shape.line.width == 2.5]
    assert len(marked) == len(plain) + 1 and rim.x0 == pytest.approx(-0.46) and rim.x1 == pytest.approx(0.46)


def test_strange_words_are_text_and_bad_input_is_a_sentence() -> None:
    figure = board(board_rows({"<b>x</b> & $y$": "holds"}, paper="<i>P"), title="<u>T")
    text = figure.plot.to_json()
    assert "<u>T" not in text and "<i>P" not in text and "<b>x</b> &amp;" not in figure.plot.layout.annotations[1].text
    with pytest.raises(InputError, match="There is no claim to show"):
        board(board_rows({}), title="t")
    with pytest.raises(InputError, match="200 pixels or more"):
        at_width(board(board_rows(EACH), title="t"), 100)


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        (Effect(0.123, -0.05, 0.29), "+0.12 points [−0.05, +0.29]"),
        (Effect.from_share_difference(-0.0123, -0.02, -0.004), "−1.23 points [−2.00, −0.40]"),
        (Effect.from_share(0.5, 0.4, 0.6, 0.9), "50.0\u00a0% [40.0, 60.0]"),
        (Effect(13.4, 13.0, 15.7, "×", 5.3), "13.4 × [13.0, 15.7]"),
        (Effect(-0.3, unit=""), "−0.30"),
    ],
)
def test_an_effect_in_words(effect: Effect, words: str) -> None:
    assert effect_in_words(effect) == words


@pytest.mark.exhaustive
def test_claims_have_short_rows_and_known_places(ledger: pd.DataFrame) -> None:
    """Words that fit a printed column; keys that name one claim; every figure that shows one is registered, every part is on the page."""
    assert ledger["key"].is_unique and ledger["row"].str.len().max() <= 46
    for paper in papers().values():
        for claim in claims_of(paper):
            assert claim.against != "runs here" or claim.data, claim.statement
            assert claim.on == "" or claim.data, claim.statement

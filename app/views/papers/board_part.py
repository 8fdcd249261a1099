"""The board of claims: a click on a cell, or a choice from the list, opens a claim's evidence, figure, runs and test."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from app import visit
from app.blocks.figure import export_menu, in_theme, picking, show_drawn
from app.blocks.sections import study_figure
from app.components.claim_list import LETTERS, claim_list, picked
from app.shared import once
from app.text import halves, md, page_theme
from sentviz.analysis.claim import HOW, KINDS, VERDICT_WORDS, Claim, Verdict, decided_in_words, level_in_words
from sentviz.charts import Figure
from sentviz.charts.board import heading
from sentviz.charts.colours import ink_on, palette
from sentviz.charts.gallery import code
from sentviz.charts.look import Look
from sentviz.charts.registry import find_figure
from sentviz.charts.verdicts import VERDICTS, effect_in_words, verdict_colour
from sentviz.io.lazy import pd
from sentviz.papers.studies.claims import claims_of
from sentviz.papers.studies.figures import drawn
from sentviz.papers.studies.verdicts import runs_for_claims, tested_runs, verdicts
from sentviz.runs.registry import Paper, find_paper, papers
from sentviz.runs.store import Run

ICONS: dict[Verdict, str] = {
    "holds": ":material/check_circle:",
    "fails": ":material/cancel:",
    "open": ":material/help:",
    "unjudged": ":material/inventory_2:",
}
OWN = "Of these runs, only seed 0 is stored with weights, so intervals are over texts and not over seeds."
HALF = 640  # pixels of a board beside another
_judged = once(16, "Testing the claims")(verdicts)


def judged(runs: Sequence[Run], names: Sequence[str] = ()) -> pd.DataFrame:
    """The claims of papers, of all without names, with their verdicts as `sentviz.papers.studies.claims.judged` gives them."""
    return pd.concat([_judged(runs, [name]) for name in names or papers()], ignore_index=True)


@once(64)
def _drawn(verdicts: tuple[tuple[str, str], ...], chosen: str, bare: bool, runs: Sequence[Run], _claims: pd.DataFrame) -> Figure:
    figure = drawn(_claims, () if bare else runs, chosen=chosen, bare=bare)
    return replace(figure, look=Look(width=HALF)) if bare else figure


def _figure(claims: pd.DataFrame, runs: Sequence[Run], *, chosen: str = "", bare: bool = False) -> Figure:
    verdicts = tuple(zip(claims["key"], claims["verdict"], strict=True))
    return _drawn(verdicts, chosen if chosen in set(claims["key"]) else "", bare, runs, claims)


def opened() -> str:
    """Return the key of the claim that is open on this page; "" if none is."""
    return visit.page_value("claim", "", lambda value: value if re.fullmatch(r"[a-z0-9-]+-[0-9a-f]{6}", value) else None)


def _clickable(key: str) -> dict[str, Any]:
    """Return the arguments of a plot whose cells open their claims."""
    return picking(key, lambda point: visit.toggle("claim", str(point.data[0])), "claim")


def _listed_claims(claims: pd.DataFrame, *, with_counts: bool) -> None:
    """Draw the claims as a list in place of boards, which needs less width; a page that is wide enough hides the list."""

    def take() -> None:
        if (key := picked("claim-list-rows")) in set(claims["key"]):
            visit.toggle("claim", key)

    with st.container(key="claim-list"):
        if with_counts:
            counted(claims)
        claim_list(claims, opened(), page_theme(), key="claim-list-rows", on_pick=take)


def board(paper: Paper, claims: pd.DataFrame, runs: Sequence[Run]) -> None:
    """The board of a paper with its caption and export menu, as wide as the page. An open claim is on the right of the board; if it has no
    figure, it is below the board.
    """
    key, claim = f"board-{paper.name}", next((claim for claim in claims_of(paper) if claim.key(paper.name) == opened()), None)
    beside = claim is not None and bool(claim.figure)
    _listed_claims(claims, with_counts=True)
    left, right = halves(key, 1.2, 1.0)
    with left:
        show_drawn(
            lambda: _figure(claims, runs, chosen=opened()),
            key,
            code=code(paper.name, "claims-board"),
            **_clickable(key),
        )
    with right:  # hidden if no claim is open on this side, so that the board stays the same element
        if beside:
            details(claims, runs, beside=True)
    if not beside:
        details(claims, runs)


def poster(claims: pd.DataFrame, runs: Sequence[Run]) -> None:
    """The boards of several papers, in two columns where there is room for them, with one export menu for all as one picture.

    An open claim stands over the column that does not have its cell.
    """
    chosen = opened()
    boards = {
        str(name): in_theme(_figure(group, runs, chosen=chosen, bare=True), page_theme())
        for name, group in claims.groupby("name", sort=False)
    }
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="figure-poster"):
        counted(claims)
        export_menu(lambda: _figure(claims, runs), "board-claims", "poster", code=code("all", "claims-board"))
    _listed_claims(claims, with_counts=False)
    heights, columns, over = [0, 0], halves("poster"), "right"
    for name, figure in boards.items():
        place = heights.index(min(heights))
        heights[place] += int(figure.plot.layout.height)
        columns[place].plotly_chart(
            figure.plot,
            theme=None,
            key=f"plot-poster-{name}",
            alt=figure.caption,
            config={"displaylogo": False, "displayModeBar": False},
            **_clickable(f"poster-{name}"),
        )
        if chosen in set(claims.loc[claims["name"] == name, "key"]):
            over = "left" if place else "right"
    chooser(claims)
    details(claims, runs, over=over)


def counted(claims: pd.DataFrame) -> None:
    """Show the number of claims with each verdict, in the colours and signs of the board, and the decided ones by kind."""
    counts, colours = claims["verdict"].value_counts(), palette(page_theme())
    box = "display:inline-block;width:1.05em;line-height:1.05em;border-radius:3px;text-align:center;font-weight:700"
    words = " &nbsp; ".join(
        f'<span style="{box};background:{colour};color:{ink_on(colour)}">{LETTERS[verdict]}</span>'
        f" {VERDICT_WORDS[verdict]} <b>{counts.get(verdict, 0)}</b>"
        for verdict in VERDICTS
        for colour in [verdict_colour(verdict, colours)]
    )
    st.html(f"<div>{words}<br><small>{decided_in_words(claims['verdict'], claims['kind'])}</small></div>", width="stretch")


# ---- one claim


def chooser(claims: pd.DataFrame) -> None:
    """Show a select box of all claims, an alternative to clicking a cell."""
    words = {row["key"]: f"{LETTERS[row['verdict']]} {row['claim']}" for row in claims.to_dict("records")}
    chosen = opened()
    st.selectbox(
        "Claim",
        list(words),
        None,
        format_func=lambda key: words.get(key, key),
        placeholder="Click a cell, or choose a claim, to see its evidence, figure, runs and test",
        label_visibility="collapsed",
        **visit.bound("claim", chosen if chosen in words else None, put=lambda key: key or ""),
    )


def details(claims: pd.DataFrame, runs: Sequence[Run], *, beside: bool = False, over: str = "") -> None:
    """The claim in focus: its words, evidence, test, figure and runs, and the part of its paper's page that shows it.

    Args:
        beside: whether it stands in a column of the page. over: side of the window over which it stands, "left" or "right"; "" = below.
    """
    row = next((row for row in claims.to_dict("records") if row["key"] == opened()), None)
    if row is None:
        return
    with st.container(key="claim-beside" if beside else f"claim-sheet-over-{over}" if over else "claim-sheet"):
        paper = find_paper(row["name"])
        claim = next((item for item in claims_of(paper) if item.key(paper.name) == row["key"]), None)
        in_columns = not beside and not over and claim is not None and claim.figure
        left, right = halves("claim", 1.0, 1.0) if in_columns else (st.container(), st.container())
        with left:
            _words(row, claim, paper)
        if claim is not None:
            with right:
                _shown(claim, runs)
            _behind(claim, paper, runs)


def _words(row: dict[Any, Any], claim: Claim | None, paper: Paper) -> None:
    st.markdown(f"##### {ICONS[row['verdict']]} {md(row['claim'])}")
    effect = row["effect"]
    number = "" if effect is None else f" · {md(effect_in_words(effect))}" + (f" ({md(effect.of)})" if effect.of else "")
    st.markdown(f"**{VERDICT_WORDS[row['verdict']]}**{number}")
    if level := level_in_words(row["p"], row["adjusted"]):
        st.caption(md(level))
    for rows, finding in row["parts"]:
        st.caption(f"{ICONS[finding.verdict]} On {md(rows)} it **{VERDICT_WORDS[finding.verdict]}**: {md(finding.evidence)}")
    if not row["parts"]:
        st.caption(md(row["evidence"]))
    how = (claim.how if claim else "") or HOW[row["against"]]
    places = ", ".join(filter(None, (paper.short, row["where"])))
    st.caption(md(f"{places}; {heading(row['against'], row['kind'])} ({KINDS[row['kind']]}). Test: {how}."))
    titles = {section.name: section.title for section in paper.page.sections}
    with st.container(horizontal=True, gap="small"):
        if claim is not None and claim.shows in titles:
            go = {"part": claim.shows} | ({"study": claim.data[0]} if claim.data else {})
            leave = st.button(f"Open {titles[claim.shows]}", icon=":material/arrow_forward:", type="tertiary", key="claim-open")
            if leave:
                visit.go(**go)
                st.switch_page(st.session_state["pages"][paper.page.url])
        st.button("Close", icon=":material/close:", type="tertiary", key="claim-close", on_click=visit.go, kwargs={"claim": ""})


def _shown(claim: Claim, runs: Sequence[Run]) -> None:
    """Draw the figure that shows an opened claim."""
    if not claim.figure:
        return
    spec = find_figure(claim.figure)
    of = claim.data[0] if claim.data and claim.data[0] in spec.names else spec.names[0]
    show_drawn(partial(study_figure, claim.figure, of, runs), "claim-figure", code=code(of, claim.figure))


def _behind(claim: Claim, paper: Paper, runs: Sequence[Run]) -> None:
    readable = runs_for_claims(paper, runs, claim.data) if claim.data and claim.against == "runs here" else []
    if not readable:
        return
    with st.expander(f"The {len(readable)} runs that the test may read", on_change="rerun", key="claim-runs") as more:
        if more.open:
            st.dataframe(tested_runs(readable), hide_index=True, height=220, key="claim-runs-table")


def show_findings(claims: Sequence[Claim], runs: Sequence[Run]) -> None:
    """Test claims of no paper on runs, and show each with its verdict and the evidence of each run."""
    for claim in claims:
        finding = claim.test(runs)
        st.markdown(f"{ICONS[finding.verdict]} **{claim.statement}**: {VERDICT_WORDS[finding.verdict]}. Test: {claim.how}.")
        if finding.parts:
            parts = [(name, VERDICT_WORDS[part.verdict], part.evidence) for name, part in finding.parts]
            st.table(pd.DataFrame(parts, columns=["run", "verdict", "evidence"]).map(md).set_index("run"))
    st.caption(OWN)

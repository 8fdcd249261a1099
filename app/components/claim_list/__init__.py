"""The claims of papers as a list, for screens that are too narrow for a board; a click on a verdict opens its claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import streamlit as st

from sentviz.analysis.claim import VERDICT_WORDS, Effect, Verdict, level_in_words
from sentviz.browser.kit import front
from sentviz.charts import Theme
from sentviz.charts.board import NOWHERE, heading
from sentviz.charts.colours import ink_on, palette
from sentviz.charts.verdicts import VERDICTS, effect_in_words, verdict_colour
from sentviz.io.lazy import pd

__all__ = ["LETTERS", "claim_list", "content", "picked"]

LETTERS: dict[Verdict, str] = {"holds": "✓", "fails": "✗", "open": "?", "unjudged": "–"}

_HTML, _CSS, _JS = front(Path(__file__).parent, "list")
_RENDER = st.components.v2.component("claim_list", html=_HTML, css=_CSS, js=_JS)


def content(claims: pd.DataFrame, chosen: str, theme: Theme) -> dict[str, Any]:
    """Return what the browser shows.

    Args:
        claims: as `sentviz.papers.studies.claims.judged` returns them.
        chosen: key of the open claim; "" if none is open.
    """
    colours = {verdict: verdict_colour(verdict, palette(theme)) for verdict in VERDICTS}
    return {
        "looks": {verdict: {"sign": LETTERS[verdict], "colour": colour, "ink": ink_on(colour)} for verdict, colour in colours.items()},
        "chosen": chosen,
        "rows": list(_rows(claims)),
    }


def _rows(claims: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield each row of the boards: paper (at its first row, if there are several), group (at its first row), words, and verdicts
    on claims and their parts."""
    several = claims["name"].nunique() > 1
    for paper, of_paper in claims.groupby("paper", sort=False):
        name = str(paper) if several else ""
        for (against, kind), group in of_paper.groupby(["against", "kind"], sort=False):
            title = heading(str(against), str(kind))
            for words, row in group.groupby("row", sort=False):
                yield {
                    "paper": name,
                    "group": title,
                    "words": str(words),
                    "verdicts": [verdict for claim in row.to_dict("records") for verdict in _verdicts(claim)],
                }
                name = title = ""


def _verdicts(claim: dict[Any, Any]) -> Iterator[dict[str, str]]:
    """Yield the verdict on a claim, then the verdict on each of its parts."""
    level = level_in_words(claim["p"], claim["adjusted"])
    yield _verdict(claim["key"], claim["verdict"], claim["on"] or NOWHERE, claim["effect"], level)
    for part, finding in claim["parts"]:
        yield _verdict(claim["key"], finding.verdict, f"{claim['on'] or NOWHERE}: {part}", finding.effect)


def _verdict(key: str, verdict: Verdict, on: str, effect: Effect | None, level: str = "") -> dict[str, str]:
    words = filter(None, (VERDICT_WORDS[verdict], "" if effect is None else effect_in_words(effect), level))
    return {"key": key, "verdict": verdict, "on": on, "words": ", ".join(words)}


def claim_list(claims: pd.DataFrame, chosen: str, theme: Theme, *, key: str, on_pick: Callable[[], None]) -> None:
    """Draw the list.

    Args:
        claims, chosen, theme: as for `content`.
        key: Streamlit's key, by which `picked` finds the answer.
        on_pick: called after a click on a verdict.
    """
    _RENDER(data=content(claims, chosen, theme), key=key, on_pick_change=on_pick)


def picked(key: str) -> str:
    """Return the key of the claim that was clicked, "" if none was. The browser's answer is untrusted."""
    answer = (st.session_state.get(key) or {}).get("pick")
    return answer if isinstance(answer, str) else ""

"""Every claim of the papers, each with a test and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from sentviz.analysis.claim import LEVEL, VERDICT_WORDS, Claim, Finding, not_testable, over_board
from sentviz.errors import SentvizError
from sentviz.io.lazy import pd
from sentviz.runs.registry import Paper, find_paper, papers
from sentviz.runs.store import Run

BROKEN = "its test failed"
SIGNIFICANT = {True: "significant", False: "not significant"}


COLUMNS = (
    *("paper", "name", "key", "claim", "row", "on", "where", "against", "kind", "verdict", "evidence", "parts", "effect"),
    *("p", "adjusted"),
)


def claims_of(paper: Paper) -> Sequence[Claim]:
    """Return the claims of a paper, each with its test.

    Raises:
        SentvizError: they cannot be loaded.
    """
    claims: Sequence[Claim] = paper.load("claims", ())
    return claims


def answers_of(paper: Paper, runs: Sequence[Run]) -> list[str]:
    """Return the answers to a paper's question in sentences, from runs; empty if the paper has none.

    Raises:
        SentvizError: they cannot be loaded.
    """
    answers: list[str] = paper.load("answers", lambda runs: [])(runs)
    return answers


def judged(runs: Iterable[Run], names: Iterable[str] | None = None, known: Mapping[str, Finding] | None = None) -> pd.DataFrame:
    """Return a row per claim with its verdict.

    Columns: paper, name (of the paper) and key (of the claim) in links; claim, row and on (its place on a board), where, against, kind;
    verdict (a code), evidence, parts (findings on several kinds of rows), and effect, None if it has none; for decided tested claims p and
    adjusted, the p after correction for all tested claims of the paper (`over_board`), otherwise NaN.

    Args:
        names: names of papers; default: all that have claims.
        known: findings on the same runs by claim key; these claims are not tested again.
    """
    available = list(runs)
    rows: list[tuple[object, ...]] = []
    for paper in map(find_paper, papers() if names is None else names):
        tested = findings(paper, available, known)
        adjusted = over_board({key: (claim.kind, finding) for key, claim, finding in tested})
        for key, claim, finding in tested:
            place = claim.statement, claim.row, claim.on, claim.where, claim.against, claim.kind
            levels = (finding.level, adjusted[key]) if key in adjusted else (math.nan, math.nan)
            rows.append((paper.short, paper.name, key, *place, finding.verdict, finding.evidence, finding.parts, finding.effect, *levels))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def findings(paper: Paper, runs: Sequence[Run], known: Mapping[str, Finding] | None = None) -> list[tuple[str, Claim, Finding]]:
    """Return key, claim and finding of each claim of a paper; those of `known` are not tested again."""
    try:
        claims = claims_of(paper)
    except SentvizError as error:
        missing = not_testable(str(error))
        claims = (Claim("unloaded", "Its claims can be tested", "", "runs here", "counted", lambda _: missing),)
    keyed = [(claim.key(paper.name), claim) for claim in claims]
    return [(key, claim, (known or {}).get(key) or _tested(claim, runs)) for key, claim in keyed]


def _tested(claim: Claim, runs: Sequence[Run]) -> Finding:
    """Return the finding of a claim's test; "unjudged" with the message if the test raises an error."""
    try:
        return claim.test(runs)
    except SentvizError as error:
        return not_testable(str(error))
    except Exception as error:  # A mistake in one test must not hide the other claims.
        return not_testable(f"{BROKEN} ({type(error).__name__}: {error})")


def ledger(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `judged` as a table of plain cells for files: verdicts in words, the effect as value, low, high, unit and held_against.

    The last column, over_board, says whether a decided tested claim is significant after correction for the paper's board.
    """
    plain = frame.drop(columns=["name", "key", "row", "parts", "effect"])
    plain["verdict"] = plain["verdict"].map(VERDICT_WORDS)
    for title, name in {"value": "value", "low": "low", "high": "high", "unit": "unit", "held_against": "null"}.items():
        plain[title] = [getattr(effect, name, None) for effect in frame["effect"]]
    plain["over_board"] = ["" if math.isnan(adjusted) else SIGNIFICANT[adjusted <= LEVEL] for adjusted in frame["adjusted"]]
    return plain

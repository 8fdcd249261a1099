"""State in one word how far an explanation of a sentence can be trusted.

Two measurements decide: whether the words that the explanation names lower the probability more than random words of this text
(`faithfulness.Verdict`), and whether its method names the most decisive word of short texts more often than random scores on this run
(`exact_comparison_table.Share`, which may not be measured).

    high      better than random in this text, and not at chance on the run
    none      not better than random in this text, and at chance or not measured on the run; also at chance on the run if the text is too
              short to tell
    unclear   everything else: the two measurements disagree, or the text is too short
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sentviz.analysis.explain.exact_comparison_table import found_first, method_line
from sentviz.analysis.explain.faithfulness import Verdict
from sentviz.runs.store import Run

RULE = (
    "High: the words are better than random words in this text, and the method is not at chance on this model. None: the words are not"
    " better, and the method is at chance or was not measured. Unclear: the two disagree, or the text is too short to tell."
)


@dataclass(frozen=True)
class Trust:
    """Trust in an explanation, and the sentences of the measurements behind it."""

    word: Literal["high", "unclear", "none"]
    details: tuple[str, ...]


def trust_in(run: Run, method: str, verdict: Verdict) -> Trust:
    """Return the trust in an explanation of a sentence.

    Args:
        method: name of `SCORES`.
        verdict: result of `against_chance` for the explanation.
    """
    share = found_first(run).get(method)
    details = tuple(filter(None, (str(verdict), method_line(run, method))))
    if verdict.better and not (share and share.at_chance):
        return Trust("high", details)
    against = share.at_chance if share else verdict.better is False
    return Trust("none" if against and not verdict.better else "unclear", details)

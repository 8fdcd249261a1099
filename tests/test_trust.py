"""The word for the trust in an explanation, for every pair of its two measurements."""

from __future__ import annotations

from typing import Any

import pytest

from sentviz.analysis.explain import trust
from sentviz.analysis.explain.exact_comparison_table import Share
from sentviz.analysis.explain.faithfulness import Verdict

BETTER, WORSE, SHORT = Verdict(0.5, 0.1, 0, 0, 39), Verdict(0.1, 0.5, 30, 0, 39), Verdict(0.5, 0.5, 0, 39, 39)
GOOD, CHANCE = Share(0.7, 0.55, 0.82, 0.2, 40), Share(0.3, 0.15, 0.4, 0.2, 40)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("verdict", "share", "word"),
    [
        (BETTER, GOOD, "high"),
        (BETTER, None, "high"),
        (BETTER, CHANCE, "unclear"),
        (WORSE, GOOD, "unclear"),
        (WORSE, None, "none"),
        (WORSE, CHANCE, "none"),
        (SHORT, GOOD, "unclear"),
        (SHORT, None, "unclear"),
        (SHORT, CHANCE, "none"),
    ],
)
def test_two_measurements_give_one_word(monkeypatch: pytest.MonkeyPatch, verdict: Verdict, share: Share | None, word: str) -> None:
    assert (BETTER.better, WORSE.better, SHORT.better) == (True, False, None)
    monkeypatch.setattr(trust, "found_first", lambda run: {"removal": share} if share else {})
    monkeypatch.setattr(trust, "method_line", lambda run, method: "The method is measured." if share else "")
    run: Any = None  # only the two functions above read it
    trusted = trust.trust_in(run, "removal", verdict)
    assert trusted.word == word
    assert trusted.details == (str(verdict), *(["The method is measured."] if share else []))

"""The word for the trust in an explanation, for every pair of its two measurements."""

from __future__ import annotations

from typing import Any

import pytest

from sentviz.analysis.explain import trust
from sentviz.analysis.explain.exact_comparison_table import Share
from sentviz.analysis.explain.faithfulness import Verdict

BETTER, WORSE, SHORT = Verdict(0.5, 0.1, 0, 0, 39), Verdict(0.1, 0.5, 30, 0, 39), Verdict(0.5, 0.5, 0, 39, 39)
GOOD, CHANCE = Share(0.7, 0.55, 0.82, 0.2, 40), Share(0.3, 0.15, 0.4, 0.2, 40)


def test_two_measurements_give_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    run: Any = None  # only the two functions below read it
    words = {
        (BETTER, GOOD): "high",
        (BETTER, None): "high",
        (BETTER, CHANCE): "unclear",
        (WORSE, GOOD): "unclear",
        (WORSE, None): "none",
        (WORSE, CHANCE): "none",
        (SHORT, GOOD): "unclear",
        (SHORT, None): "unclear",
        (SHORT, CHANCE): "none",
    }
    assert (BETTER.better, WORSE.better, SHORT.better) == (True, False, None)
    for (verdict, share), word in words.items():
        measured = ["The method is measured."] if share else []
        monkeypatch.setattr(trust, "found_first", lambda run, share=share: {"removal": share} if share else {})
        monkeypatch.setattr(trust, "method_line", lambda run, method, measured=measured: "".join(measured))
        trusted = trust.trust_in(run, "removal", verdict)
        assert (trusted.word, trusted.details) == (word, (str(verdict), *measured))

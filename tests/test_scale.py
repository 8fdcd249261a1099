"""Colours of numbers: equal steps of log-odds and of factors, and the words beside the scale."""

from __future__ import annotations

import numpy as np
import pytest

from sentviz.charts.colours import palette, scaled

LOOK = palette("dark")


def test_equal_steps_are_equal_odds_and_equal_factors() -> None:
    """Odds 1, 10, 100 and lengths 2, 20, 200 have equal steps; the middle tick is the value half way."""
    sure = scaled([1 / 2, 10 / 11, 100 / 101], "confidence", LOOK)
    np.testing.assert_allclose(sure.places, [0, 0.5, 1], atol=1e-9)
    assert sure.ticks == ("50\u00a0%", "91\u00a0%", "99\u00a0%")
    long = scaled([2, 20, 200, 20], "length", LOOK)
    np.testing.assert_allclose(long.places, [0, 0.5, 1, 0.5], atol=1e-9)
    assert long.ticks == ("2", "20", "200")


def test_what_is_surer_than_four_nines_shares_a_colour() -> None:
    """The scale ends at 99.99 % and never shows 100 %."""
    scale = scaled([0.5, 0.99995, 1.0], "confidence", LOOK)
    assert scale.places[1] == scale.places[2] == 1
    assert scale.ticks[2] == "99.99\u00a0%"


@pytest.mark.parametrize("kind", ["confidence", "length"])
def test_one_value_is_one_colour(kind: str) -> None:
    scale = scaled([1.0, 1.0], kind, LOOK)
    assert scale.places.tolist() == [0, 0]
    assert len(set(scale.ticks)) == 1


def test_the_faintest_colour_can_be_told_from_the_paper() -> None:
    """The colour of the least value has a contrast of at least 1.8 with the paper."""
    for theme in ("light", "dark"):
        look = palette(theme)  # type: ignore[arg-type]
        first, paper = (_luminance(colour) for colour in (scaled([1.0], "length", look).stops[0], look.paper))
        assert (max(first, paper) + 0.05) / (min(first, paper) + 0.05) > 1.8


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return float(np.dot([0.2126, 0.7152, 0.0722], [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]))

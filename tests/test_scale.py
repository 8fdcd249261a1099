"""Colours of numbers: equal steps of log-odds and of factors, and the words beside the scale."""

from __future__ import annotations

import numpy as np

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

    for kind in ("confidence", "length"):
        one = scaled([1.0, 1.0], kind, LOOK)
        assert one.places.tolist() == [0, 0] and len(set(one.ticks)) == 1


def test_what_is_surer_than_four_nines_shares_a_colour() -> None:
    scale = scaled([0.5, 0.99995, 1.0], "confidence", LOOK)
    assert scale.places[1] == scale.places[2] == 1 and scale.ticks[2] == "99.99\u00a0%"

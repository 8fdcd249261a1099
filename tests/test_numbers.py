"""One style of numbers in everything that people read: 93.6 % [93.2, 94.0], a true minus, commas between thousands."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sentviz.io.glossary import glossary, tip
from sentviz.io.numbers import MINUS, PERCENT, in_points, number, p_value, percent, probability, signed, span, written

finite = st.floats(-1e9, 1e9)


def test_by_hand() -> None:
    assert percent(0.936) == "93.6\u00a0%" and percent(0.936, 0) == "94\u00a0%"
    assert percent(0.936, ends=(0.932, 0.94)) == "93.6\u00a0% [93.2, 94.0]"
    assert percent(-0.25, 0, (-0.3, 0.1), signed) == "−25\u00a0% [−30, +10]"
    assert in_points(0.012, (-0.003, 0.027)) == "+1.20 points [−0.30, +2.70]" and in_points(0.5, write=number) == "50.00 points"
    assert number(1234.5, 1) == "1,234.5" and number(-0.001) == "0.00" and signed(-0.001) == "−0.00" and number(0.5, unit=" s") == "0.50 s"
    assert [probability(p) for p in (0.9996, 0.5, 0.001)] == [">99\u00a0%", "50\u00a0%", "<1\u00a0%"]
    assert [p_value(p) for p in (0.0123, 0.2, 1.0, 1e-9)] == ["p = 0.012", "p = 0.2", "p = 1", "p < 0.0001"]
    assert span([3, 1, 2]) == "1 to 3" and span([2000, 2000]) == "2,000" and span([0.5, 0.25], percent) == "25.0\u00a0% to 50.0\u00a0%"
    assert written("a-1%", "") == "a-1%" and written(-0.5, ".0%") == "−50\u00a0%" and written(-5) == "−5"


@given(finite, st.integers(0, 4))
def test_what_is_written_is_the_number(value: float, digits: int) -> None:
    for text, exact in ((number(value, digits), value), (signed(value, digits), value), (percent(value, digits), 100 * value)):
        read = float(text.replace(MINUS, "-").replace(",", "").removesuffix(PERCENT))
        assert read == float(f"{exact:.{digits}f}") and not re.search(r"-|\d%", text)


def test_every_term_is_whole() -> None:
    for term in glossary().values():
        assert term.title and term.paper and term.text.endswith((".", ")")) and term.formula.count("{") == term.formula.count("}")
    for name in ("component", "effective", "lambda", "constraint", "gate", "leader", "silhouette"):
        assert glossary()[name].text in tip(name)

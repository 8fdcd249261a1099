"""Each page draws its picture before the controls that change the picture."""

from __future__ import annotations

import pytest

from tests.kit import opened


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("page", "control"),
    [
        ("words", "focus-stops"),
        ("confusion", "focus-threshold"),
        ("curves", "focus-axis"),
        ("scalars", "focus-scale"),
    ],
)
def test_the_picture_is_above_its_controls(page: str, control: str) -> None:
    """The first picture of the page is drawn above the control."""
    nodes = [(node.type, node.key) for node in opened(page).main]
    picture = next(place for place, (kind, key) in enumerate(nodes) if kind == "plotly_chart")
    assert picture < next(place for place, (_, key) in enumerate(nodes) if key == control)


@pytest.mark.exhaustive
def test_the_verdict_on_components_has_its_picture_before_its_reasons() -> None:
    """The picture follows the verdict; the list of reasons is below the picture."""
    app = opened("components")
    app.session_state["components-details"] = True
    nodes = list(app.run().main)
    picture = next(place for place, node in enumerate(nodes) if node.type == "plotly_chart")
    reasons = next(place for place, node in enumerate(nodes) if node.type == "markdown" and node.value.startswith("- "))
    assert picture < reasons

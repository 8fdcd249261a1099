"""The page Behaviour: the card of the run in focus, its failed cases, and their way to Explore."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from sentviz.analysis.testset.behaviour import stored_card
from sentviz.runs.store import find
from tests.kit import RUN, opened, page_text

pytestmark = pytest.mark.slow


@pytest.mark.exhaustive
def test_the_page_opens_with_the_weakest_capability_and_its_failures() -> None:
    card = stored_card(find(RUN))
    assert card is not None
    rates = card.frame().set_index("capability")["rate"]
    app = opened("behaviour")
    text = page_text(app)
    assert not app.exception and f"**{int(card.passed.sum()):,} of 1,500** English cases" in text
    failed = card.failures(str(rates.idxmin()))
    assert f"{str(rates.idxmin()).capitalize()}: {len(failed)} of 125 cases failed" in text
    assert app.dataframe[0].value["text"].tolist() == failed["text"].tolist()[: len(app.dataframe[0].value)]


@pytest.mark.exhaustive
def test_a_link_names_the_capability_and_a_failed_edit_shows_both_texts() -> None:
    card = stored_card(find(RUN))
    assert card is not None
    app = opened("behaviour", capability="robustness")
    failed = card.failures("robustness")
    assert app.query_params["capability"] == "robustness"
    assert app.dataframe[0].value["before the edit"].tolist()[0] == failed["before"].iloc[0]


@pytest.mark.exhaustive
def test_a_link_to_a_case_opens_it_in_explore_with_its_label() -> None:
    """The link has the id of the case, so that it needs no private text."""
    card = stored_card(find(RUN))
    assert card is not None
    case = card.failures("negation").iloc[0]
    app = opened("explore", row=case["id"])
    text = page_text(app)
    assert not app.exception and f"labelled {case['expects']}" in text and app.query_params["row"] == case["id"]
    assert str(case["text"]) in {each.value for each in app.text_area} | {each.value for each in app.text_input}


def test_a_run_that_is_not_tested_offers_to_test_it() -> None:
    with patch("sentviz.analysis.testset.behaviour.stored_card", return_value=None):
        app = opened("behaviour")
    assert any("is not tested yet: `sentviz behave" in each.value for each in app.info)
    assert any(each.label.startswith("Test ") for each in app.button)

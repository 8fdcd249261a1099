"""The page of the NDT paper with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from sentviz.papers.studies.compare_configurations import SEEDS_IN_WORDS
from sentviz.runs.registry import find_paper
from tests.kit import SHIPPED, opened, words

pytestmark = [pytest.mark.slow, SHIPPED]


def part(name: str, dataset: str = "sst2") -> AppTest:
    app = opened("ndt", study=dataset, part=name)
    assert not app.exception, app.exception
    return app


@pytest.mark.exhaustive
def test_the_board_stands_first_and_answers_in_sentences_when_asked() -> None:
    """Only the opening is above it, no section is drawn with it; answers with numbers for each data set wait in a drawer."""
    app = opened("ndt")
    assert [chart.key for chart in app.get("plotly_chart")] == ["plot-ndt-component-habits-all", "plot-board-ndt"] and not app.dataframe
    first_lines = next(text.value for text in app.markdown if text.value.startswith("**The paper says:**"))
    assert "\n\n**We found:**" in first_lines and "\n\n**Open:**" in first_lines
    assert "Does NDT" not in words(app) and "SST-2, on the official sentences: NDT" not in words(app).replace("\\", "")
    app.session_state["ndt-answers"] = True
    app.run()
    page_text = words(app).replace("\\", "")
    assert "SST-2, on the official sentences: NDT" in page_text and "n = 10,234" in page_text and SEEDS_IN_WORDS in page_text


@pytest.mark.exhaustive
def test_results_have_one_table_of_numbers() -> None:
    element = part("results").dataframe[0]
    titles = {column.get("label") for column in json.loads(element.proto.columns).values()}
    assert {"model", "Accuracy, %", "Accuracy, paper", "Accuracy, Δ"} <= titles
    table = element.value
    assert table["accuracy"].dtype == float and table["accuracy"].max() > 50
    assert (table["accuracy_difference"] - (table["accuracy"] - table["accuracy_printed"])).dropna().abs().max() < 1e-9


@pytest.mark.exhaustive
def test_every_item_is_listed_with_its_link() -> None:
    """The list has a row with a link for each item; a kind chosen in the link leaves only its rows."""
    app = part("items")
    body = "".join(element.proto.body for element in app.get("html"))
    assert body.count("<tr>") == len(find_paper("ndt").items()) + 1 and 'href="ndt?part=roc"' in body
    app.button_group(key="focus-kind").set_value("figure").run()
    assert "".join(element.proto.body for element in app.get("html")).count("<tr>") == 4 and app.query_params["kind"] == "figure"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["compare", "confusion", "roc", "lambda", "cost"])
@pytest.mark.parametrize("dataset", ["sst2", "yelp_full"])
def test_every_part_stands_with_and_without_runs(name: str, dataset: str) -> None:
    app = part(name, dataset)
    assert not app.error


@pytest.mark.exhaustive
def test_a_switch_shows_our_best_in_place_of_the_papers() -> None:
    app = part("confusion")
    assert "highest reported test accuracy" in words(app)
    app.button_group(key="focus-drawn").set_value("here").run()
    assert "best validation accuracy of the runs here" in words(app) and not app.exception


@pytest.mark.exhaustive
def test_points_wait_until_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """t-SNE is not computed before the visitor presses the button; differences from the paper are shown immediately."""
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    app = part("tsne")
    assert any(button.key == "ndt-tsne-panels-all-compute" for button in app.button)
    assert app.button(key="chip-part").label.replace("\\", "") == "Maps of the texts (figure 3)"
    assert "ten seconds a data set" in words(app) and "The paper states neither rows nor settings" in words(app)
    assert not list(tmp_path.rglob("*.npy"))


@pytest.mark.exhaustive
def test_all_configurations_are_on_the_page_of_lambdas() -> None:
    app = opened("scalars")
    assert "all NDT configurations on SST-2" in words(app).replace("\\", "")
    assert not app.warning

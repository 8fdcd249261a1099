"""The page Compare with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from sentviz.data import demo
from tests.kit import RUN, SHIPPED, opened, words
from tests.shipped import often

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, SHIPPED]
CONTROL = "sst2/vanilla-matched"


@pytest.mark.exhaustive
def test_the_control_stands_beside_the_run_in_focus() -> None:
    """The page shows both answers, both maps, and their difference."""
    app = opened("compare")
    assert not app.error
    assert app.selectbox(key="beside").value == CONTROL
    charts = [chart.key or chart.proto.id for chart in app.get("plotly_chart")]
    for key in ("verdict-first", "verdict-second", "strip-first", "strip-second", "map-first", "map-second", "map-difference"):
        assert any(f"plot-{key}" in chart for chart in charts), key


@pytest.mark.exhaustive
def test_swap_exchanges_the_two() -> None:
    app = opened("compare", row="demo-plain-01")
    app.button(key="compare-swap").click().run()
    assert not app.exception
    assert (app.query_params["run"], app.query_params["versus"], app.query_params["row"]) == (CONTROL, RUN, "demo-plain-01")


@pytest.mark.exhaustive
def test_a_choice_of_the_second_is_in_the_url_and_of_the_first_keeps_two() -> None:
    app = opened("compare")
    app.selectbox(key="beside").select("sst2/diff").run()
    assert app.query_params["versus"] == "sst2/diff"
    app.selectbox(key="focus-run").select("sst2/diff").run()
    assert not app.exception
    assert app.query_params["run"] == "sst2/diff" and app.selectbox(key="beside").value not in ("", "sst2/diff")


@pytest.mark.exhaustive
def test_a_row_is_the_sentence_of_both() -> None:
    app = opened("compare", row="demo-plain-01", over="demo")
    rows = demo.load().set_index("id")
    assert app.text_input(key="compare-sentence").value == rows["text"]["demo-plain-01"]


@pytest.mark.exhaustive
def test_models_with_other_classes_are_compared_on_a_sentence() -> None:
    if (ROOT / "checkpoints/twitter_financial/diff").is_dir():
        assert not opened("compare", versus="twitter_financial/diff").error


@pytest.mark.parametrize("text", often(["?", "wonderful " * 70, "<script>alert(1)</script> $x$ **b** `c`", "😀 مرحبا"], "?"))
@pytest.mark.exhaustive
def test_odd_texts_are_no_trouble(text: str) -> None:
    app = opened("compare", text=text, component="2", head="4", versus="sst2/vanilla")
    assert not app.exception, app.exception
    assert "<script>" not in words(app)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("slice", "over"),
    [
        ("agree=second", "official_test"),
        ("cell=1,0", "test"),
        ("cell=9,9", "demo"),
        ("lasso=pca.1:0,0;1,0;1,1", "demo"),
        ("nonsense", "test"),
    ],
)
def test_any_slice_of_a_link_is_rows_or_a_sentence(slice: str, over: str) -> None:
    app = opened("compare", slice=slice, over=over)
    assert not app.exception, app.exception

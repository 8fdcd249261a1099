"""The page Compare with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from sentviz.analysis.testset.rows import Rows, RowsSource, predicted
from sentviz.analysis.testset.versus import disagreements
from sentviz.data import demo
from sentviz.models.loading import load
from sentviz.papers.studies.stats import paired
from sentviz.runs.store import find
from tests.shipped import often
from tests.test_app import RUN, SHIPPED, opened, page_text, words

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, SHIPPED]
CONTROL = "sst2/vanilla-matched"


def test_the_control_stands_beside_the_run_in_focus() -> None:
    """The page shows both answers, both maps, their difference, and a verdict with the counts of the paired test."""
    app = opened("compare")
    assert not app.error
    assert app.selectbox(key="compare-second").value == CONTROL
    charts = [chart.key or chart.proto.id for chart in app.get("plotly_chart")]
    for key in ("verdict-first", "verdict-second", "strip-first", "strip-second", "map-first", "map-second", "map-difference"):
        assert any(f"plot-{key}" in chart for chart in charts), key
    pair = paired(find(RUN), find(CONTROL))
    options = app.button_group(key="compare-agree").options
    for count, option in zip((pair.both_right, pair.only_a, pair.only_b, pair.neither), options, strict=True):
        assert f"{count:,} (" in getattr(option, "content", option)
    assert f"{pair.only_a + pair.only_b:,} rows on which only one is right" in words(app)


def test_swap_exchanges_the_two() -> None:
    app = opened("compare", row="demo-plain-01")
    app.button(key="compare-swap").click().run()
    assert not app.exception
    assert (app.query_params["run"], app.query_params["versus"], app.query_params["row"]) == (CONTROL, RUN, "demo-plain-01")


def test_a_choice_of_the_second_is_in_the_url_and_of_the_first_keeps_two() -> None:
    app = opened("compare")
    app.selectbox(key="compare-second").select("sst2/diff").run()
    assert app.query_params["versus"] == "sst2/diff"
    app.selectbox(key="compare-first").select("sst2/diff").run()
    assert not app.exception
    assert (app.query_params["run"], app.query_params["versus"]) == ("sst2/diff", RUN)


def test_a_part_of_the_agreement_is_the_slice() -> None:
    """The chosen slice has the counted number of rows, all right by the first run and wrong by the second."""
    app = opened("compare", over="demo")
    app.button_group(key="compare-agree").set_value("first").run()
    assert not app.exception
    assert app.query_params["slice"] == "agree=first"
    table = app.dataframe[0].value
    assert len(table)
    assert table[RUN].str.startswith("✓").all()
    assert table[CONTROL].str.startswith("✗").all()
    gaps = table["difference, points"].abs()
    assert list(gaps) == sorted(gaps, reverse=True)


def test_the_demo_set_shows_its_phenomena() -> None:
    app = opened("compare", over="demo", slice="tag=negation")
    assert app.button_group(key="phenomenon").value == "negation"
    assert app.dataframe[0].value["id"].str.startswith("demo-negation-").all()
    assert len(app.dataframe[0].value) == 30


def test_a_row_is_the_sentence_of_both_and_opens_next_to_the_table() -> None:
    """A row with different predictions is shown with its label and both strips; the verdict is the first heading of the page."""
    frame = disagreements(*(demo_predictions(name) for name in (RUN, CONTROL)))
    name = str(frame["id"].iloc[0])
    app = opened("compare", row=name, over="demo")
    rows = demo.load().set_index("id")
    assert app.text_input(key="compare-sentence").value == rows["text"][name]
    assert f"**Labelled {rows['label'][name]}** · {name}" in page_text(app)
    charts = [chart.key or chart.proto.id for chart in app.get("plotly_chart")]
    assert all(any(f"plot-row-{side}" in chart for chart in charts) for side in ("first", "second"))
    headings = [each.value for each in app.markdown if each.value.startswith("#####")]
    assert "significant" in headings[0] or "is better" in headings[0]


def demo_predictions(name: str) -> Rows:
    run, frame = find(name), demo.load()
    frame = frame.assign(label=frame["label"].map(demo.labels_for(run.labels)), tag=frame["phenomenon"])
    return predicted(load(run), RowsSource.of(run), frame, "demo")


def test_other_data_sets_share_the_demo_set_and_other_classes_nothing() -> None:
    if (ROOT / "checkpoints/imdb/ndt-unit-2").is_dir():
        app = opened("compare", versus="imdb/ndt-unit-2")
        assert "different data sets" in words(app)
        assert not app.dataframe
    if (ROOT / "checkpoints/twitter_financial/diff").is_dir():
        app = opened("compare", versus="twitter_financial/diff")
        assert "can be compared on a sentence, not on rows" in words(app)
        assert not app.error


@pytest.mark.parametrize("text", often(["?", "wonderful " * 70, "<script>alert(1)</script> $x$ **b** `c`", "😀 مرحبا"], "?"))
def test_odd_texts_are_no_trouble(text: str) -> None:
    app = opened("compare", text=text, component="2", head="4", versus="sst2/vanilla")
    assert not app.exception, app.exception
    assert "<script>" not in words(app)


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


def test_rows_that_only_one_page_has_ask_for_a_choice() -> None:
    assert "Choose the rows above" in words(opened("compare", over="mine"))

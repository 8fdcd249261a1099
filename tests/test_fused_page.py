"""The page of Sentiment-Fused Attention with Streamlit's AppTest: with made-up runs, with one that answers, and with none."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from sentviz.data import datasets
from sentviz.data.lexicon import Lexicon
from sentviz.papers.fused import coverage
from sentviz.papers.fused import study as fused
from sentviz.papers.studies.claims import claims_of
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from sentviz.training import train
from tests.kit import opened, page_text, toy_recipe, use_toy_data
from tests.studies import N, made_run, made_seeds, with_heads

PAPER = find_paper("fused")
pytestmark = pytest.mark.slow

Opened = Callable[..., AppTest]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """A function that opens the page on the runs of one folder alone."""

    def on(folder: Path, part: str = "results") -> AppTest:
        monkeypatch.setattr("sentviz.runs.store.roots", lambda folders=(): [folder])
        st.cache_resource.clear()
        st.cache_data.clear()
        return opened("fused", part=part)

    yield on
    st.cache_resource.clear()
    st.cache_data.clear()


def table(app: AppTest, column: str) -> pd.DataFrame:
    """The table that has a column."""
    return next(frame.value for frame in app.dataframe if column in frame.value)


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """A folder of made-up runs: NSMC with seeds and heads, an out-of-domain pair, no SST-2."""
    for i, run in enumerate(made_seeds(tmp_path, "nsmc", "cls", 2, wrong=40)):
        with_heads(run, (0.1 + 0.01 * i, 0.2), (0.05, 0.06))
    for i, run in enumerate(made_seeds(tmp_path, "nsmc", "cls-last-scaled", 2, wrong=10, first_wrong=100)):
        with_heads(run, (0.2 + 0.01 * i, 0.3), (0.05, 0.06))
    made_run(tmp_path, "nsmc", "cls-xia", wrong=60)
    for model in ("cls", "cls-last-scaled"):
        made_run(tmp_path, "korean_hate_speech", model)
    return tmp_path


@pytest.mark.exhaustive
def test_the_answer_comes_first_and_names_what_is_missing(page: Opened, several: Path) -> None:
    app = page(several)
    text = page_text(app)
    assert "NSMC: of 4 settings 1 gains, 3 have no run" in text
    assert "Last head ÷ √d +15.00" in text and f"n = {N}" in text
    assert "SST-2: no baseline is installed" in text and "sentviz study fused --dataset sst2" in text
    assert text.index("NSMC: of 4") < text.index("Table 1")


@pytest.mark.exhaustive
def test_table_1_has_the_print_and_ours(page: Opened, several: Path) -> None:
    """Numbers stay numbers; ours are the means over seeds of the runs in the folder."""
    accuracies = table(page(several), "ko-electra").set_index("setting")
    assert accuracies.loc["Baseline", "kr-bert"] == pytest.approx(90.10)
    wrong = [40, 40]
    assert accuracies.loc["Baseline", "nsmc"] == pytest.approx(100 - 100 * sum(wrong) / (2 * N))
    assert accuracies.loc["Baseline", "nsmc_seeds"] == 2
    assert accuracies["sst2"].isna().all()


@pytest.mark.exhaustive
def test_every_comparison_and_every_item_can_be_opened(page: Opened, several: Path) -> None:
    """Both lists wait until they are asked for."""
    app = page(several)
    assert not any("adjusted" in frame.value and "kind" in frame.value for frame in app.dataframe)
    app.session_state["fused-numbers"] = True
    app.run()
    assert not app.exception, app.exception
    gains = table(app, "kind")
    assert set(gains["setting"]) == {"Xia et al., product", "Last head ÷ √d"}
    assert set(gains["kind"]) == {"over seeds"}
    body = "".join(element.proto.body for element in page(several, "items").get("html"))
    assert all(html.escape(item.title) in body for item in PAPER.items())


@pytest.mark.exhaustive
def test_heads_tasks_and_claims_are_on_it(page: Opened, several: Path) -> None:
    text = page_text(page(several, "cls"))
    assert "the row of [CLS] cannot change" in text
    assert "bands: least and largest over seeds" in text
    assert "With an installed run with weights" in text
    tasks = table(page(several, "tasks"), "injected")
    assert list(tasks.dropna(subset="injected")["task"]) == ["Hate speech"]
    claims = {claim.statement: claim.key("fused") for claim in claims_of(PAPER)}
    app = page(several, "claims")
    assert set(claims.values()) <= set(board_keys(app))
    app.selectbox(key="focus-claim").set_value(claims["Table 2 has the standard deviation as σ and the variance as σ²"]).run()
    assert "the two columns are swapped" in page_text(app) and not app.exception


def board_keys(app: AppTest) -> list[str]:
    """The keys of the claims on the page's board."""
    bars = [trace for chart in app.get("plotly_chart") for trace in json.loads(chart.proto.spec)["data"] if trace["type"] == "bar"]
    return [cell[0] for bar in bars for cell in bar["customdata"]]


def test_without_any_run_the_print_and_the_way_to_runs_are_there(page: Opened, tmp_path: Path) -> None:
    app = page(tmp_path)
    assert "NSMC: no baseline is installed" in page_text(app)
    assert len(table(app, "ko-electra")) == len(fused.SETTINGS)
    assert "No run on NSMC has measured heads" in page_text(page(tmp_path, "cls"))
    assert "trains the pair of runs of one task" in page_text(page(tmp_path, "tasks"))
    assert not app.error


def test_coverage_is_measured_again_or_says_what_is_missing(page: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = page(tmp_path, "coverage")
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    app.button(key="fused-again").click().run()
    assert not app.exception, app.exception
    assert any("nsmc" in str(warning.value) for warning in app.warning)
    stored = coverage.MEASURED.read().query("dataset == 'nsmc'")
    monkeypatch.setattr(coverage, "measure_coverage", lambda dataset: stored.assign(neutral=0.25))
    app.button(key="fused-again").click().run()
    assert "KNU: **25.00\u00a0%** of 755,797 tokens, shipped 49.39\u00a0%" in page_text(app)


@pytest.mark.exhaustive
def test_a_sentence_shows_that_the_row_of_cls_stays(page: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a trained model and a made-up lexicon, the page shows a largest change of 0 in the row of [CLS] and above 0 elsewhere."""
    mine = Lexicon.of("mine", pd.DataFrame({"term": ["warm", "clever", "dull"], "polarity": [1.0, 1.0, -1.0]}))
    with pytest.MonkeyPatch.context() as patch:
        use_toy_data(patch)
        patch.setattr(Lexicon, "load", lambda name: mine)
        recipe = toy_recipe("cls-last-scaled", dataset="sst2", cls=True, lexicon="lexicon_en_vader", epochs=1)
        train(recipe, tmp_path, progress=False)
    assert isinstance(Run.open(tmp_path / "sst2" / "cls-last-scaled"), Run)
    app = page(tmp_path, "cls")
    app.session_state["fused-sentence"] = True
    app.run()
    assert not app.exception, app.exception
    text = page_text(app)
    assert "row of [CLS] **0**" in text
    assert "elsewhere **0**" not in text and "elsewhere **" in text
    app.button(key="fused-follow").click().run()
    assert app.session_state["focus"].look == "lexicon"
    assert app.session_state["focus"].run == "sst2/cls-last-scaled"


def test_titles_cover_every_data_set_measured() -> None:
    assert set(coverage.TITLES) == set(coverage.RECIPES)
    assert all(datasets.info(name).title for name in coverage.RECIPES)

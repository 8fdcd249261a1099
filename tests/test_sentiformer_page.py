"""The page of SentiFormer with Streamlit's AppTest: on made-up runs, with a run of all its models, and with none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from sentviz.data.examples import EXAMPLES
from sentviz.papers.sentiformer.study import DATASETS
from sentviz.papers.studies.claims import claims_of
from sentviz.runs.registry import find_paper
from tests.kit import opened, words
from tests.studies import made_seeds, with_gates

PAPER = find_paper("sentiformer")
pytestmark = pytest.mark.slow

PARTS = PAPER.page.parts
FIVE = ("very negative", "negative", "neutral", "positive", "very positive")
WRONG = {"sentiformer": 60, "bilstm": 90, "cnn": 95, "sentiformer-no-gate": 100, "sentiformer-full": 60}
Opened = Callable[..., AppTest]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """A function that opens a part of the page on the runs of one folder alone."""

    def on(folder: Path, part: str = "results") -> AppTest:
        monkeypatch.setattr("sentviz.runs.store.roots", lambda folders=(): [folder])
        st.cache_resource.clear()
        st.cache_data.clear()
        return opened("sentiformer", part=part)

    yield on
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seeds of five models on SST-5, SentiFormer on both readings, its gates measured."""
    tmp_path = tmp_path_factory.mktemp("study")
    for model, wrong in WRONG.items():
        for run in made_seeds(tmp_path, "sst5_trees", model, 3, wrong=wrong, classes=FIVE):
            if model == "sentiformer":
                with_gates(run)
    made_seeds(tmp_path, "sst5_trees_binary", "sentiformer", 3, wrong=16)
    return tmp_path


@pytest.mark.exhaustive
def test_its_questions_are_answered(page: Opened, study: Path) -> None:
    """Each with what it rests on, once its drawer is opened; a claim leads to the part that shows it."""
    app = page(study, "claims")
    app.session_state["sentiformer-answers"] = True
    app.run()
    page_text = words(app).replace("\\", "")
    for line in (
        "Does it beat a BiLSTM and a CNN? SST-5: yes",
        "our runs of two classes fit better",
        "without gates: matters, without the window: cannot be told",
        "SST-5: 0.30 on average, lower than words of sentiment",
        "3 seeds",
    ):
        assert line in page_text, line
    key = next(claim.key("sentiformer") for claim in claims_of(PAPER) if claim.statement == "It is worse without gates on SST-5")
    app.selectbox(key="focus-claim").set_value(key).run()
    assert app.query_params["claim"] == key and "It is worse without gates on SST-5" in words(app).replace("\\", "")
    app.button(key="claim-open").click().run()
    assert app.button_group(key="focus-part").value == "parts" and not app.exception
    ablations = app.dataframe[0].value
    assert set(ablations["title"]) == {"without gates", "without the window"} and "▼ worse" in set(ablations["verdict"])


@pytest.mark.exhaustive
def test_table_1_has_print_and_measurement(page: Opened, study: Path) -> None:
    element = page(study).dataframe[0]
    table = element.value.set_index("model")
    assert list(table.index)[:5] == ["BiLSTM", "CNN", "DistilBERT", "BERT-base", "SentiFormer"]
    assert table.loc["SentiFormer", "SST-5, printed"] == pytest.approx(92.3) and table.loc["SentiFormer", "SST-5, value"] == pytest.approx(
        70
    )
    titles = [column["label"] for column in json.loads(element.proto.columns).values() if column.get("label")]
    assert {"SST-5, paper", "SST-5 binary, ours", "Yelp, paper", "Yelp, ours", "Twitter, ours"} <= set(titles)
    assert sum(7 * len(title) + 10 for title in titles) < 1280  # pixels of a page of 1,440


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", PARTS)
def test_every_part_stands_with_and_without_runs(part: str, page: Opened, study: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    for folder in (study, tmp_path_factory.mktemp("empty")):
        app = page(folder, part)
        assert not app.error, [error.value for error in app.error]


@pytest.mark.exhaustive
def test_gates_stand_beside_what_the_paper_says(page: Opened, study: Path) -> None:
    app = page(study, "gates")
    page_text = words(app)
    assert "learn gate values close to zero" in page_text and "3 here" in page_text
    table = app.dataframe[0].value
    assert table.set_index(["name", "against"])["value"][("function words", "polar words")] == pytest.approx(-0.3)


def test_what_is_missing_is_said_with_its_command(page: Opened, tmp_path: Path) -> None:
    notes = "".join(info.value for info in page(tmp_path).info).replace("\\", "")
    for dataset, title in DATASETS.items():
        assert f"No run on {title} is installed: `sentviz study sentiformer --dataset {dataset}` trains them." in notes
    assert "sentviz gates sst5_trees/sentiformer" in "".join(note.value for note in page(tmp_path, "gates").info)


@pytest.mark.exhaustive
@pytest.mark.skipif(not (Path(__file__).parents[1] / "checkpoints/sst5_trees/sentiformer").is_dir(), reason="checkpoints/ is not here")
def test_the_paper_s_sentences_are_offered_to_its_models_alone() -> None:
    """Each of them is a button on Explore, and the items of the list open on them."""
    own = [example for example in EXAMPLES if example.paper == "sentiformer"]
    offered = {button.label for button in opened("explore", run="sst5_trees/sentiformer").button}
    assert len(own) == 3 and {example.kind for example in own} <= offered
    assert not {example.kind for example in own} & {button.label for button in opened("explore", run="sst2/ndt-unit-2").button}
    opens = [parse_qs(item.place.partition("?")[2]).get("text", [""])[0] for item in PAPER.items()]
    assert set(filter(None, opens)) <= {example.text for example in own} and sum(map(bool, opens)) == 2

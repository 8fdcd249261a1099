"""A model's folder, a pipeline, a file to train on and pasted lines are brought, and each is used by clicks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.conftest import ROOT, go, serving
from tests.browser.visitor import settled
from tests.kit import BAD, GOOD, NOUNS

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def alone(home: Path) -> Iterator[str]:
    """Start the app with an empty library; yield its address."""
    with serving(SENTVIZ_HOME=str(home)) as address:
        yield address


def reviews(file: Path, rows: int) -> Path:
    """Write made-up reviews with their opinions."""
    words = [(first, second, "negative") for first in BAD for second in BAD] + [
        (first, second, "positive") for first in GOOD for second in GOOD
    ]
    table = [(f"The {noun} was {first} and {second}.", label) for noun in NOUNS for first, second, label in words]
    pd.DataFrame(table, columns=["review", "opinion"]).sample(rows, random_state=0).to_csv(file, index=False)
    return file


def page_yours(page: Any, address: str, bring: str) -> None:
    """Open the first page and go to Bring yours by one click in the bar; with a wish or "Lines", choose it."""
    page.goto(address)
    page.wait_for_selector(".st-key-places a", timeout=120_000)
    go(page, "Bring yours")
    page.wait_for_selector("[data-testid=stFileUploader]", timeout=120_000)
    if bring != "A file":  # the page opens with a file
        page.get_by_text(bring, exact=True).click()
    settled(page)


def wait_for_model(page: Any, name: str) -> None:
    """Wait until the bar names a model as the one in focus."""
    named = "name => [...document.querySelectorAll('.st-key-views input')].some(box => box.value.includes(name))"
    page.wait_for_function(named, arg=name, timeout=400_000)


def test_a_model_folder_opens_on_the_pages_of_a_sentence(page: Any, alone: str, tmp_path: Path) -> None:
    """A folder with unnamed classes asks for their names; a wrong path is one sentence; the model answers on each page, without data."""
    pytest.importorskip("transformers")
    from tests.foreign.models import saved

    folder = saved(tmp_path / "my-model", "bert", ("LABEL_0", "LABEL_1"))
    page_yours(page, alone, "Open my own model")
    path = page.get_by_label("Folder of the model")
    path.fill(str(tmp_path / "nowhere"))
    path.press("Enter")
    page.get_by_text("There is no folder").wait_for(timeout=60_000)
    path.fill(str(folder))
    path.press("Enter")
    page.get_by_text("The model does not say what its classes mean").wait_for(timeout=60_000)
    settled(page)
    assert not page.get_by_role("button", name="Open the model").count()
    for place, name in enumerate(("bad", "good"), 1):
        field = page.get_by_label(f"Class {place}:")
        field.fill(name)
        field.press("Enter")
        settled(page)
    page.get_by_role("button", name="Open the model").click()
    wait_for_model(page, "adopted/my-model")
    settled(page)
    for name in ("Attention", "Inside", "Beside another model", "Reason"):
        go(page, "Sentence", name)
        wait_for_model(page, "adopted/my-model")
        settled(page)
        assert not page.locator("[data-testid=stException]").count()
        assert not page.get_by_text("This part failed").count()


def test_a_file_is_trained_on_stopped_continued_and_opened(page: Any, alone: str, home: Path, tmp_path: Path) -> None:
    """The training shows its progress, stops, continues where it was, and its run opens with its mistakes."""
    page_yours(page, alone, "Train a model on my texts")
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(reviews(tmp_path / "soups.csv", 120)))
    page.get_by_role("button", name="Save to my library").click(timeout=180_000)
    page.get_by_text("Saved as mine/soups.").wait_for(timeout=60_000)
    page.get_by_role("button", name="Train soups/minilm").click()
    page.get_by_text("step ").first.wait_for(timeout=180_000)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Continue the training of soups/minilm").click(timeout=120_000)
    page.get_by_text("Accuracy on 18 validation rows").wait_for(timeout=400_000)
    assert (home / "runs" / "soups" / "minilm" / "config.json").is_file()
    page.get_by_role("button", name="Mistakes", exact=True).click()  # not "Show the mistakes"
    page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=120_000)
    page.get_by_text("soups/minilm").first.wait_for(timeout=60_000)


def test_pasted_lines_are_two_clicks_from_their_mistakes(page: Any, alone: str) -> None:
    """Lines with a tab are rows of a table. The first click opens Yours, the second shows the mistakes."""
    page_yours(page, alone, "Lines")
    field = page.get_by_label("Lines", exact=True)
    field.fill("text\tlabel\nA warm and clever song.\tpositive\nA cold, dull soup.\tnegative\nA clever garden.\tnegative\n")
    field.press("Control+Enter")
    page.get_by_role("button", name="Show the mistakes").click(timeout=60_000)
    page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=120_000)
    page.get_by_text("of 3 rows").first.wait_for(timeout=60_000)


PIPELINE = """
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.kit import BAD, GOOD

labels = ["negative"] * len(BAD) + ["positive"] * len(GOOD)
pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression(C=100)).fit([*BAD, *GOOD], labels)
"""


def test_a_pipeline_shows_its_reason_and_its_words(page: Any, tmp_path: Path) -> None:
    """The app of `sentviz app --model` opens with the pipeline: a typed sentence has its reason and its words."""
    (tmp_path / "soups.py").write_text(PIPELINE, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    with serving(SENTVIZ_APP_MODEL="soups:pipeline", SENTVIZ_HOME=str(tmp_path), PYTHONPATH=path) as address:
        page.goto(address)
        page.wait_for_selector(".st-key-canvas .word", timeout=180_000)
        page.get_by_text("open/pipeline").first.wait_for()
        field = page.locator(".st-key-ask textarea, .st-key-ask input[type=text]").first
        field.fill(f"The soup was {GOOD[0]} and the rest was as before.")
        field.press("Enter")
        page.get_by_text("Positive").first.wait_for(timeout=60_000)
        page.locator(".st-key-canvas .word", has_text=GOOD[0]).wait_for(timeout=60_000)
        settled(page)
        assert page.get_by_text(f"“{GOOD[0]}”").count()  # the reason names the word
        go(page, "Rows", "Confusion")
        page.get_by_text("Choose other rows above").wait_for(timeout=120_000)
        settled(page)
        page.locator(".st-key-focus-over").click()
        page.get_by_role("option", name="demo set").click()
        page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=300_000)
        page.get_by_text("open/pipeline is right on").wait_for(timeout=60_000)
        page.locator(".st-key-tabs").get_by_role("link", name="Word clouds", exact=True).click()
        page.wait_for_selector(".st-key-figure-cloud", timeout=120_000)
        settled(page)
        assert not page.get_by_text("This part failed").count() and not page.locator("[data-testid=stException]").count()


def test_rows_are_scored_to_one_csv(page: Any, alone: str, tmp_path: Path) -> None:
    """A file without labels is predicted by the usual model, and all its rows are one CSV with the texts and the predictions."""
    rows = reviews(tmp_path / "unlabelled.csv", 60)
    pd.read_csv(rows)[["review"]].to_csv(rows, index=False)
    page_yours(page, alone, "A file")
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(rows))
    page.get_by_role("button", name="Show the predictions").click(timeout=180_000)
    button = page.locator(".st-key-drawer-csv button")
    button.wait_for(timeout=180_000)
    settled(page)
    with page.expect_download(timeout=60_000) as download:
        button.click()
    table = pd.read_csv(download.value.path())
    assert len(table) == 60 and set(table["text"]) == set(pd.read_csv(rows)["review"])
    assert set(table["predicted"]) <= {"negative", "positive"}

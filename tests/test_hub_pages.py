"""Small Hugging Face folders, adopted as runs, on every page of the app: nothing breaks, and what does not apply is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from click.testing import CliRunner

pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")

from sentviz import training
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.models import hub
from sentviz.runs.store import Run
from tests.foreign.models import saved
from tests.kit import PAGES, opened, page_text, toy_splits

pytestmark = pytest.mark.exhaustive

LABELS = ("NEGATIVE", "POSITIVE")
SENTENCE = "a warm song, a dull soup"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make untrained runs of a BERT, with made-up sentences as sst2 and without data."""
    root, splits = tmp_path_factory.mktemp("adopted"), toy_splits()
    splits["official_test"] = replace(splits["test"], split="official_test")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load_split", lambda name, split: splits[split])
        training.adopt(saved(root / "models" / "bert", "bert", LABELS), "sst2", root / "runs", example=(SENTENCE, None))
        training.adopt(saved(root / "models" / "plain", "bert", LABELS), "", root / "runs")
        patch.setenv("SENTVIZ_RUNS", str(root / "runs"))
        st.cache_resource.clear()
        yield root
    st.cache_resource.clear()


@pytest.mark.parametrize("run", ["sst2/bert", "adopted/plain"])
def test_every_page_stands(run: str) -> None:
    """Pages of rows say in one line which command adds them to a run without data."""
    for page in PAGES:
        app = opened(page, run=run, text=SENTENCE)
        assert not app.error and app.session_state["focus"].run == run, page
        adds = "`sentviz evaluate adopted/plain --data DATASET` adds them." in page_text(app)
        assert adds or run != "adopted/plain" or page not in ("confusion", "words", "embeddings"), page


def test_classes_of_an_adopted_folder_are_matched_by_name(tmp_path: Path) -> None:
    folder = saved(tmp_path / "named", "bert", ("GOOD", "BAD"))
    command = ["adopt", str(folder), "--dataset", "sst2", "-o", str(tmp_path)]
    assert "name the model's classes as the data set does" in CliRunner().invoke(main, command).output
    done = CliRunner().invoke(main, [*command, "--classes", "positive, negative", "--example", SENTENCE])
    run, theirs = Run.open(tmp_path / "sst2" / "named"), hub.load(folder).trace(SENTENCE)
    assert done.exit_code == 0 and run.labels == ("negative", "positive") and run.example().text == SENTENCE
    np.testing.assert_allclose(run.example().logits, theirs.logits[::-1], atol=1e-4)

"""Small Hugging Face folders, adopted as runs, on every page of the app: nothing breaks, and what does not apply is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from click.testing import CliRunner

pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")

from sentviz import training
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.data.examples import examples_for
from sentviz.data.lexicon import Lexicon
from sentviz.models import hub
from sentviz.runs.store import Run
from sentviz.training.adoption import opening
from tests.foreign.models import saved
from tests.kit import PAGES, opened, page_text, toy_splits

pytestmark = pytest.mark.exhaustive

LABELS = ("NEGATIVE", "POSITIVE")
SENTENCE = "a warm song, a dull soup"
EXAMPLE = "what a warm, clever song, and never a dull soup"
TERMS = {"warm": 3.0, "clever": 1.5, "dull": -2.5, "cold": -1.0, "garden": 0.5}
RUNS = {"sst2/bert": "", "sst2/distilbert-last-scaled": "last-scaled"}


def own_lexicon(name: str) -> Lexicon:
    return Lexicon.of(name, pd.DataFrame({"term": list(TERMS), "polarity": list(TERMS.values())}))


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make untrained runs of a BERT and a DistilBERT, with made-up sentences as sst2."""
    root, splits = tmp_path_factory.mktemp("adopted"), toy_splits()
    splits["official_test"] = replace(splits["test"], split="official_test")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load_split", lambda name, split: splits[split])
        patch.setattr(Lexicon, "load", own_lexicon)
        for name, injection in RUNS.items():
            kind = name.partition("/")[2].removesuffix(f"-{injection}")
            model = saved(root / "models" / kind, kind, LABELS)
            lexicon = "lexicon_en_vader" if injection else ""
            training.adopt(model, "sst2", root / "runs", lexicon=lexicon, injection=injection, example=(EXAMPLE, None))
        training.adopt(saved(root / "models" / "plain", "bert", LABELS), "", root / "runs")
        patch.setenv("SENTVIZ_RUNS", str(root / "runs"))
        st.cache_resource.clear()
        yield root
    st.cache_resource.clear()


@pytest.mark.parametrize("run", [*RUNS, "adopted/plain"])
def test_every_page_stands(run: str) -> None:
    """Pages of rows say in one line which command adds them to a run without data."""
    for page in PAGES:
        app = opened(page, run=run, text=SENTENCE)
        assert not app.error and app.session_state["focus"].run == run, page
        adds = "`sentviz evaluate adopted/plain --data DATASET` adds them." in page_text(app)
        assert adds == (run == "adopted/plain" and page in ("confusion", "words", "embeddings", "labels", "comparison")), page


def test_the_command_adopts_a_folder(tmp_path: Path) -> None:
    """`sentviz adopt` writes the run that `adopt` writes; classes can be matched by name."""
    named_folder = saved(tmp_path / "named", "bert", ("GOOD", "BAD"))
    command = ["adopt", str(named_folder), "--dataset", "sst2", "-o", str(tmp_path)]
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code and "name the model's classes as the data set does" in refused.output
    done = CliRunner().invoke(main, [*command, "--classes", "positive, negative", "--example", SENTENCE])
    assert done.exit_code == 0, done.output
    run = Run.open(tmp_path / "sst2" / "named")
    assert run.labels == ("negative", "positive") and run.example().text == SENTENCE
    as_it_is = hub.load(named_folder).trace(SENTENCE)
    np.testing.assert_allclose(run.example().logits, as_it_is.logits[::-1], atol=1e-4)


def test_a_run_opens_with_a_sentence_of_its_data_sets_language() -> None:
    assert opening("nsmc") == (examples_for(("negative", "positive"), "ko")["Contrast"].text, None)
    assert opening("sst2") == (examples_for(("negative", "positive"))["Contrast"].text, None)

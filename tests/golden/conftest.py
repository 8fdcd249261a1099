"""The small world of the stored figures and pages."""

from pathlib import Path

import pytest
import streamlit as st

import app.answers
import app.blocks.get_data
from sentviz.runs import store
from tests.golden.make import RUNS
from tests.injected import use_injected_data, write_lexicon

ENTERED = [""]  # the worlds of the tests so far


@pytest.fixture(scope="session")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that has nothing but a lexicon."""
    data = tmp_path_factory.mktemp("data")
    write_lexicon(data)
    return data


@pytest.fixture(autouse=True)
def no_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no count of a search, which only a slow machine shows."""
    monkeypatch.setattr(app.answers, "QUIET", 1e9)


def enter(world: str) -> None:
    """Forget what the app has read in another world: runs, rows and lexicons of the same names may be others there."""
    if ENTERED[-1] != world:
        st.cache_resource.clear()
        ENTERED.append(world)


@pytest.fixture
def plain_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """No browser for pictures, no data sets and no weights of others, which not every machine has."""
    enter("small" if "small_world" in request.fixturenames else "plain")
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "no-browser"))
    for name in ("SENTVIZ_DATA", "SENTVIZ_MODELS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def small_world(lexicon: Path, plain_machine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the three runs of this folder, the made-up set and a lexicon; nothing is cached on disk."""
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    monkeypatch.setenv("SENTVIZ_DATA", str(lexicon))
    monkeypatch.setattr(store, "roots", lambda folders=(): [RUNS])
    use_injected_data(monkeypatch)

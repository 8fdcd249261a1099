"""Fixtures: two complete small runs, trained in a second on a made-up data set."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.training import train
from tests import makers
from tests.fresh import newcomer, nothing_at_hand  # noqa: F401 - fixtures
from tests.injected import use_injected_data, write_lexicon

ROOT = Path(__file__).parents[1]
torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def harness() -> Iterator[None]:
    """Streamlit's test harness with the settings of the app, which it does not look for, and without its second look at packages.

    For every app that it opens it reads the metadata of every installed package; here for the first one only.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "streamlit.testing.v1" in sys.modules:
            from streamlit import config
            from streamlit.components.v2 import manifest_scanner

            patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
            patch.setattr(config, "_main_script_path", str(ROOT / "app" / "main.py"))
            config.get_config_options(force_reparse=True)
        yield


@pytest.fixture(scope="session", autouse=True)
def nothing_waits_for_the_disk() -> Iterator[None]:
    """Folders of tests need not outlive a power cut; what is atomic is so without it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="session")
def tiny_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the runs toy/ndt-unit-2 and toy/vanilla-matched. Read-only: copy it to change it."""
    root = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        makers.use_toy_data(patch)
        for name in ("ndt-unit-2", "vanilla-matched"):
            train(makers.toy_recipe(name), root, progress=False)
    return root


@pytest.fixture(scope="session")
def tiny_run(tiny_runs: Path) -> Path:
    """The folder of the run toy/ndt-unit-2."""
    return tiny_runs / "toy" / "ndt-unit-2"


@pytest.fixture(scope="session")
def tiny_model(tiny_run: Path) -> Model:
    """The model of `tiny_run`."""
    return load(tiny_run)


@pytest.fixture(scope="session")
def kept_epochs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run toy/ndt-unit-2-epochs, which keeps its last three epochs. Read-only: copy it to change it."""
    root = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        makers.use_toy_data(patch)
        return train(makers.toy_recipe(variant="epochs", keep_epochs=3), root, progress=False).folder


@pytest.fixture(scope="session")
def measured_gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run toy/sentiformer, whose gates `sentviz gates` has measured. Read-only: copy it to change it."""
    root = tmp_path_factory.mktemp("gates")
    write_lexicon(root / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_DATA", str(root / "data"))
        use_injected_data(patch)
        shape = {"width": 16, "layers": 2, "heads": 2, "ffn_width": 24, "window": 2}
        run = train(makers.toy_recipe("sentiformer", shape=shape, cls=True, epochs=1), root / "runs", progress=False)
        done = CliRunner().invoke(main, ["gates", str(run.folder)])
        assert done.exit_code == 0, done.output
    return run.folder


@pytest.fixture(scope="session")
def gated_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the runs toy/sentiformer and toy/sentiformer-sinusoid. Read-only: copy it to change it."""
    root = tmp_path_factory.mktemp("gated")
    makers.train_gated(root)
    return root


DRIVERS = 2  # workers that each start a server and a Chromium


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A worker takes whole files, whose fixtures are made once; those of the browser go to two of the workers, which begin with them.

    They take half of the time: in one worker all others would wait for it, in every worker each would start a Chromium of its own.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            return file_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            drives = node in self.nodes[:DRIVERS]
            wanted = next((file for file in self.workqueue if of_browser(file) == drives), None)
            if wanted is not None:
                self.workqueue.move_to_end(wanted, last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return Files(config, log)


def file_of(nodeid: str) -> str:
    """The file of a test."""
    return nodeid.partition("::")[0]


def of_browser(nodeid: str) -> bool:
    """Whether a test, or a file, shares the server and the Chromium of `tests/browser`."""
    return "browser" in file_of(nodeid).split("/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever is not marked slow, browser or exhaustive is fast: ``pytest -m fast``.

    The browser's tests begin, then files with most that is slow: no worker is left with one of them while the others are done.
    """
    slow: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("exhaustive"):
            slow[file_of(item.nodeid)] += 100
        elif item.get_closest_marker("slow"):
            slow[file_of(item.nodeid)] += 1
        elif not item.get_closest_marker("browser"):
            item.add_marker("fast")
    items.sort(key=lambda item: (not of_browser(item.nodeid), -slow[file_of(item.nodeid)]))


def pytest_sessionfinish() -> None:
    """Streamlit's test harness leaves a temporary folder to the interpreter's exit, where it warns; it goes now."""
    harness = sys.modules.get("streamlit.testing.v1.app_test")
    if harness is not None:
        harness.TMP_DIR.cleanup()

"""Fixtures: two complete small runs, trained in a second on a made-up data set."""

import gc
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from hypothesis import settings

from sentviz.cli import main
from sentviz.data.datasets import Split
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.store import Run
from sentviz.training import train
from tests import kit
from tests.corpora import written_files
from tests.fresh import newcomer, nothing_at_hand  # noqa: F401 - fixtures
from tests.injected import use_injected_data, write_lexicon

ROOT = Path(__file__).parents[1]
settings.register_profile("sentviz", deadline=None)  # no test depends on time
settings.load_profile("sentviz")
torch.set_num_threads(1)
gc.disable()  # until all tests are collected: what is imported until then stays


@pytest.fixture(scope="session", autouse=True)
def harness() -> Iterator[None]:
    """Give Streamlit's test harness the settings of the app, and let it read the metadata of the installed packages only once."""
    with pytest.MonkeyPatch.context() as patch:
        if "streamlit.testing.v1" in sys.modules:
            from streamlit import config
            from streamlit.components.v2 import manifest_scanner

            patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
            patch.setattr(config, "_main_script_path", str(ROOT / "app" / "main.py"))
            config.get_config_options(force_reparse=True)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_fsync() -> Iterator[None]:
    """Turn fsync off: files of tests need not survive a power cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="module", autouse=True)
def close_browser() -> Iterator[None]:
    """End the Chromium of exports after each file that used it."""
    yield
    if (exports := sys.modules.get("sentviz.export.files")) is not None:
        exports.BROWSER.close()


@pytest.fixture
def toy_data(monkeypatch: pytest.MonkeyPatch) -> dict[str, Split]:
    """Replace every data set by the made-up one; return its splits."""
    return kit.use_toy_data(monkeypatch)


@pytest.fixture(scope="session")
def tiny_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the runs toy/ndt-unit-2 and toy/vanilla-matched. Copy it before you change it."""
    root = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        kit.use_toy_data(patch)
        for name in ("ndt-unit-2", "vanilla-matched"):
            train(kit.toy_recipe(name), root, progress=False)
    return root


@pytest.fixture(scope="session")
def tiny_run(tiny_runs: Path) -> Path:
    """Return the folder of the run toy/ndt-unit-2."""
    return tiny_runs / "toy" / "ndt-unit-2"


@pytest.fixture(scope="session")
def run(tiny_run: Path) -> Run:
    """Return the run toy/ndt-unit-2."""
    return Run.open(tiny_run)


@pytest.fixture(scope="session")
def model() -> Model:
    """Return a random word-level model of two components; files with a model of their own replace it."""
    return kit.small_model(components=2, mixing="free")


@pytest.fixture(scope="session")
def tiny_model(tiny_run: Path) -> Model:
    """Return the model of `tiny_run`."""
    return load(tiny_run)


@pytest.fixture(scope="session")
def kept_epochs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the run toy/ndt-unit-2-epochs, which stores its last three epochs. Copy it before you change it."""
    root = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        kit.use_toy_data(patch)
        return train(kit.toy_recipe(variant="epochs", keep_epochs=3), root, progress=False).folder


@pytest.fixture(scope="session")
def measured_gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the run toy/sentiformer with the table of `sentviz gates`. Copy it before you change it."""
    root = tmp_path_factory.mktemp("gates")
    write_lexicon(root / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_DATA", str(root / "data"))
        use_injected_data(patch)
        shape = {"width": 16, "layers": 2, "heads": 2, "ffn_width": 24, "window": 2}
        run = train(kit.toy_recipe("sentiformer", shape=shape, cls=True, epochs=1), root / "runs", progress=False)
        done = CliRunner().invoke(main, ["gates", str(run.folder)])
        assert done.exit_code == 0, done.output
    return run.folder


@pytest.fixture(scope="session")
def gated_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the runs toy/sentiformer and toy/sentiformer-sinusoid. Copy it before you change it."""
    root = tmp_path_factory.mktemp("gated")
    kit.train_gated(root)
    return root


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write a folder with a file of rows of each kind; some of the rows cannot be read."""
    return written_files(tmp_path / "in")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that store what the code draws now, and that change the order of the tests."""
    parser.addoption("--bless", action="store_true", help="store the figures of tests/golden as they are drawn now")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the files, and the tests of each file, in a random order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of `tests/browser`, skip tests without their data sets, mark the rest fast but those in `slow.txt`; sort the files.

    The browser tests are first, then the files with most slow tests.
    xdist gives whole files to its workers in this order (``--dist loadfile``). So no worker is left alone with a long file at the end.
    """
    long: Counter[Path] = Counter()
    slow = set((ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker("browser")
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))  # Playwright's own sockets
            item.add_marker(pytest.mark.skipif(not (ROOT / "checkpoints" / "sst2").is_dir(), reason="checkpoints/ is empty"))
        if item.get_closest_marker("data"):
            item.add_marker(pytest.mark.skipif(not os.environ.get("SENTVIZ_DATA"), reason="SENTVIZ_DATA names no data sets"))
        if item.get_closest_marker("exhaustive"):
            long[item.path] += 100
        elif slow & {item.nodeid, item.nodeid.partition("[")[0]}:
            long[item.path] += 1
            item.add_marker("slow")
        elif not item.get_closest_marker("browser"):
            item.add_marker("fast")
    seed = config.getoption("--shuffle")
    if seed is not None:
        places = {item.nodeid: random.Random(f"{seed} {item.nodeid}").random() for item in items}
        files = {item.path: random.Random(f"{seed} {item.path.name}").random() for item in items}
        items.sort(key=lambda item: (files[item.path], places[item.nodeid]))
        return
    items.sort(key=lambda item: (item.path.parent.name != "browser", -long[item.path]))


def pytest_collection_finish() -> None:
    """Collect garbage again, but never among what was imported and collected: that would take 5 % of the time."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Delete the temporary folder of Streamlit's test harness, which would warn when the interpreter ends."""
    harness = sys.modules.get("streamlit.testing.v1.app_test")
    if harness is not None:
        harness.TMP_DIR.cleanup()

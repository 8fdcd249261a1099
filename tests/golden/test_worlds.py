"""Pages where the small runs lack something, and of the two that have less: they show another run or say what is missing, as is stored.

`pytest tests/golden --bless` writes the outlines, as for the pages of the three runs.
"""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sentviz.data import datasets
from sentviz.data.fetch import hub
from sentviz.data.fetch.hub import FetchedPart
from sentviz.runs import store
from tests.golden.clicking import follow, forget_work
from tests.golden.conftest import enter
from tests.golden.make import MEASUREMENTS, RUNS
from tests.golden.outlines import STORED, compare_outline, outline
from tests.golden.views import BARS, FUSED, HARDMAX, LIBRARY, NDT, PAPERS, named, usual
from tests.kit import PAGES, SHIPPED, opened, sane
from tests.shipped import often

pytestmark = SHIPPED
OUTLINES = STORED.with_name("worlds")
TWIN = "films/ndt-unit-2"  # the first run once more, by another name, of another data set
WEIGHTS = ("model.safetensors", "epochs/2.safetensors", "epochs/3.safetensors", "epochs/4.safetensors")
PLAIN = ("model.safetensors", "tokenizer.json", "example.safetensors", "metrics.json", "history.parquet", "test.parquet")
LOAD_SPLIT = datasets.load_split  # The small world replaces it.
Config = dict[str, Any]


def copied(root: Path, name: str, change: Callable[[Config], object]) -> None:
    """Copy the first run to `root` under a name, with a changed configuration; files that it no longer names are deleted."""
    folder = root / name
    shutil.copytree(RUNS / NDT, folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["name"] = name
    change(config)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for path in [path for path in folder.rglob("*") if path.is_file() and path.name != "config.json"]:
        if path.relative_to(folder).as_posix() not in config["files"]:
            path.unlink()


def without(*files: str) -> Callable[[Config], object]:
    """Return a change of a configuration that leaves out files."""
    return lambda config: [config["files"].pop(file) for file in files]


def only(*files: str) -> Callable[[Config], object]:
    """Return a change of a configuration that leaves out all other files."""
    return lambda config: [config["files"].pop(file) for file in list(config["files"]) if file not in files]


def of_films(config: Config) -> None:
    """Name another data set in a configuration."""
    config["data"]["name"] = config["recipe"]["data"] = "sst2"


def lacks_weights(root: Path) -> None:
    """The first run has no weights; its twin of another data set has, and so have the other two."""
    for name in ("toy/cls-last-scaled-gated-aware", "toy/hardmax-d2"):
        shutil.copytree(RUNS / name, root / name)
    copied(root, NDT, without(*WEIGHTS))
    copied(root, TWIN, of_films)


def lacks_measurements(root: Path) -> None:
    """There is one run, and nothing was measured on it."""
    copied(root, NDT, only(*PLAIN))


def lacks_fit(root: Path) -> None:
    """There is only a run that most pages have little to say about, and a run without weights of another data set."""
    shutil.copytree(RUNS / "toy/hardmax-d2", root / "toy/hardmax-d2")
    copied(root, TWIN, lambda config: (of_films(config), without(*WEIGHTS)(config)))


def lacks_data(root: Path) -> None:
    """The run has all that the first one has, and its data set is not on this machine."""
    copied(root, TWIN, of_films)


def lacks_all(root: Path) -> None:
    """The run has only its predictions, and its data set is not on this machine."""
    copied(root, TWIN, lambda config: (of_films(config), only("metrics.json", "test.parquet")(config)))


def lacks_nothing(root: Path) -> None:
    """All three runs are there; a page opens with the second or the third."""
    for name in MEASUREMENTS:
        shutil.copytree(RUNS / name, root / name)


WORLDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "weights": (lacks_weights, NDT),
    "measurements": (lacks_measurements, NDT),
    "fit": (lacks_fit, TWIN),
    "data": (lacks_data, TWIN),
    "all": (lacks_all, TWIN),
    "fused": (lacks_nothing, FUSED),
    "hardmax": (lacks_nothing, HARDMAX),
}
"""World -> what makes its runs, and the run with which its pages open."""
LINKS: list[tuple[str, dict[str, str]]] = [
    ("explore", {"row": "test-3"}),
    ("explore", {"row": "demo-1"}),
    ("compare", {"versus": "toy/hardmax-d2"}),
    ("confusion", {"slice": "cell=1,0"}),
    ("confusion", {"row": "test-3"}),
    ("confusion", {"view": "slices", "threshold": "0.7"}),
    ("words", {"slice": "cell=1,1"}),
    ("words", {"slice": "words=3-5"}),
    ("words", {"among": "has=negation", "threshold": "0.7"}),
    ("embeddings", {"slice": "cell=1,0"}),
    ("attention", {"row": "test-3"}),
    ("causes", {"second": "a clever, tender garden"}),
]
OF_RUNS = [page for page in PAGES if page not in PAPERS and page not in LIBRARY]
VIEWS = {
    f"{world}-{named(page, query)}": (world, page, query) for world in WORLDS for page, query in [*((page, {}) for page in OF_RUNS), *LINKS]
}


def enter_world(world: str, root: Path, patch: pytest.MonkeyPatch) -> str:
    """Make a world in the folder `root`; return the run with which its pages open."""
    enter(world)
    make, run = WORLDS[world]
    make(root)
    patch.setattr(store, "roots", lambda folders=(): [root])
    if make in (lacks_data, lacks_all):
        patch.setattr(datasets, "load_split", LOAD_SPLIT)
    return run


def fetch(name: str, *, progress: Callable[[int, int], None], stop: threading.Event) -> list[FetchedPart]:
    """Report as a download does: half of it, then all."""
    for done in (1_000_000, 2_000_000):
        progress(done, 2_000_000)
    return [FetchedPart("test", Path("test.parquet"), 60, False, f"{name} has other rows than the known ones.")]


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", ["words", "embeddings"])
def test_what_is_not_on_this_machine_can_be_fetched(
    page: str, small_world: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    run = enter_world("data", tmp_path / "runs", monkeypatch)
    monkeypatch.setenv("SENTVIZ_ALLOW_DOWNLOAD", "1")
    monkeypatch.setattr(hub, "get", fetch)
    changes = list(follow(page, {"run": run}, (("button again-sst2", ""),)))
    compare_outline(f"data-fetched-{page}", changes, request.config.getoption("--bless"), OUTLINES)
    forget_work()


@pytest.mark.parametrize("name", often(VIEWS, *usual("world")))
def test_a_page_says_what_its_runs_lack(
    name: str, small_world: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    world, page, query = VIEWS[name]
    run = enter_world(world, tmp_path / "runs", monkeypatch)
    app = opened(page, **{"run": run} | query)
    sane(app)
    link = [f"link {key}={value}" for key, value in sorted(app.query_params.items())]
    compare_outline(name, [*link, *outline(app.main, bars=name in BARS)], request.config.getoption("--bless"), OUTLINES)

"""Every control of every page is operated once, and what it changes is as stored; so are a few longer ways through a page.

`pytest tests/golden --bless` writes `tests/golden/clicks`: below each click, how many lines of the outline went, and which lines came.
A click that ends in an exception, or in a sentence that reports a fault of ours, fails. So does a click on a page as it opens whose link
does not show what the click showed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from app.views.yours import library_part, model_part
from sentviz.cli.terminal import Report
from sentviz.papers.sentiformer.solvers import Separation, Setting, Tick, separate
from tests.golden.clicking import Step, follow, forget_work, walk
from tests.golden.outlines import STORED, compare_outline
from tests.golden.views import FUSED, HARDMAX, NDT, PAPER_VIEWS, VIEWS, named, usual
from tests.kit import SHIPPED, model_folder
from tests.shipped import often

pytestmark = SHIPPED
CLICKS = STORED.with_name("clicks")
HOSTILE = "<script>alert(1)</script> $x$ **b** `c` [a](javascript:b) \\ | <b>&amp;"
SAME = (  # parts of the names of views that have the controls of another one
    "-row-",
    "-slice-",
    "-target-",
    "-off-",
    "-mix-",
    "-text-",
    "-token-2",
    "-component-2",
    "-large",
    "-calibration",
    "-dims-",
    "-stops-",
)
WALKED = {name: view for name, view in VIEWS.items() if not any(part in name for part in SAME)}
OPEN: tuple[tuple[str, dict[str, str]], ...] = (  # views that have more to operate than the pages as they open
    ("explore", {"whatif": "open"}),
    ("explore", {"run": FUSED, "whatif": "open"}),
    ("confusion", {"row": "test-3"}),
    ("confusion", {"run": FUSED}),
    ("confusion", {"run": FUSED, "over": "demo"}),
    ("confusion", {"run": FUSED, "view": "slices"}),
    ("confusion", {"run": FUSED, "view": "curves", "over": "demo"}),
    ("embeddings", {"run": FUSED}),
    ("comparison", {"versus": FUSED, "over": "demo", "row": "demo-3"}),
    ("attention", {"run": HARDMAX}),
    ("causes", {"run": FUSED, "second": "a clever, tender garden"}),
)
WALKED |= {named(page, query): (page, query) for page, query in OPEN}
MORE = ("explore", "compare", "embeddings", "cls")
"""Pages of which a link says less than the page after a click: what was tried, the app's own first run, computed layers, a measure."""
SENTENCE, OVER = "text_input sentence", "selectbox focus-over"
MANY = "a tender song, what a dull garden, a clever soup, no warm joke"  # four clauses
SAVED = ("file_uploader yours-uploader", "many.csv"), ("button yours-save", "")
THEORY = {"run": "", "part": "theory"}
SECOND = {"second": "a clever, tender garden"}
ANSWERS = "radio mine-answers…-text-label", ""


def upload(file: str) -> tuple[Step, Step]:
    """Return the two clicks that make a file's rows those of the page."""
    return (OVER, "your file"), ("file_uploader mine-file", file)


WAYS: dict[str, tuple[str, dict[str, str], tuple[Step, ...], bool]] = {
    "type": ("explore", {}, ((SENTENCE, "a clever, tender garden"), ("button pin", ""), (SENTENCE, "a dull garden")), True),
    "hostile": ("explore", {}, ((SENTENCE, HOSTILE), ("expander swap-section", ""), ("button pin", "")), False),
    "long": ("explore", {}, ((SENTENCE, "a dull song, " * 40),), False),
    "swap": ("explore", {}, (("expander swap-section", ""),), True),
    "studio": ("curves", {}, (("!button open-studio-curves", ""),), True),
    "studio-size": ("curves", {}, (("!button open-studio-curves", ""), ("button_group studio-size", "own")), True),
    "export": ("curves", {}, (("button_group size-curves", "one column"),), True),
    "second": ("confusion", {}, (("selectbox beside", ""),), True),
    "cell": ("confusion", {}, (("plotly_chart plot-matrix", ""),), True),
    "mine": ("confusion", {}, upload("mine.csv"), True),
    "mine-map": ("embeddings", {}, upload("mine.csv"), True),
    "mine-labels": ("labels", {}, upload("mine.csv"), True),
    "models": ("comparison", {}, upload("models.csv"), True),
    "sheets": ("confusion", {}, upload("sheets.xlsx"), True),
    "yours": ("yours", {}, (("file_uploader yours-uploader", ""),), True),
    "follow": ("compare", {}, (("text_input compare-sentence", HOSTILE), ("button compare-swap", "")), False),
    "behaviour": ("behaviour", {}, (("button again-behaviour toy/ndt-unit-2-epochs …", ""),), True),
    "exact": ("explore", {"score": "exact", "text": MANY}, (("button again…", ""),), False),
    "layers": ("embeddings", {}, (("button every-layer", ""), ("bidi_component embedding-points", "")), True),
    "circuit": ("causes", SECOND, (("button add-strongest", ""), ("plotly_chart plot-patch-head-tokens", "")), True),
    "pairs": ("causes", SECOND, (("button_group focus-pairs", "adjective"),), True),
    "pair-circuit": ("causes", SECOND, (("button_group focus-pairs", "adjective"), ("button_group focus-beyond", "circuit")), True),
    "measure": ("cls", {}, (("selectbox cls-measure", ""),), True),
    "word": ("words", {}, (("plotly_chart plot-cloud", ""), ("selectbox words-cell", "")), True),
    "matrix": ("hardmax", {"run": HARDMAX, "lab": "playground"}, (("button_group play-way", ""), ("button_group play-way", "")), True),
    "token": ("hardmax", {"run": HARDMAX, "lab": "playground"}, (("bidi_component play-canvas", ""),), True),
    "row": ("hardmax", {"run": HARDMAX, "lab": "review"}, (("button hardmax-take", ""), ("select_slider focus-heat", "")), True),
    "speed": ("comparison", {"versus": FUSED, "over": "demo"}, (("button comparison-speed", ""),), True),
    "proposition": ("sentiformer", THEORY, (("button prop2-train", ""), ("text_input prop2-text", "not fine good")), True),
    "lines": ("yours", {"bring": "Lines"}, (("text_area yours-lines", "a tender song"), ("button yours-look", "")), True),
    "train": ("yours", {"wish": "train"}, SAVED, True),
    "trained": ("yours", {"wish": "train"}, (*SAVED, ("selectbox train-base-mine/many", ""), ("button again-mine/many", "")), True),
    "open": ("yours", {"wish": "open"}, (("selectbox yours-offered", ""),), True),
    "opened": ("yours", {"wish": "open"}, (("selectbox yours-offered", ""), ("button again-adopt /models/critic ()", "")), False),
    "folder": ("yours", {"wish": "open"}, (("text_input yours-folder", "nowhere"), ("text_input yours-folder", "models/nameless")), True),
    "answers": ("confusion", {}, (*upload("three.csv"), ANSWERS), True),
    "three": ("words", {}, (*upload("three.csv"), ANSWERS), True),
    "beside": ("confusion", {}, (*upload("models.csv"), ANSWERS, ("selectbox mine-beside…-text-label-0", "theirs")), True),
    "names": ("confusion", {}, (*upload("numbers.csv"), ANSWERS, ("text_input mine-names…-text-label", "negative, positive")), True),
    "scores": ("confusion", {}, (*upload("scores.csv"), ANSWERS), True),
    "partial": ("confusion", {}, (*upload("partial.csv"), ("checkbox mine-partial…", "")), True),
    "broken": ("confusion", {}, upload("broken.csv"), False),
    "empty": ("yours", {}, (("file_uploader yours-uploader", "empty.csv"),), False),
    "clauses": ("explore", {}, ((SENTENCE, MANY), ("button each-word", "")), True),
    "later": ("explore", {}, ((SENTENCE, MANY),), True),
    "found": ("confusion", {}, (("selectbox finder", "Lambda"),), False),
    "found-run": ("glossary", {}, (("selectbox finder", "Hardmax, d = 2"),), False),
    "stars": ("confusion", {}, upload("stars.csv"), True),
    "plain": ("confusion", {}, upload("texts.txt"), True),
}
"""Ways of several clicks: page, its link, the clicks, and whether what is new on the page after them is operated, too."""
OWN_MACHINE = {f"app.views.yours.{part}.own_machine": lambda *_: True for part in ("file_part", "library_part", "model_part")}
PATCHES: dict[str, dict[str, object]] = {
    "exact": {"sentviz.analysis.explain.exact.QUICK": 0},
    "clauses": {"app.answers.SCREENED_WORK": 0},
    "later": {"app.answers.takes_long.__defaults__": (0,)},
    "train": OWN_MACHINE,
    "trained": OWN_MACHINE,
    "folder": OWN_MACHINE,
}
"""What is replaced on a way: a limit that the small models reach, a visitor on the machine that serves."""
COMPARED = [
    {"name": name, "accuracy": accuracy, "low": accuracy - 0.25, "high": accuracy + 0.25, "n": 8}
    for name, accuracy in (("this run", 0.5), ("bag of words", 0.75))
]
"""What a training reports of its run and of a simple classifier."""


def separate_soon(setting: Setting, tick: Tick) -> Separation:
    """Train the models of proposition 2 on few sequences, and say that each took a second."""
    return replace(separate(replace(setting, rows=60, epochs=1, tested=20), tick), setting=setting, seconds={"all": 1.0})


def run_soon(arguments: Sequence[str], hear: Callable[[Report], object], check: Callable[[], object]) -> None:
    """Report as a command in a process of its own does: three steps, then the result."""
    for done in range(1, 4):
        hear({"done": done, "total": 3})
        check()
    hear({"run": HARDMAX} if arguments[0] == "adopt" else {"compared": COMPARED})


@pytest.fixture
def own_home(plain_machine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep what pages store in a folder of this test alone, and load now what the app would load beside the first clicks."""
    import_module("sklearn.metrics")
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    model_folder(Path("models/critic"), id2label={"0": "bad", "1": "good"})
    model_folder(Path("models/nameless"))
    monkeypatch.setenv("SENTVIZ_MODELS", "models")
    monkeypatch.setattr("sentviz.papers.sentiformer.solvers.separate", separate_soon)
    for part in (model_part, library_part):
        monkeypatch.setattr(part, "run_apart", run_soon)
    yield
    forget_work()


@pytest.mark.parametrize("name", often(WALKED, *usual("click")))
def test_a_click_changes_what_is_stored(name: str, small_world: None, own_home: None, request: pytest.FixtureRequest) -> None:
    page, query = WALKED[name]
    changes = list(walk(page, {"run": NDT} | query, links=not query and page not in MORE))
    compare_outline(name, changes, request.config.getoption("--bless"), CLICKS)


@pytest.mark.parametrize("name", often(PAPER_VIEWS, *usual("click-on-a-paper")))
def test_a_click_on_a_page_of_a_paper_changes_what_is_stored(name: str, own_home: None, request: pytest.FixtureRequest) -> None:
    page, query = PAPER_VIEWS[name]
    compare_outline(name, list(walk(page, query)), request.config.getoption("--bless"), CLICKS)


@pytest.mark.parametrize("name", often(WAYS, *usual("way")))
def test_several_clicks_change_what_is_stored(
    name: str, small_world: None, own_home: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    page, query, steps, on = WAYS[name]
    for place, value in PATCHES.get(name, {}).items():
        monkeypatch.setattr(place, value)
    compare_outline(f"way-{name}", list(follow(page, {"run": NDT} | query, steps, on=on)), request.config.getoption("--bless"), CLICKS)

"""Parts of pages, each alone with little data, so that all of its controls are operated in a moment.

A part is a function that Streamlit's harness runs as a page. What is slow or random is replaced in `tests/golden/test_parts.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from runpy import run_module

import pandas as pd
import streamlit as st

from app import cache, visit
from app.blocks import my_file, run_choice, sentence
from app.blocks.boundary import boundary
from app.blocks.pages import first_row, page_buttons
from app.focus import Focus
from app.places import SENTENCE
from app.server.queue import turn
from app.views.hardmax import playground
from app.views.papers import items_part, own_parts
from app.views.yours import file_part, library_part
from app.visit import Settings
from sentviz.data.upload import TextTable
from sentviz.errors import InputError
from sentviz.models.budget import Budget, Spent
from sentviz.models.clustering.playground import DEFAULTS, linked
from sentviz.runs.registry import built_in
from tests.golden.clicking import FILES, Step
from tests.golden.views import FUSED, HARDMAX, NDT

ANSWERS = ("radio mine-answers-numbers.csv-text-label", "")
NAMES = ("text_input mine-names-numbers.csv-text-label", "negative, positive")


@dataclass(frozen=True)
class Part:
    """A part of a page: what draws it, the clicks on it at first, its link, and whether each of its controls is operated then."""

    draw: Callable[[], object]
    steps: tuple[Step, ...] = ()
    query: dict[str, str] = field(default_factory=dict)
    operated: bool = True

    def state(self) -> dict[str, object]:
        """Return the state of a visit to the part."""
        settings = Settings()
        settings.follow("part", self.query)
        focus, _ = Focus.parse({"run": NDT, "text": "a dull, warm song"} | self.query, (NDT, FUSED, HARDMAX), ("alone",), NDT)
        return {"focus": focus, "page": "part", "view": SENTENCE.views[0], "settings": settings}


def say(**values: object) -> None:
    """Write values that are not seen on the page otherwise."""
    st.text(", ".join(f"{name}: {value}" for name, value in values.items()))


def table(file: str, **columns: str) -> TextTable:
    """Return a file of `FILES` as a table."""
    frame = pd.read_csv(BytesIO(FILES[file]), dtype=str, keep_default_na=False)
    return TextTable(file, frame, columns.get("text", ""), columns.get("label", ""), file)


def errors() -> None:
    """Draw an error in each way, and the buttons of a long and of a short table."""
    budget: Budget = st.session_state.setdefault("budget", Budget(20.0))
    with boundary("search", quiet=True):
        raise InputError("The file `a.csv` has *no* text.")
    with boundary("search"):
        raise Spent(budget, 3, 4)
    page_buttons(450, "long")
    page_buttons(200, "short")
    say(seconds=budget.seconds, first=first_row(450, "long"), short=first_row(200, "short"))
    with boundary(page=True):
        raise InputError("Nothing follows.")
    say(unreached=True)


def waiting() -> None:
    """Wait for two turns, of which the second never comes."""
    for work in ("long", "endless"):
        with turn(work):
            say(working=True)


def columns() -> None:
    """Draw the columns of some files, and say how they are chosen."""
    for file, divided in (("many.csv", True), ("three.csv", False), ("mine.csv", True)):
        st.caption(file)
        say(choices=file_part.chosen_columns(table(file), None, divided=divided))


def predictions(beside: bool) -> None:
    """Draw the choice of the answers of a file whose classes are numbers."""
    mine = table("numbers.csv", text="text", label="label")
    if (chosen := my_file._choose_answers(mine, my_file.proposed(mine), cache.run(NDT), beside)) is not None:
        say(names=chosen.answers and chosen.answers.names, beside=chosen.beside)


def boxes() -> None:
    """Draw what a sentence is typed into, and what changes its model."""
    run, text = cache.run(FUSED), visit.focus().text
    sentence.sentence_box(run, text, None)
    sentence.example_buttons({"first": ("a song", ""), "second": (text, "")}, (text, ""))
    for dial in run.capabilities.dials:
        sentence.strength(dial)
    sentence.layer_and_head(2, 2)
    sentence.component_choice(2)
    sentence.offer_reader(run, "이 영화는 정말 재미있다")
    say(chosen=visit.has_chosen_run(), kind=st.session_state["sentence-kind"])


def controls(**changes: object) -> None:
    """Draw the controls of the playground."""
    visit.settings().values.setdefault("play", linked(DEFAULTS | changes))
    with boundary():
        say(setting=playground._controls())


def models_of_file() -> None:
    """Draw the comparison of a file's models."""
    st.session_state.setdefault("mine", table("models.csv", text="text", label="label"))
    run_module("app.views.testset.comparison")


def items() -> None:
    """Draw the items of a paper without sections, of which no run is installed."""
    paper = built_in()["hardmax"]
    items_part.show(replace(paper, folder=Path("nowhere"), page=replace(paper.page, sections=())), ())


PARTS = {
    "errors": Part(errors),
    "waiting": Part(waiting),
    "library": Part(lambda: (library_part.saved(), library_part.models())),
    "columns": Part(columns, query={"wish": "train"}),
    "predictions": Part(partial(predictions, beside=True), (ANSWERS, NAMES)),
    "only_predictions": Part(partial(predictions, beside=False), (ANSWERS,)),
    "two_configurations": Part(lambda: own_parts._compare_two({name: [cache.run(name)] for name in (NDT, FUSED)}, "toy")),
    "boxes": Part(boxes),
    "beside_it": Part(lambda: say(one=run_choice.beside_it((NDT, FUSED, HARDMAX), most=1, instead=FUSED)), query={"versus": HARDMAX}),
    "nobody_beside": Part(lambda: say(any=run_choice.beside_it((NDT, FUSED), instead=FUSED)), (("multiselect beside", ""),)),
    "plane": Part(partial(controls, start="pasted")),
    "space": Part(partial(controls, start="pasted", dimension=3)),
    "clicked": Part(partial(controls, start="clicked")),
    "runs": Part(partial(run_module, "app.views.library.runs"), (), {"shelf": "errors"}, operated=False),
    "behaviour": Part(partial(run_module, "app.views.testset.behaviour"), (), {"capability": "addition"}, operated=False),
    "models_of_file": Part(models_of_file, (), {"over": "mine"}, operated=False),
    "items": Part(items, query={"part": "items"}),
}

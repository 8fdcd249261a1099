"""Click on a page of Streamlit's test harness as a visitor does, and say what changes."""

from __future__ import annotations

import copy
import dataclasses
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.caching.cache_resource_api import _resource_caches
from streamlit.runtime.state.query_params import QueryParams
from streamlit.runtime.state.session_state import KeyIdMapper, PersistedWidgetTracker, WStates
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import FileUploader, InitialValue, Widget

from app.visit import Settings
from sentviz.serving.jobs import Jobs
from tests.fresh import FAULTS
from tests.golden.controls import Control, Send, chosen, controls, key_of, operate, put, state_of
from tests.golden.outlines import digest, outline
from tests.kit import opened, page_text, workbook

ROWS = (("text", "label"), ("a tender song", "positive"), ("what a dull garden", "negative"), ("a clever soup", "negative"))
ANSWERS = (("ours_predicted", "theirs_predicted"), ("positive", "positive"), ("negative", "positive"), ("positive", "negative"))
CLASSES = ("negative", "neutral", "positive")
TONES = (("tender", "positive"), ("dull", "negative"))
THINGS = ("song", "garden", "soup", "joke", "film", "road", "lake", "book", "play", "room", "meal", "tune")


def table_of(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> bytes:
    """Return a CSV file."""
    return "\n".join(",".join(map(str, row)) for row in (columns, *rows)).encode()


FILES = {  # A visitor uploads one of these.
    "mine.csv": table_of(*ROWS[:1], ROWS[1:]),
    "models.csv": table_of((*ROWS[0], *ANSWERS[0]), [(*row, *answers) for row, answers in zip(ROWS[1:], ANSWERS[1:], strict=True)]),
    "sheets.xlsx": workbook(ROWS, ROWS[:3]),
    "many.csv": table_of(("text", "label"), [(f"a {tone} {thing}", label) for thing in THINGS for tone, label in TONES]),
    "three.csv": table_of(
        ("text", "label", "predicted"),
        [(f"a {tone} {thing}", CLASSES[i % 3], CLASSES[i % 4 % 3]) for i, thing in enumerate(THINGS) for tone, _ in TONES],
    ),
    "numbers.csv": table_of(
        ("text", "label", "predicted"), [(f"a {tone} {thing}", i, j) for j, thing in enumerate("ab") for i, (tone, _) in enumerate(TONES)]
    ),
    "scores.csv": table_of(("text", "label", "score"), [(text, label, 0.2 * i) for i, (text, label) in enumerate(ROWS[1:])]),
    "partial.csv": table_of(("text", "label"), [*ROWS[1:], ("a calm lake", "odd"), ("a loud road", "")]),
    "stars.csv": table_of(("text", "stars"), [(text, stars) for (text, _), stars in zip(ROWS[1:], (5, 1, 3), strict=True)]),
    "broken.csv": b'text,label\n"a tender song,positive\n',
    "empty.csv": b"",
    "texts.txt": b"a tender song\nwhat a dull garden\n",
}
TWINS = (Settings, WStates, QueryParams, KeyIdMapper, PersistedWidgetTracker)  # parts of a visit's state that are changed in place
PATIENCE = 120.0  # seconds in which work in the background must end
LINES, LONGEST = 5, 100  # lines that are stored of each change, and their characters
ONCE = ("size-", "export-", "open-studio-", "numbers-", "add-", "example-")  # beginnings of keys of which the first on a page is operated
OTHERWISE = ("finder", "focus-run", "prop2-train")  # keys of the choice of a run, which other tests make for every page, and of a training
PRESSED = re.compile(r"(?<=bidi_component: )\{.*\}|(?: True| False)(?= #)")
HOMES = count()
Step = tuple[str, str]  # the name of a control, and the words of an option or the text to type; "" for what it does first


def twin(value: Any) -> Any:
    """Return a copy of a part of a visit's state, so that a click changes only one of the two. Results of models are shared."""
    if type(value) is dict:
        return {key: twin(part) for key, part in value.items()}
    if type(value) in (list, set):
        return type(value)(map(twin, value))
    if isinstance(value, TWINS):
        new = copy.copy(value)
        for each in dataclasses.fields(value):
            setattr(new, each.name, twin(getattr(value, each.name)))
        return new
    return value


@dataclass
class Page:
    """A page, and what was done on it that the harness forgets: drawers that are open, dialogs, clicks on charts and tables."""

    app: AppTest
    resent: dict[str, WidgetState] = field(default_factory=dict)
    stays: Callable[[], None] = field(default=lambda: None)

    def stay(self) -> None:
        """Remember how the page is now, for `back`."""
        app, state, resent = self.app, self.app._session_state._state, dict(self.resent)
        tree, query, page = app._tree, dict(app.query_params), app._finished_page_script_hash
        fields = {each.name: twin(getattr(state, each.name)) for each in dataclasses.fields(state)}
        bring_back = kept_work()

        def back() -> None:
            app._tree, app.query_params, app._finished_page_script_hash, self.resent = tree, dict(query), page, dict(resent)
            for name, value in fields.items():
                setattr(state, name, twin(value))
            bring_back()

        self.stays = back

    def back(self) -> None:
        """Make the page and the visit what they were when `stay` was called; what was clicked since then has left nothing behind."""
        self.stays()
        for node in self.app._tree:
            if isinstance(node, FileUploader):
                node._files = InitialValue()

    def send(self, control: Control, fill: Send, *, file: str = "mine.csv", hold: bool = False) -> Page:
        """Send the state of one control, and run the page.

        Args:
            file: name of the file of `FILES` that is uploaded, if it takes a file.
            hold: send it with every later click again, as for the button that opened a dialog, which is open until it is closed.
        """
        states = {state.id: state for state in self.app._tree.get_widget_states().widgets} | self.resent
        if isinstance(control.node, FileUploader):
            control.node.set_value((file, FILES[file], "text/csv"))
            control.node._files = [(file, *rest) for _, *rest in control.node._files]  # a name of the file instead of a random one
            state = state_of(control.node)
        else:
            state = WidgetState(id=control.id)
            fill(state)
        states[control.id] = state
        if hold or not isinstance(control.node, Widget):
            self.resent[control.id] = state
        sent = WidgetStates()
        sent.widgets.extend(states.values())
        self.app._run(sent)
        return self.settled()

    def settled(self) -> Page:
        """Run the page until no work is left in the background."""
        end = time.monotonic() + PATIENCE
        while any((button.key or "").startswith("stop-") for button in self.app.button):
            assert time.monotonic() < end, page_text(self.app)
            time.sleep(0.05)
            states = {state.id: state for state in self.app._tree.get_widget_states().widgets} | self.resent
            sent = WidgetStates()
            sent.widgets.extend(states.values())
            self.app._run(sent)
        return self

    def take(self, step: Step) -> Page:
        """Operate the control that a step names: what it does first, or the option that begins with the step's words, or the text itself.

        A step whose control begins with "!" is sent with every later click, too, as a dialog is open until it is closed.
        """
        control = self.find(step[0].removeprefix("!"))
        fill = next(fill for _, fill in operate(control))
        if step[1] in FILES:
            return self.send(control, fill, file=step[1])
        if step[1]:
            fill = partial(put, control.node.type, chosen(control.proto, step[1]))
        return self.send(control, fill, hold=step[0].startswith("!"))

    def lines(self) -> list[str]:
        """Return the outline of everything on the page, dialogs and short messages included, and its address and view."""
        app = self.app
        state = app.session_state["focus"].query(with_text=True)
        link = in_link(app)
        about = [f"link {name}={value}" for name, value in sorted(link.items())]
        about += [f"view {name}={value}" for name, value in sorted(state.items()) if link.get(name) != value]
        drawn = (" ".join(line.split()) for line in outline(app._tree, menus=True))
        return [*about, *(line for line in drawn if not line.startswith("code: ?"))]

    def find(self, name: str) -> Control:
        """Return the control of a name."""
        named = {control.name: control for control in controls(self.app)}
        assert name in named, f"{name} is not among {', '.join(named)}"
        return named[name]

    def check(self) -> None:
        """Check that the page has no exception, and no sentence that reports a fault of ours."""
        assert not self.app.exception, [f"{each.value} {''.join(each.proto.stack_trace)[-600:]}" for each in self.app.exception]
        text = page_text(self.app)
        assert not [fault for fault in FAULTS if fault in text], text[:600]


def change(before: list[str], after: list[str]) -> list[str]:
    """Return the lines that came, cut, and how many came and went, with a digest of each."""
    gone, new = list[str](), list[str]()
    for what, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what != "equal":
            gone, new = [*gone, *before[first:last]], [*new, *after[start:end]]
    if not gone and not new:
        return ["  nothing changes"]
    more = [f"  + {len(new) - LINES} more #{digest(*new[LINES:])}"] if len(new) > LINES else []
    return [*([f"  - {len(gone)} #{digest(*gone)}"] if gone else []), *(f"  + {cut(line)}" for line in new[:LINES]), *more]


def cut(line: str) -> str:
    """Return a line of at most `LONGEST` characters, with the digest at its end."""
    text, mark, end = line.rpartition(" #")
    return f"{text[: LONGEST - 1]}…{mark}{end}" if len(text) > LONGEST else line


def walk(page: str, query: Mapping[str, str], *, links: bool = False) -> Iterator[str]:
    """Yield what changes on a page after each single click, each on the page as it opens.

    Args:
        links: if a click changes the address, check that a new visit to this address shows the same.
    """
    yield from walk_on(fresh(page, query), page if links else "")


def walk_on(first: Page, page: str = "") -> Iterator[str]:
    """Yield what changes on a page that stays after each single click.

    Args:
        page: its name, to check its links; "" to check none.
    """
    first.check()
    before, start, menus = first.lines(), in_link(first.app), set[str]()
    for control in list(controls(first.app)):
        if is_left_out(control, menus):
            continue
        for words, fill in list(operate(control)):
            yield from changed_by(f"{control.name}: {words}", first.send(control, fill), before)
            link, clicked = in_link(first.app), lasting(first.app)
            first.back()
            if page and link != start:
                now = lasting(Page(opened(page, **link)).settled().app)
                different = list(unified_diff(clicked, now, "after the click", "by its link", lineterm="", n=0))
                assert not different, "\n".join([f"{control.name}: {words}", *different[2:12]])


def in_link(app: AppTest) -> dict[str, str]:
    """Return the parameters of the address."""
    return {name: str(value[0] if isinstance(value, list) else value) for name, value in app.query_params.items()}


def lasting(app: AppTest) -> list[str]:
    """Return the outline of a page without what was just pressed."""
    return [PRESSED.sub("", line) for line in outline(app.main)]


def fresh(page: str, query: Mapping[str, str]) -> Page:
    """Return a page as it opens."""
    forget_work()
    opened_page = Page(opened(page, **query)).settled()
    opened_page.stay()
    return opened_page


def works() -> Iterator[Jobs]:
    """Yield the registries of background work that the app has made so far."""
    for of_session in _resource_caches._function_caches.copy().values():
        for each in of_session.copy().values():
            with each._mem_cache_lock:
                results = [entry.value for entry in each._mem_cache.values()]
            yield from (result for result in results if isinstance(result, Jobs))


def forget_work() -> None:
    """Forget the results of background work, in memory and on disk, that an earlier visitor has left."""
    for each in works():
        each._jobs.clear()
    os.environ["SENTVIZ_HOME"] = str(Path(os.environ["SENTVIZ_HOME"]).parent / f"home-{next(HOMES)}")


def kept_work() -> Callable[[], None]:
    """Return a function that brings back the results of background work, in memory and on disk, as they are now."""
    results = [(each, dict(each._jobs)) for each in works()]
    home, copy_of_home = Path(os.environ["SENTVIZ_HOME"]), Path(os.environ["SENTVIZ_HOME"]).parent / f"kept-{next(HOMES)}"
    if home.is_dir():
        shutil.copytree(home, copy_of_home)

    def bring_back() -> None:
        forget_work()
        for each, done in results:
            each._jobs.update(done)
        if copy_of_home.is_dir():
            shutil.copytree(copy_of_home, os.environ["SENTVIZ_HOME"])

    return bring_back


def follow(page: str, query: Mapping[str, str], steps: Sequence[Step], *, on: bool = False) -> Iterator[str]:
    """Yield what changes after each of several clicks on one page.

    Args:
        on: operate then, each after the same clicks, the controls that were not there before.
    """
    done = fresh(page, query)
    old = {control.name for control in controls(done.app)}
    before = done.lines()
    for step in steps:
        yield from changed_by(" ".join(filter(None, step)), done.take(step), before)
        before = done.lines()
    done.stay()
    menus = set[str]()
    for control in [control for control in list(controls(done.app)) if on and control.name not in old]:
        if is_left_out(control, menus):
            continue
        for words, fill in list(operate(control)):
            yield from changed_by(f"then {control.name}: {words}", done.send(control, fill), before)
            done.back()


def is_left_out(control: Control, menus: set[str]) -> bool:
    """Return whether a control is not operated: it is a file, the choice of the run, or in the second export menu of a page."""
    key = key_of(control.id)
    start = next((start for start in ONCE if key.startswith(start)), "")
    if start:
        kind = f"{start}{key.rpartition('-')[2] if start == 'export-' else ''}"
        if kind in menus:
            return True
        menus.add(kind)
    return control.node.type == "download_button" or key in OTHERWISE


def changed_by(title: str, page: Page, before: list[str]) -> Iterator[str]:
    """Yield the title of a click, and what is different after it."""
    try:
        page.check()
    except AssertionError as error:
        raise AssertionError(f"{title}: {error}") from None
    yield from chain([title], change(before, page.lines()))

"""The view of one visitor: the focus that all pages share, the settings of single pages, and the widgets that change both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import streamlit as st

from app.fields import TEXT_IN_URL, as_sent
from app.focus import EARLIER, FIELDS, Focus

T = TypeVar("T")


@dataclass
class Settings:
    """The settings of single pages that a visitor chose. A link carries the settings of the page that it opens.

    Attributes:
        values: the chosen values by name, written as in a link; a missing name stands for its default.
        pages: for each page that was drawn, its settings: the default as in a link, and the fields whose change deletes the value.
        linked: names in the latest link that its page has not read yet.
    """

    values: dict[str, str] = field(default_factory=dict)
    pages: dict[str, dict[str, tuple[str, frozenset[str]]]] = field(default_factory=dict)
    linked: set[str] = field(default_factory=set)

    def follow(self, page: str, query: Mapping[str, str]) -> None:
        """Replace the settings of a page by those in a link; settings that the link does not name go back to their defaults."""
        self.drop_link()
        known = self.pages.get(page, {})
        for name in known:
            self.values.pop(name, None)
        own = {name: as_sent(value[:TEXT_IN_URL]) for name, value in query.items() if name not in {*FIELDS, *EARLIER}}
        self.values |= own
        self.linked = own.keys() - known.keys()

    def drop_link(self) -> None:
        """Delete the values of the latest link that no page has read."""
        for name in self.linked:
            self.values.pop(name, None)
        self.linked = set()

    def forget(self, moved: Collection[str]) -> None:
        """Delete every value that does not outlive a change of these fields of the focus."""
        for known in self.pages.values():
            for name, (_, resets) in known.items():
                if not resets.isdisjoint(moved):
                    self.values.pop(name, None)

    def read(self, page: str, name: str, default: T, meaning: Callable[[str], T | None], resets: Collection[str]) -> T:
        """Return a setting of a page; a value without meaning is deleted, and the default is returned."""
        self.pages.setdefault(page, {})[name] = str(default), frozenset(resets)
        self.linked.discard(name)
        value = meaning(self.values[name]) if name in self.values else None
        if value is None:
            self.values.pop(name, None)
            return default
        return value

    def query(self, page: str, *, is_open: bool = True) -> dict[str, str]:
        """Return the settings of a page as URL parameters, without those at their default; if it is open, with the link's unread ones."""
        known, unread = self.pages.get(page, {}), self.linked if is_open else set[str]()
        return {name: value for name, value in self.values.items() if name in unread or (name in known and value != known[name][0])}


def focus() -> Focus:
    """Return the focus of this visitor; if this page cannot show its run, with the run that is shown instead."""
    return replace(chosen_focus(), **st.session_state.get("shown_instead", {}))


def chosen_focus() -> Focus:
    """Return the focus of this visitor with the run that the visitor or a link chose, even if this page shows another one."""
    focused: Focus = st.session_state["focus"]
    return focused


def show_instead(**fields: Any) -> None:
    """Replace these fields of the focus on this page only; without fields, the page shows the chosen focus."""
    st.session_state["shown_instead"] = st.session_state.get("shown_instead", {}) | fields if fields else {}


def replaced_fields() -> dict[str, Any]:
    """Return the chosen values of the fields that this page shows with other values."""
    return {name: getattr(chosen_focus(), name) for name in st.session_state.get("shown_instead", {})}


def settings() -> Settings:
    """Return the settings of single pages that this visitor chose."""
    own: Settings = st.session_state.setdefault("settings", Settings())
    return own


def query(default: str, *, with_text: bool | None = None, page: str | None = None) -> dict[str, str]:
    """Return focus and settings of a page, by default this one, as URL parameters: no run if it is the app's default, a private text as
    `Focus.query`.
    """
    at = st.session_state.get("page", "")
    own = settings().query(at if page is None else page, is_open=page in (None, at))
    return chosen_focus().query(default, with_text=with_text) | own


def go(**changes: Any) -> None:
    """Change fields of the focus and settings of pages (from a callback)."""
    shared = {name: value for name, value in changes.items() if name in FIELDS}
    settings().forget(chosen_focus().moved(shared))
    settings().values |= {name: as_sent(str(value)) for name, value in changes.items() if name not in FIELDS}
    st.session_state["focus"], st.session_state["touched"] = chosen_focus().with_(**shared), True
    if "run" in shared:
        set_run_chosen(True)


def toggle(name: str, value: str) -> None:
    """Give a field of the focus or a setting a value, or "" if it has this value already (from a callback)."""
    before = getattr(focus(), name) if name in FIELDS else settings().values.get(name, "")
    go(**{name: "" if value == before else value})


def set_run_chosen(chosen: bool) -> None:
    """Note whether the visitor, or the link that was followed, chose the run in focus; otherwise a text's language decides."""
    st.session_state["run_chosen"] = chosen


def has_chosen_run() -> bool:
    """Return whether the visitor, or the link that was followed, chose the run in focus."""
    return bool(st.session_state.get("run_chosen"))


def draw_again() -> None:
    """Run the page again for a new result, with the notes about its link."""
    st.session_state["notes"] = st.session_state.get("shown_notes", [])
    st.rerun()


def settle() -> None:
    """Run the page again if a widget of the fragment that begins here changed the view, so that chips and URL follow."""
    if st.session_state.get("touched"):
        st.rerun()


def keep_result(name: str, key: Hashable, make: Callable[[], T], *, most: int = 1) -> T:
    """Return a result that is stored for this visit only, computed with `make` if there is none for the key.

    Args:
        name: the kind of result, as its name in the session's state.
        key: everything that the result depends on.
        most: how many results of this kind are stored; the oldest is deleted first.
    """
    results: dict[Hashable, T] = st.session_state.setdefault(name, {})
    if key not in results:
        results[key] = make()
    while len(results) > most:
        results.pop(next(old for old in results if old != key))
    return results[key]


# ---- widgets


Options = Sequence[str] | Mapping[str, str]  # options, perhaps with the title of each


def choose(
    widget: Callable[..., Any], label: str, field: str, options: Options, *, write: Callable[..., None] = go, **options_of_widget: Any
) -> str:
    """Draw a widget that shows one field of the focus and writes it; return the option that it shows, the first for an unknown value.

    Args:
        write: changes the field, and perhaps others, when the visitor chooses.
    """
    value = str(getattr(focus(), field))
    value = value if value in options or not options else next(iter(options))
    _draw(widget, label, bound(field, value, write=write), options, options_of_widget)
    return value


def setting(
    widget: Callable[..., Any],
    label: str,
    name: str,
    options: Options,
    *,
    default: str = "",
    resets: Collection[str] = (),
    **options_of_widget: Any,
) -> str:
    """Draw a widget for a setting of this page, which stands in the URL under its own name, and return the chosen option.

    Args:
        default: what is chosen at first; the first option unless given.
        resets: fields of the focus after whose change the setting goes back to its default.
        options_of_widget: by default the label is only read by screen readers.
    """
    value = chosen(name, options, default=default, resets=resets)
    _draw(widget, label, bound(name, value), options, options_of_widget)
    return value


def _draw(
    widget: Callable[..., Any], label: str, binding: Mapping[str, Any], options: Options, options_of_widget: Mapping[str, Any]
) -> None:
    titles = {"format_func": options.__getitem__} if isinstance(options, Mapping) else {}
    widget(label, list(options), **binding, **{"label_visibility": "collapsed"} | titles | dict(options_of_widget))


def chosen(name: str, options: Options, *, default: str = "", resets: Collection[str] = ()) -> str:
    """Return the chosen option of a setting of this page whose widget follows further down, drawn by `setting` with the same arguments."""
    return page_value(name, default or next(iter(options)), lambda value: value if value in options else None, resets=resets)


def page_value(name: str, default: T, meaning: Callable[[str], T | None], *, resets: Collection[str] = ()) -> T:
    """Return a setting of this page whose widget is drawn elsewhere, with `bound`.

    Args:
        meaning: returns the value for its text in the URL, None for a text without meaning, which is deleted without a note.
        resets: as in `setting`.
    """
    return settings().read(st.session_state.get("page", ""), name, default, meaning, resets)


def bound(
    name: str, value: Any, *, part: str = "", put: Callable[[Any], Any] | None = None, write: Callable[..., None] = go
) -> dict[str, Any]:
    """Return key and callback of a widget that shows a value now and writes a field or setting when the visitor changes it.

    Args:
        name: a field of the focus, or a setting of this page.
        part: what the widget shows of it, if several widgets share it.
        put: returns the new value of the field for the widget's value; by default the widget's value in the field's type.
        write: changes the field, and perhaps others.
    """
    key = "-".join(filter(None, ("focus", name, part)))
    put = put or (type(getattr(focus(), name)) if name in FIELDS else str)
    st.session_state[key] = value

    def take() -> None:
        if (chosen := st.session_state[key]) is not None:
            write(**{name: put(chosen)})

    return {"key": key, "on_change": take}

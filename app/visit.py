"""The focus of a visitor: what the page looks at, and widgets that change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.focus import Focus


def focus() -> Focus:
    """What this visitor looks at."""
    focused: Focus = st.session_state["focus"]
    return focused


def go(**changes: Any) -> None:
    """Change the focus (from a callback)."""
    st.session_state["focus"], st.session_state["touched"] = focus().with_(**changes), True


def settle() -> None:
    """At the start of a fragment: where one of its widgets changed the focus, the chips and the URL follow."""
    if st.session_state.get("touched"):
        st.rerun()


def choose(widget: Callable[..., Any], label: str, field: str, options: Sequence[str], **options_of_widget: Any) -> None:
    """A widget that shows one field of the focus and writes it."""
    shown = str(getattr(focus(), field))
    widget(label, options, **bound(field, shown if shown in options or not options else options[0]), **options_of_widget)


def bound(field: str, shown: Any, *, part: str = "", put: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Key and callback of a widget that shows a value now and writes a field of the focus when it is moved.

    Args:
        part: what the widget shows of the field, where several widgets share it.
        put: the field's new value with what was chosen in it; the chosen itself without.
    """
    key, put = "-".join(filter(None, ("focus", field, part))), put or type(getattr(focus(), field))
    st.session_state[key] = shown

    def take() -> None:
        if (chosen := st.session_state[key]) is not None:
            go(**{field: put(chosen)})

    return {"key": key, "on_change": take}

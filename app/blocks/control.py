"""The widget of a figure's option that has few values, as a setting of the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from app import visit
from sentviz.charts.registry import find_figure


def control(
    figure: str,
    option: str,
    label: str,
    *,
    name: str = "",
    widget: Callable[..., Any] = st.segmented_control,
    written: Callable[[str], str] = str,
    default: str = "",
    **options_of_widget: Any,
) -> Any:
    """Draw the choice of an option's values, by their titles, and return the chosen value.

    Args:
        name: of the setting in links; that of the option unless given.
        written: returns a title as the page writes it.
        default: what is chosen at first, as in links; the option's default unless given.
    """
    chosen = find_figure(figure).option(option)
    titles = {str(value): written(title) for value, title in chosen.kind.values.items()}
    return chosen.read(visit.setting(widget, label, name or option, titles, default=default or chosen.text, **options_of_widget))

"""Choice of runs by plain names, among those that a page can show. A fitting run replaces a run in focus that does not fit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import streamlit as st

from app import cache, visit
from app.text import md, name_runs
from sentviz.runs.catalog import faults, language, reads_pairs
from sentviz.runs.naming import grouped, plain_name
from sentviz.runs.store import Run


def pick_run(label: str, names: Iterable[str], **widget: Any) -> None:
    """Draw the choice of one run by plain name and name, with a heading for each group if there are several.

    Args:
        widget: options of the widget; by default it shows the run in focus and changes the focus.
    """
    widget = {"label_visibility": "collapsed"} | (widget if "key" in widget else widget | visit.bound("run", visit.focus().run))
    key, on_change, groups = widget["key"], widget.pop("on_change"), _groups(names)
    headings = {group: f"── {group} ──" for group in groups if group} if len(groups.keys() - {""}) > 1 else {}

    def take() -> None:
        if st.session_state[key] not in headings.values():  # A heading cannot be chosen.
            on_change()

    options = [name for group, members in groups.items() for name in (*filter(None, [headings.get(group)]), *members)]
    texts = {name: option(name) for name in options if name not in headings.values()}
    st.selectbox(label, options, format_func=lambda name: texts.get(name, name), on_change=take, **widget)


def _groups(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of runs by group; a group "" with the name "", the choice of no run, comes first."""
    names, known = list(names), cache.runs()
    return ({"": [""]} if "" in names else {}) | grouped({name: known[name] for name in names if name})


def in_groups(names: Iterable[str]) -> list[str]:
    """Return the names of runs in the order of their groups; "" stays first."""
    return [name for members in _groups(names).values() for name in members]


def option(name: str) -> str:
    """Return the text of a run in a choice: its plain name, then its name. Typing finds either."""
    return f"{plain_name(cache.runs()[name])} · {name}" if name else "no second run"


def fitting_run(fitting: Sequence[Run], lack: str, *, prefer: str = "", advice: str = "", row: Any = None, **picker: Any) -> Run:
    """Draw the choice of a run and return it: the run in focus or, if the page cannot show that run, a fitting one,
    with a quiet note if a visitor or a link chose the other.

    Args:
        fitting: the runs that the page can show, at least one.
        lack: why another run does not fit, for example "has no gates".
        prefer: name of the run that replaces one that does not fit; by default the most similar one.
        advice: what makes the run in focus fit, as the tooltip of the note, in markdown.
        row: container for the choice; by default a new row.
        picker: further arguments of the selectbox.
    """
    names = [run.name for run in fitting]
    focused = visit.focus().run
    name = focused if focused in names else prefer if prefer in names else most_similar(cache.run(focused), fitting).name
    with row or picker_row():
        pick_run("Model", names, **({"width": 420} | picker | visit.bound("run", name)))
        if name != focused and visit.has_chosen_run():
            quiet_note(f"{name} is shown instead of {focused}, which {lack}.", help=advice or None)
    name_runs(name)
    return next(run for run in fitting if run.name == name)


def most_similar(run: Run, fitting: Sequence[Run]) -> Run:
    """Return the run that is most similar to `run`: same language and number of texts, then same data set, then same base or any base.

    Among equals, a run of the same configuration comes first, then one whose weights of epochs are stored.
    """

    def likeness(candidate: Run) -> tuple[bool, ...]:
        has_same_data = candidate.config["data"]["name"] == run.config["data"]["name"]
        base, own_base = (each.config.get("base", {}).get("name") for each in (candidate, run))
        same = has_same_data, base == own_base, bool(base) == bool(own_base), candidate.configuration == run.configuration
        return _reads(candidate) == _reads(run), *same, bool(candidate.epochs)

    return max(fitting, key=likeness)


def with_weights(run: Run) -> str:
    """Return the name of the run with weights that is shown instead of one without; "" if no installed run has weights.

    It has the same configuration and, if there are several, the same data set. If there is none, it is the best run of the language.
    """
    known = cache.models()
    alike = [each for each in known.values() if each.configuration == run.configuration and _reads(each) == _reads(run)]
    best = "" if reads_pairs(run) else cache.best_run(language(run))
    return best if best and not alike else most_similar(run, alike or list(known.values())).name if known else ""


def show_run_with_weights() -> None:
    """Show a run with weights on this page if the run in focus has none; a row of another data set is left out."""
    run = cache.runs().get(visit.chosen_focus().run)
    if run is None or run.has_weights or not (name := with_weights(run)):
        return
    has_same_rows = cache.run(name).config["data"]["name"] == run.config["data"]["name"]
    visit.show_instead(run=name, **({} if has_same_rows else {"row": ""}))


def note_weights(chosen: str, drawn: str) -> None:
    """Say next to a picker that it shows another run than the chosen one, which has no weights; say nothing if it shows the chosen one."""
    if chosen != drawn:
        help = "Its history and measurements are stored, but not its weights. `sentviz train` trains it again."
        quiet_note(f"{drawn} is shown instead of {chosen}, which has no weights.", help=help)


def _reads(run: Run) -> tuple[str, bool]:
    """Return the language of a run's texts, and whether it reads pairs."""
    return language(run), reads_pairs(run)


def picker_row() -> Any:
    """Return a row for a picker of runs and the quiet note next to it."""
    return st.container(horizontal=True, gap="medium", vertical_alignment="center", key="run-picker")


def quiet_note(text: str, help: str | None = None) -> None:
    """Say next to a picker why it shows another run than the one in focus; `text` is not markdown, `help` is."""
    st.caption(md(text), width="content", help=help)


def several(fitting: Sequence[Run], lack: str, *files: str) -> list[Run]:
    """Draw the choice of runs and return the chosen ones in the order of the focus, at first the run in focus and its companions.

    If the page cannot show the run in focus, a fitting one is chosen, with a quiet note. The page stops if no run fits.

    Args:
        lack: why a run does not fit, for example "has no gates".
        files: files of a run that the page reads.
    """
    names = [run.name for run in fitting]
    if not names:
        st.info(
            f"This page cannot show any of the installed runs: each of them {lack}. `sentviz train sst2 --model ndt-unit-2` trains a run"
            " that fits.",
            icon=":material/inventory_2:",
        )
        st.stop()
    focus = visit.focus()
    fits = focus.run in names
    wanted = [name for name in dict.fromkeys((focus.run, *focus.versus)) if name in names]
    wanted = wanted or [most_similar(cache.run(focus.run), fitting).name]

    def take() -> None:
        choose_runs(st.session_state["several"] or wanted[:1], names)

    st.session_state["several"] = wanted
    with picker_row():
        options = in_groups(names)
        st.multiselect("Runs", options, format_func=option, key="several", on_change=take, label_visibility="collapsed", width="stretch")
        if not fits:
            quiet_note(f"{focus.run} is left out because it {lack}.")
    by_name = {run.name: run for run in fitting}
    chosen = [by_name[name] for name in wanted]
    chosen = readable(chosen, *files) if files else chosen
    name_runs(*(run.name for run in chosen))
    return chosen


def choose_runs(picked: Sequence[str], fitting: Collection[str]) -> None:
    """Make the picked runs those of the focus (from a callback). The run in focus stays the first if it is picked or does not fit."""
    focused = visit.focus().run
    first = focused if focused in picked or focused not in fitting else picked[0]
    visit.go(run=first, versus=tuple(name for name in picked if name != first))


def series_of(chosen: Sequence[Run]) -> tuple[int, ...]:
    """Return the place of each run among the runs in focus, which decides its colour and symbol on every page.

    Runs that are not in focus follow those that are. The result is empty if it is 0, 1, 2 ..., which is what figures do by default.
    """
    focus = visit.focus()
    order = list(dict.fromkeys((focus.run, *focus.versus)))
    if not any(run.name in order for run in chosen):
        order = []
    order += [run.name for run in chosen if run.name not in order]
    numbers = tuple(order.index(run.name) for run in chosen)
    return () if numbers == tuple(range(len(chosen))) else numbers


def readable(runs: Sequence[Run], *files: str) -> list[Run]:
    """Return the runs whose files can be read; show what is wrong with the others, and stop the page if none is left."""
    wrong = faults(runs, files)
    for reason in wrong.values():
        st.warning(md(f"Left out: {reason}"), icon=":material/broken_image:")
    if sound := [run for run in runs if run.name not in wrong]:
        return sound
    st.stop()

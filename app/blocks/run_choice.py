"""Choice of runs by plain names, among those that a page can show. A fitting run replaces a run in focus that does not fit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import streamlit as st

from app import cache, visit
from app.places import Fit
from app.text import md, name_runs
from sentviz.runs.catalog import faults, language, reads_pairs
from sentviz.runs.naming import grouped, plain_name
from sentviz.runs.store import Run


def pick_run(label: str, names: Iterable[str], *, unmeasured: Collection[str] = (), **widget: Any) -> None:
    """Draw the choice of one run by plain name and name, with a heading for each group if there are several.

    Args:
        unmeasured: names of runs that are marked, because the page can only offer to measure them.
        widget: options of the widget; by default it shows the run in focus and changes the focus.
    """
    widget = {"label_visibility": "collapsed"} | (widget if "key" in widget else widget | visit.bound("run", visit.focus().run))
    key, on_change, groups = widget["key"], widget.pop("on_change"), _groups(names)
    headings = {group: f"── {group} ──" for group in groups if group} if len(groups.keys() - {""}) > 1 else {}

    def take() -> None:
        if st.session_state[key] not in headings.values():  # A heading cannot be chosen.
            on_change()

    options = [name for group, members in groups.items() for name in (*filter(None, [headings.get(group)]), *members)]
    texts = option_texts(name for name in options if name not in headings.values())
    texts |= {name: f"{texts[name]} · not measured" for name in unmeasured}
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
    return option_texts([name])[name]


def option_texts(names: Iterable[str]) -> dict[str, str]:
    """Return the texts of runs in a choice by name. The runs are looked up once, because a choice may have hundreds."""
    known = cache.runs()
    return {name: f"{plain_name(known[name])} · {name}" if name else "no second run" for name in names}


def choose_model(fit: Fit | None) -> None:
    """Draw the choice of the model in focus, for every view of its place.

    Args:
        fit: the models that the view can show; those that could be shown once they are measured are marked.
    """
    in_view, names = visit.focus().run, list(cache.runs())
    unmeasured: list[str] = []
    if fit is not None:
        fitting, unmeasured = cache.fitting(fit)
        unmeasured = unmeasured if in_view in (*fitting, *unmeasured) else [in_view, *unmeasured]
        offered = {*fitting, *unmeasured}
        names = [name for name in names if name in offered]
    pick_run("Model", names, unmeasured=unmeasured, width=330)


def show_fitting_run(fit: Fit) -> str:
    """Show a run on this page that it can show, if the run in focus does not fit; return why, "" if it fits or nobody chose it.

    A run that was chosen and could be measured stays: the page offers the measurement. A row or text that the other run cannot read is left
    out.
    """
    known, focus = cache.runs(), visit.chosen_focus()
    run, is_chosen = known.get(focus.run), visit.has_chosen_run()
    if run is None or (fit.shows(run) and (is_chosen or fit.opens_on(run))) or (is_chosen and fit.could(run)):
        return ""
    fitting = cache.runs_for(fit)
    fitting = [each for each in fitting if fit.opens_on(each)] or fitting
    if not fitting:
        return ""
    name = fit.prefer if fit.prefer in known else most_alike(run, fitting).name
    instead: dict[str, Any] = {"run": name}
    if known[name].config["data"]["name"] != run.config["data"]["name"]:
        instead["row"] = ""
    if _reads(known[name]) != _reads(run):
        instead |= {"text": "", "pair": ""}
    visit.show_instead(**instead)
    return f"{name} is shown instead of {run.name}, which {fit.lacks}." if is_chosen else ""


def most_alike(run: Run, fitting: Sequence[Run]) -> Run:
    """Return the run of the same configuration that is most similar; without one the best of the language or the most similar."""
    alike = [each for each in fitting if each.configuration == run.configuration and _reads(each) == _reads(run)]
    best = "" if alike or reads_pairs(run) else cache.best_run(language(run))
    return next((each for each in fitting if each.name == best), None) or most_similar(run, alike or fitting)


def most_similar(run: Run, fitting: Sequence[Run]) -> Run:
    """Return the run that is most similar to `run`: same language and number of texts, then same data set, then same base or any base.

    Among equals, a run of the same model comes first, then one whose weights of epochs are stored.
    """

    def likeness(candidate: Run) -> tuple[bool, ...]:
        has_same_data = candidate.config["data"]["name"] == run.config["data"]["name"]
        base, own_base = (each.config.get("base", {}).get("name") for each in (candidate, run))
        model, own_model = (each.config["recipe"].get("model") for each in (candidate, run))
        same = has_same_data, base == own_base, bool(base) == bool(own_base), model == own_model
        return _reads(candidate) == _reads(run), *same, bool(candidate.epochs)

    return max(fitting, key=likeness)


def note_weights(chosen: str, drawn: str) -> None:
    """Say next to a picker that it shows another run than the chosen one, which has no weights; say nothing if it shows the chosen one."""
    if chosen != drawn:
        help = "Its history and measurements are stored, but not its weights. `sentviz train` trains it again."
        quiet_note(f"{drawn} is shown instead of {chosen}, which has no weights.", help=help)


def _reads(run: Run) -> tuple[str, bool]:
    """Return the language of a run's texts, and whether it reads pairs."""
    return language(run), reads_pairs(run)


def quiet_note(text: str, help: str | None = None) -> None:
    """Say next to a picker why it shows another run than the one in focus; `text` is not markdown, `help` is."""
    st.caption(md(text), width="content", help=help)


def several(fitting: Sequence[Run], *files: str) -> list[Run]:
    """Draw the choice of further runs; return the run in focus and them, in the order of the focus. The page stops if no run fits.

    Args:
        fitting: the runs that the page can show.
        files: files of a run that the page reads.
    """
    focus, by_name = visit.focus(), {run.name: run for run in fitting}
    if focus.run not in by_name:
        st.info(
            f"{md(focus.run)} cannot be shown here, and no other installed run can. `sentviz train sst2 --model ndt-unit-2` trains one that"
            " can.",
            icon=":material/inventory_2:",
        )
        st.stop()
    addable = {name: run for name, run in by_name.items() if name != focus.run}
    beside = [name for name in focus.versus if name in addable]

    def take() -> None:
        visit.go(versus=tuple(st.session_state["several"]))

    st.session_state["several"] = beside
    how: dict[str, Any] = {"label_visibility": "collapsed", "placeholder": "Beside it: add other models"}
    st.multiselect("Beside it", in_groups(addable), format_func=option_texts(addable).__getitem__, key="several", on_change=take, **how)
    chosen = [by_name[name] for name in (focus.run, *beside)]
    chosen = readable(chosen, *files) if files else chosen
    name_runs(*(run.name for run in chosen))
    return chosen


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
    """Return the runs whose files can be read; show what is wrong with the rest, and stop the page if none is left."""
    wrong = faults(runs, files)
    for reason in wrong.values():
        st.warning(md(f"Left out: {reason}"), icon=":material/broken_image:")
    if sound := [run for run in runs if run.name not in wrong]:
        return sound
    st.stop()

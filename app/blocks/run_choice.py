"""Choice of runs by plain names, among those that a page can show. A fitting run replaces a run in focus that does not fit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

import streamlit as st

from app import cache, visit
from app.places import Fit
from app.text import md, name_runs
from sentviz.runs.catalog import faults, is_mixture, language, reads_pairs
from sentviz.runs.naming import BEST, LANGUAGES, OWN, grouped, plain_name
from sentviz.runs.store import Run


def pick_run(label: str, names: Iterable[str], *, unmeasured: Collection[str] = (), **widget: Any) -> None:
    """Draw the choice of one run by plain name and name.

    Args:
        unmeasured: names of runs that are marked, because the page can only offer to measure them.
        widget: options of the widget; by default it shows the run in focus and changes the focus.
    """
    widget = {"label_visibility": "collapsed"} | (widget if "key" in widget else widget | visit.bound("run", visit.focus().run))
    texts = option_texts(names)
    texts |= {name: f"{texts[name]} · not measured" for name in unmeasured}
    st.selectbox(label, list(texts), format_func=texts.__getitem__, **widget)


def option(name: str) -> str:
    """Return the text of a run in a choice: its plain name, then its name. Typing finds either."""
    return option_texts([name])[name]


def in_groups(names: Iterable[str]) -> list[str]:
    """Return the names of runs in the order of their groups."""
    known = cache.runs()
    return [name for members in grouped({name: known[name] for name in names}).values() for name in members]


def option_texts(names: Iterable[str]) -> dict[str, str]:
    """Return the texts of runs in a choice by name, in the order of their groups.

    The best run of a language and the visitor's own runs are marked as such: a choice has no headings, because they could be chosen.
    """
    known = cache.runs()
    groups = grouped({name: known[name] for name in names})
    marks = dict.fromkeys(groups.get(OWN, []), f" · {OWN}")
    marks |= {name: f" · {BEST}" for name in map(cache.best_run, LANGUAGES) if name in groups.get(BEST, [])}
    return {name: f"{plain_name(known[name])} · {name}{marks.get(name, '')}" for members in groups.values() for name in members}


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


def usual_second(run: Run, fitting: Iterable[Run]) -> str:
    """Return the run that stands beside a run until a visitor chooses one, "" if none fits.

    It has the same classes if one does, reads the same language, and was trained on the same data set, or is general as well. Of the runs
    of one data set, the control with one map comes first, then those of another configuration.
    """
    data = run.config["data"]["name"]

    def likeness(candidate: Run) -> tuple[bool, ...]:
        own = candidate.config["data"]["name"]
        is_control = own == data and candidate.configuration == "vanilla-matched"
        both_general = is_mixture(own) and is_mixture(data) and candidate.has_weights
        same = candidate.labels == run.labels, _reads(candidate) == _reads(run), own == data, both_general
        return *same, is_control, candidate.configuration != run.configuration

    candidates = [each for each in fitting if each.name != run.name]
    return max(candidates, key=likeness).name if candidates else ""


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


def beside_it(fitting: Iterable[str], *, most: int = 0, instead: str = "", width: int | Literal["stretch"] = "stretch") -> list[str]:
    """Draw the choice of the runs beside the run in focus; return those that are chosen, in the order of the focus.

    Args:
        fitting: names of the runs that the page can show.
        most: how many runs can be chosen; 0 = any number.
        instead: run that stands beside it while nobody chose one; "" = none. A visitor can take it away if several can be chosen.
    """
    focus, key = visit.focus(), "beside"
    texts = option_texts(name for name in fitting if name != focus.run)
    chosen = [name for name in focus.versus if name in texts][: most or None]
    is_single = most == 1
    if not chosen and instead in texts and (is_single or not st.session_state.get("none-beside")):
        chosen = [instead]

    def take() -> None:
        names = st.session_state[key]
        wanted = tuple(filter(None, [names] if is_single else names))
        st.session_state["none-beside"] = bool(instead) and not wanted
        visit.go(versus=wanted)

    how: dict[str, Any] = {"format_func": texts.__getitem__, "label_visibility": "collapsed", "key": key, "on_change": take, "width": width}
    if is_single:
        st.session_state[key] = next(iter(chosen), None)
        index = 0 if instead else None  # None: the visitor can take the run away.
        st.selectbox("Beside it", list(texts), index, placeholder="Beside it: another model", icon=":material/compare_arrows:", **how)
    else:
        st.session_state[key] = chosen
        words = f"Beside it: up to {most} other models" if most else "Beside it: add other models"
        st.multiselect("Beside it", list(texts), placeholder=words, max_selections=most or None, **how)
    return chosen


def several(fitting: Sequence[Run], *files: str, most: int = 0) -> list[Run]:
    """Draw the choice of further runs; return the run in focus and them, in the order of the focus. The page stops if no run fits.

    Args:
        fitting: the runs that the page can show.
        files: files of a run that the page reads.
        most: how many further runs can be chosen; 0 = any number.
    """
    focus, by_name = visit.focus(), {run.name: run for run in fitting}
    if focus.run not in by_name:
        st.info(
            f"{md(focus.run)} cannot be shown here, and no other installed run can. `sentviz train sst2 --model ndt-unit-2` trains one that"
            " can.",
            icon=":material/inventory_2:",
        )
        st.stop()
    chosen = [by_name[name] for name in (focus.run, *beside_it(by_name, most=most))]
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

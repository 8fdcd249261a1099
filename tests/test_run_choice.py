"""Runs on pages: a fitting run replaces one that a page cannot show, further runs stand beside it, and each has its place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app import cache, visit
from app.blocks import run_choice
from app.blocks.run_choice import most_alike, most_similar, series_of, show_fitting_run, usual_second
from app.focus import Focus
from app.places import Fit
from sentviz.charts.colours import palette
from sentviz.charts.curves import curves
from sentviz.errors import InputError
from sentviz.runs.catalog import best_run
from sentviz.runs.naming import BEST, OWN
from sentviz.runs.store import Run, find, runs
from tests.charts import history
from tests.kit import SHIPPED


def stub(name: str, configuration: str = "", **more: Any) -> Any:
    """Return what the choice reads of a run; the name begins with its data set."""
    recipe, base = {"model": more.pop("model", "m")}, more.pop("base", "")
    config = {"data": {"name": name.partition("/")[0]}, "recipe": recipe, **({"base": {"name": base}} if base else {})}
    own = {"labels": ("negative", "positive"), "has_weights": True, "epochs": ()} | more
    return SimpleNamespace(name=name, configuration=configuration or name.partition("/")[2], config=config, **own)


@SHIPPED
def test_the_run_with_weights_is_alike() -> None:
    """The replacement has the same configuration and number of texts, or it is the best run of its language."""
    models = list(cache.models().values())
    wanted = {
        "sst2/ndt-free-3-s1": "sst2/ndt-free-3",
        "imdb/ndt-free-3": "sst2/ndt-free-3",  # no run on its data set has its configuration and weights
        "klue_nli/cls-s1": "question_pair/cls",
        "korean_hate_speech/cls-s1": "nsmc/cls",
        "nsmc/cls-all": best_run(models, "ko"),
    }
    assert {name: most_alike(find(name), models).name for name in wanted} == wanted and not find("imdb/ndt-free-3").has_weights
    able = [run for run in runs().values() if isinstance(run, Run) and run.measured]
    assert most_similar(find("english/mpnet"), able).name == "sst2/minilm-epochs"
    assert most_similar(find("sst2/ndt-free-3"), able).name == "sst2/ndt-unit-2-epochs"


@pytest.mark.parametrize(
    ("first", "fitting", "best"),
    [
        (stub("sst2/a"), [], ""),
        (stub("sst2/a"), [stub("sst2/a"), stub("nsmc/a")], "nsmc/a"),
        (stub("sst2/a"), [stub("nsmc/vanilla-matched"), stub("imdb/b")], "imdb/b"),  # the same language
        (stub("sst2/a"), [stub("imdb/vanilla-matched"), stub("sst2/a-s1", "a")], "sst2/a-s1"),  # the same rows
        (stub("sst2/a"), [stub("sst2/a-s1", "a"), stub("sst2/b")], "sst2/b"),  # another configuration
        (stub("sst2/a"), [stub("sst2/b"), stub("sst2/vanilla-matched")], "sst2/vanilla-matched"),  # the control
        (stub("sst2/a"), [stub("sst2/vanilla-matched", labels=("bad", "good")), stub("nsmc/b")], "nsmc/b"),  # the same classes
        (stub("english/a"), [stub("sst2/b"), stub("english_balanced/b")], "english_balanced/b"),  # both are general
        (stub("english/a"), [stub("sst2/b"), stub("english_balanced/b", has_weights=False)], "sst2/b"),
    ],
)
def test_the_usual_second_run_is_most_comparable(first: Any, fitting: list[Any], best: str) -> None:
    assert usual_second(first, fitting) == best


@pytest.mark.parametrize(
    ("fitting", "best"),
    [
        ([stub("nsmc/a", base="mini"), stub("imdb/b")], "imdb/b"),
        ([stub("imdb/a", base="mini"), stub("sst2/b", base="")], "sst2/b"),
        ([stub("sst2/a", base=""), stub("sst2/b", base="other"), stub("sst2/c", base="mini")], "sst2/c"),
        ([stub("sst2/a", base=""), stub("sst2/b", base="other")], "sst2/b"),
        ([stub("sst2/a", base="mini", model="n"), stub("sst2/b", base="mini")], "sst2/b"),
        ([stub("sst2/a", base="mini"), stub("sst2/b", base="mini", epochs=(1,))], "sst2/b"),
    ],
)
def test_the_most_similar_run_is_chosen_in_this_order(fitting: list[Any], best: str) -> None:
    assert most_similar(stub("sst2/x", base="mini"), fitting).name == best


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize(
    ("run", "instead", "prefer"),
    [
        ("sst2/fits", {}, ""),
        ("sst2/could", {}, ""),
        ("sst2/none", {"run": "sst2/fits"}, ""),
        ("sst2/none", {"run": "imdb/prefer", "row": ""}, "imdb/prefer"),
        ("nsmc/none", {"run": "sst2/fits", "row": "", "text": "", "pair": ""}, ""),
        ("not/here", {}, ""),
    ],
)
def test_a_fitting_run_is_shown_instead(
    run: str, instead: dict[str, str], prefer: str, chosen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row or text that the other run cannot read is left out; a run that nobody chose gives way without a sentence, also to the one on
    which the view opens.
    """
    known = {name: stub(name, "one") for name in ("sst2/fits", "sst2/opens", "sst2/could", "sst2/none", "nsmc/none", "imdb/prefer")}
    fit = Fit(lambda of: of.name in ("sst2/fits", "sst2/opens"), "lacks it", lambda of: of.name == "sst2/could", prefer)
    state: dict[str, Any] = {"focus": Focus(run=run, text="words", row=""), "run_chosen": chosen}
    monkeypatch.setattr(visit.st, "session_state", state)
    monkeypatch.setattr(cache, "runs", lambda: known)
    monkeypatch.setattr(cache, "runs_for", lambda fit: [known["sst2/fits"], known["sst2/opens"]])
    wanted = instead or ({"run": "sst2/fits"} if run == "sst2/could" and not chosen else {})
    assert show_fitting_run(fit) == (f"{wanted['run']} is shown instead of {run}, which lacks it." if wanted and chosen else "")
    assert state.get("shown_instead", {}) == wanted
    opens_on = Fit(fit.shows, "", opens_on=lambda of: of.name == "sst2/opens")
    state["shown_instead"] = {}
    assert run != "sst2/fits" or (show_fitting_run(opens_on) == "" and state["shown_instead"] == ({} if chosen else {"run": "sst2/opens"}))
    monkeypatch.setattr(cache, "runs_for", lambda fit: [])
    state["shown_instead"] = {}
    assert show_fitting_run(fit) == "" and not state["shown_instead"]


def test_a_run_has_its_place_among_the_runs_in_focus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit.st, "session_state", {"focus": Focus(run="a", versus=("b", "a", "c"))})
    for names, places in (("abc", ()), ("cab", (2, 0, 1)), ("bx", (1, 3)), ("xb", (3, 1)), ("xy", ()), ("a", ()), ("c", (2,))):
        assert series_of([stub(name) for name in names]) == places, names


def page(most, instead):  # type: ignore[no-untyped-def]  # Streamlit runs the source alone, without the imports of this file
    import streamlit as st

    from app.blocks.run_choice import beside_it

    st.text(",".join(beside_it(["a", "b", "c", "d"], most=most, instead=instead)))


def test_runs_beside_the_one_in_focus_are_those_of_the_focus(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run that stands there while nobody chose one can be taken away if several can be chosen."""
    monkeypatch.setattr(run_choice, "option_texts", lambda names: {name: name.upper() for name in names})

    def drawn(most: int, instead: str = "", *versus: str) -> tuple[AppTest, str]:
        app = AppTest.from_function(page, args=(most, instead))
        app.session_state["focus"] = Focus(run="a", versus=versus)
        return app, app.run().text[0].value

    for most, versus, beside in ((1, ("x", "c", "b"), "c"), (2, ("d", "c", "b"), "d,c"), (0, ("d", "a", "c", "b"), "d,c,b"), (1, (), "")):
        assert drawn(most, "", *versus)[1] == beside
    app, beside = drawn(1, "c")
    assert beside == "c" and app.selectbox[0].options == ["B", "C", "D"]
    app.selectbox[0].set_value("b").run()
    assert app.session_state["focus"].versus == ("b",) and app.text[0].value == "b"
    app, beside = drawn(0, "c")
    for chosen in ([], ["b", "d"]):
        app.multiselect[0].set_value(chosen).run()
        assert (app.text[0].value, app.session_state["focus"].versus) == (",".join(chosen), tuple(chosen))
    app.session_state["focus"] = Focus(run="a")
    assert beside == "c" == app.run().text[0].value


def test_a_choice_has_plain_names_in_groups_and_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: stub(name) for name in ("a/x", "b/y", "mine/z", "b/w")}
    groups = {BEST: ["b/y", "b/w"], OWN: ["mine/z"], "rest": ["a/x"]}
    monkeypatch.setattr(cache, "runs", lambda: known)
    monkeypatch.setattr(cache, "best_run", lambda spoken: {"en": "b/y", "ko": "c/c"}.get(spoken, ""))
    monkeypatch.setattr(run_choice, "plain_name", lambda run: run.name.upper())
    monkeypatch.setattr(run_choice, "grouped", lambda runs: {title: [n for n in names if n in runs] for title, names in groups.items()})
    marks = {"b/y": f" · {BEST}", "b/w": "", "mine/z": f" · {OWN}", "a/x": ""}
    assert run_choice.option_texts(known) == {name: f"{name.upper()} · {name}{mark}" for name, mark in marks.items()}
    assert run_choice.option("a/x") == "A/X · a/x" and run_choice.in_groups(["a/x", "b/y"]) == ["b/y", "a/x"]
    chosen: list[tuple[str, list[str], dict[str, Any]]] = []
    monkeypatch.setattr(run_choice.st, "selectbox", lambda label, options, **how: chosen.append((label, options, how)))
    monkeypatch.setattr(cache, "fitting", lambda fit: (["b/y"], ["mine/z"]))
    monkeypatch.setattr(visit.st, "session_state", {"focus": Focus(run="a/x")})
    for fit in (None, Fit(bool, "")):
        run_choice.choose_model(fit)
    (label, every, _), (_, some, how) = chosen
    assert (label, every, some) == ("Model", [*marks], ["b/y", "mine/z", "a/x"]) and (how["key"], how["width"]) == ("focus-run", 330)
    assert [how["format_func"](name).endswith(" · not measured") for name in some] == [False, True, True]


def test_runs_whose_files_cannot_be_read_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(run_choice, "faults", lambda runs, files: {"b": "b: heads.parquet is damaged"} if "heads.parquet" in files else {})
    monkeypatch.setattr(run_choice.st, "warning", lambda text, **_: warnings.append(text.replace("\\", "")))
    several = [stub(name) for name in "abc"]
    assert [run.name for run in run_choice.readable(several, "heads.parquet")] == ["a", "c"]
    assert warnings == ["Left out: b: heads.parquet is damaged"] and run_choice.readable(several, "x") == several
    monkeypatch.setattr(run_choice, "beside_it", lambda fitting, most: [name for name in fitting if name == "c"])
    monkeypatch.setattr(run_choice, "name_runs", lambda *names: warnings.append(",".join(names)))
    monkeypatch.setattr(visit.st, "session_state", {"focus": Focus(run="a")})
    assert [run.name for run in run_choice.several(several, "heads.parquet")] == ["a", "c"] and warnings[-1] == "a,c"


def test_curves_take_the_numbers_of_runs_and_of_groups() -> None:
    """A group of seeds has the number of its first run; a wrong number of numbers is refused."""
    runs = {"a-s1": history(), "b": history(), "a": history()}
    colours = palette("light")
    figure = curves(runs, names=("train_loss",), series=[4, 2, 4], groups={"a-s1": "set/a", "b": "set/b", "a": "set/a"})
    lines = {trace.name: trace.line.color for trace in figure.plot.data if trace.showlegend and trace.mode != "markers"}
    assert lines == {"b": colours.line(2), "set/a, 2 seeds": colours.line(4)}
    with pytest.raises(InputError, match="`series` needs one number for each of 3 runs, not 1"):
        curves(runs, series=[1])

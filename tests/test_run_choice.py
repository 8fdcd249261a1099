"""Runs on pages, where a fitting run replaces one that cannot be shown; files of a run and their schema; plain names of runs."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app import cache, visit
from app.blocks import run_choice
from app.blocks.run_choice import most_alike, most_similar, series_of, show_fitting_run, usual_second
from app.focus import Focus
from app.places import Fit
from sentviz.charts.colours import palette
from sentviz.charts.curves import curves
from sentviz.errors import InputError, RunError
from sentviz.io.numbers import percent
from sentviz.runs import naming, releases, store
from sentviz.runs.catalog import best_run
from sentviz.runs.naming import BEST, OWN, PAPERS, grouped, plain_name
from sentviz.runs.run_files import RENEWED
from sentviz.runs.schema import TABLES, fits_config, fits_metrics, fits_table
from sentviz.runs.store import Run, find, runs
from sentviz.runs.writing import attach
from sentviz.training.recipe import Recipe
from tests.charts import history
from tests.kit import SHIPPED, refused


def stub(name: str, configuration: str = "", **more: Any) -> Any:
    """Return what the choice reads of a run; the name begins with its data set."""
    recipe, base = {"model": more.pop("model", "m")}, more.pop("base", "")
    config = {"data": {"name": name.partition("/")[0]}, "recipe": recipe, **({"base": {"name": base}} if base else {})}
    own = {"labels": ("negative", "positive"), "has_weights": True, "epochs": ()} | more
    return SimpleNamespace(name=name, configuration=configuration or name.partition("/")[2], config=config, **own)


@SHIPPED
def test_the_run_with_weights_is_alike() -> None:
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


def test_the_most_comparable_and_the_most_similar_run_are_chosen() -> None:
    for first, fitting, best in [
        (stub("sst2/a"), [], ""),
        (stub("sst2/a"), [stub("sst2/a"), stub("nsmc/a")], "nsmc/a"),
        (stub("sst2/a"), [stub("nsmc/vanilla-matched"), stub("imdb/b")], "imdb/b"),  # the same language
        (stub("sst2/a"), [stub("imdb/vanilla-matched"), stub("sst2/a-s1", "a")], "sst2/a-s1"),  # the same rows
        (stub("sst2/a"), [stub("sst2/a-s1", "a"), stub("sst2/b")], "sst2/b"),  # another configuration
        (stub("sst2/a"), [stub("sst2/b"), stub("sst2/vanilla-matched")], "sst2/vanilla-matched"),  # the control
        (stub("sst2/a"), [stub("sst2/vanilla-matched", labels=("bad", "good")), stub("nsmc/b")], "nsmc/b"),  # the same classes
        (stub("english/a"), [stub("sst2/b"), stub("english_balanced/b")], "english_balanced/b"),  # both are general
        (stub("english/a"), [stub("sst2/b"), stub("english_balanced/b", has_weights=False)], "sst2/b"),
    ]:
        assert usual_second(first, fitting) == best
    for fitting, best in [
        ([stub("nsmc/a", base="mini"), stub("imdb/b")], "imdb/b"),
        ([stub("imdb/a", base="mini"), stub("sst2/b", base="")], "sst2/b"),
        ([stub("sst2/a", base=""), stub("sst2/b", base="other"), stub("sst2/c", base="mini")], "sst2/c"),
        ([stub("sst2/a", base=""), stub("sst2/b", base="other")], "sst2/b"),
        ([stub("sst2/a", base="mini", model="n"), stub("sst2/b", base="mini")], "sst2/b"),
        ([stub("sst2/a", base="mini"), stub("sst2/b", base="mini", epochs=(1,))], "sst2/b"),
    ]:
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
def test_a_fitting_run_is_shown_instead(run: str, instead: dict[str, str], prefer: str, chosen: bool, monkeypatch: Any) -> None:
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


def page(most, instead):  # type: ignore[no-untyped-def]  # Streamlit runs the source alone, without the imports of this file
    import streamlit as st

    from app.blocks.run_choice import beside_it

    st.text(",".join(beside_it(["a", "b", "c", "d"], most=most, instead=instead)))


def test_runs_beside_the_one_in_focus_are_those_of_the_focus(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_run_has_its_place_and_unreadable_ones_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(visit.st, "session_state", {"focus": Focus(run="a", versus=("b", "a", "c"))})
    for names, places in (("abc", ()), ("cab", (2, 0, 1)), ("bx", (1, 3)), ("xb", (3, 1)), ("xy", ()), ("a", ()), ("c", (2,))):
        assert series_of([stub(name) for name in names]) == places, names
    runs = {"a-s1": history(), "b": history(), "a": history()}
    colours = palette("light")
    figure = curves(runs, names=("train_loss",), series=[4, 2, 4], groups={"a-s1": "set/a", "b": "set/b", "a": "set/a"})
    lines = {trace.name: trace.line.color for trace in figure.plot.data if trace.showlegend and trace.mode != "markers"}
    assert lines == {"b": colours.line(2), "set/a, 2 seeds": colours.line(4)}
    refused(InputError, "`series` needs one number for each of 3 runs, not 1", curves, runs, series=[1])


RUN = "sst2/ndt-unit-2"


def changes() -> dict[str, str]:
    with RENEWED.open(encoding="utf-8") as file:
        return {row["now"]: row["before"] for row in csv.DictReader(file)}


def test_a_run_is_found_by_both_digests_with_what_was_measured_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = find(RUN)
    before, shorter = changes()[run.digest], Run(run.name, run.folder, max_length=16)
    assert run.had_digest(before) and run.had_digest(run.digest) and shorter.had_digest(shorter.digest)
    assert not (run.had_digest("0" * 12) or find("sst2/vanilla-matched").had_digest(before) or shorter.had_digest(before))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    run = find(RUN)
    assert run.beside.name == run.digest
    older = tmp_path / "measured" / changes()[run.digest]
    older.mkdir(parents=True)
    assert find(RUN).beside == older
    changed = attach(find(RUN), "heads.parquet", run.history().head(3))
    assert (older / "heads.parquet").is_file() and changed.path("heads.parquet").parent == older
    run = find(RUN)
    before = changes()[run.digest]
    pinned = Recipe(dataset="sst2", model="vanilla", teacher=f"{RUN}@{before}").pinned()
    assert pinned.teacher == f"{RUN}@{before}"
    assert Recipe(dataset="sst2", model="vanilla", teacher=RUN).pinned().teacher == f"{RUN}@{run.digest}"


def test_every_shipped_run_is_as_declared() -> None:
    shipped = {name: run for name, run in runs().items() if "toy/" not in name}
    assert [str(error) for error in shipped.values() if isinstance(error, RunError)] == []
    for run in [run for run in shipped.values() if isinstance(run, Run)][::25]:
        run.check(*(file for file in run.config["files"] if not file.startswith("epochs/")))


def test_what_does_not_fit_its_schema_is_named(tiny_run: Path) -> None:
    for file in sorted(TABLES):
        kinds: dict[str, Callable[[], object]] = {"i": lambda: 1, "f": lambda: 0.5, "s": lambda: "a", "b": lambda: True}
        columns = TABLES[file] | ({"no": "f", "yes": "f"} if file == "test.parquet" else {})
        frame = pd.DataFrame({name: [kinds[kind]()] for name, kind in columns.items()})
        fits_table(frame, file, ("no", "yes"))
        for name, kind in columns.items():
            refused(ValueError, f"no column '{name}'", fits_table, frame.drop(columns=name), file, ("no", "yes"))
            with pytest.raises(ValueError, match=f"column '{name}' must hold"):
                fits_table(frame.assign(**{name: [None if kind == "s" else "x"]}), file, ("no", "yes"))
        refused(ValueError, "no rows", fits_table, frame.head(0), file, ("no", "yes"))
    config = json.loads((tiny_run / "config.json").read_text())
    metrics = json.loads((tiny_run / "metrics.json").read_text())
    with pytest.raises(ValueError, match=r"data\.splits\.train\.n must be a whole number, not 'many'"):
        fits_config(config | {"data": {"name": "toy", "splits": {"train": {"n": "many", "digest": ""}}}})
    with pytest.raises(ValueError, match=r"test\.confusion must have 2 rows of 2 counts"):
        fits_metrics(metrics | {"test": metrics["test"] | {"confusion": [[1]]}}, 2)


@pytest.fixture(scope="module")
def shipped() -> dict[str, Run]:
    naming._plain_name.cache_clear()  # pages on made-up data sets may have stored names without titles
    naming._accuracy.cache_clear()
    return {name: run for name, run in runs([store.SHIPPED]).items() if isinstance(run, Run)}


def test_a_name_says_language_system_size_and_accuracy(shipped: dict[str, Run]) -> None:
    names = {name: plain_name(run) for name, run in shipped.items()}
    assert len(set(names.values())) == len(names)
    assert not [name for name, plain in names.items() if "/" in plain or name.rpartition("/")[2] in plain.split(", ")[0].split()]
    assert plain_name(shipped["imdb/vanilla"]) == "Transformer, IMDb 85\u00a0%"
    run = shipped["english/ndt-unit-2"]
    rows = run.frame("test.parquet")
    rows = rows[rows["id"].str.startswith("sst2/")]
    right = ((rows["positive"] > rows["negative"]) == rows["label"]).mean()
    assert plain_name(run) == f"English, NDT [0,1], 2 components, 2 layers, {percent(right, 0)} of SST-2"
    official = shipped["sst2/ndt-free-2-s1"].metrics()["official_test"]["accuracy"]["value"]
    assert plain_name(shipped["sst2/ndt-free-2-s1"]) == f"NDT (−∞,∞), 2 components, seed 1, SST-2 {percent(official, 0)}"
    assert plain_name(shipped["nsmc/cls-xia"]).startswith("Korean, small BERT, lexicon multiplied, NSMC ")
    names = ("nsmc/e5", "sst2/minilm-epochs")
    assert [plain_name(shipped[name]) for name in names] == ["Korean, E5, NSMC 84\u00a0%", "MiniLM, with epochs, SST-2 86\u00a0%"]
    assert plain_name(shipped["korean/e5"]) == "Korean, E5, 12 layers, 88\u00a0% of NSMC"
    assert set(names) <= set(grouped({name: shipped[name] for name in ("english/minilm", "korean/e5", *names)})[PAPERS])


def test_groups_hold_every_run_once(shipped: dict[str, Run], tmp_path: Path) -> None:
    recipe = shipped["imdb/vanilla"].config["recipe"] | {"base": "minilm", "seed": 2}
    place = shutil.copytree(shipped["imdb/vanilla"].folder, tmp_path / "english" / "copy")
    config = shipped["imdb/vanilla"].config | {"created": "2020-01-01", "preset": "minilm-ndt-free-2", "recipe": recipe}
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    own = Run.open(place)
    assert plain_name(own).startswith("MiniLM, NDT (−∞,∞), 2 components, seed 2, ")
    weighty = {name: run for name, run in shipped.items() if run.has_weights and name in releases.index()}
    groups = grouped(weighty | {"english/copy": own})
    assert list(groups) == [BEST, PAPERS, OWN] and groups[OWN] == ["english/copy"]
    assert sorted(name for members in groups.values() for name in members) == sorted([*weighty, "english/copy"])
    spoken = [naming.language(weighty[name]) for name in groups[BEST]]
    assert spoken == sorted(spoken) and groups[BEST][0] == naming.best_run(weighty.values())
    assert groups[PAPERS] == sorted(groups[PAPERS]) and "sst2/vanilla" in groups[PAPERS] and grouped({}) == {}

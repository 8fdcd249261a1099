"""Results that are computed once: the key names every input, and a result of a visitor's own file is stored in that visit only."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.shared import KEYS, once, rows_key
from sentviz.analysis.testset.rows import Rows, RowsSource
from sentviz.models.in_memory import OpenModel
from sentviz.runs.store import Run

SOURCE = RowsSource("a/b", "0123456789ab")


def rows_of(over: str, *texts: str) -> Rows:
    """Return rows with these texts, all labelled and predicted alike."""
    frame = pd.DataFrame({"id": [str(i) for i in range(len(texts))], "label": 1, "predicted": 1, "text": texts})
    return Rows(SOURCE, over, ("negative", "positive"), frame)


class Result:
    """The texts of rows, and whether a slow computation got its turn."""

    def __init__(self, rows: Rows, slow: bool = False) -> None:
        self.texts, self.slow = list(rows.texts), slow


@pytest.fixture
def computed() -> list[str]:
    """The first text of all rows for which a result was computed, in order."""
    return []


@pytest.fixture
def texts_of(computed: list[str]) -> Callable[..., Result]:
    """A function of rows that is computed once."""

    @once(4, own=1)
    def texts_of(rows: Rows, *, step: Callable[[], object] | None = None) -> Result:
        computed.append(rows.texts.iloc[0])
        return Result(rows, step is not None)

    texts_of.clear()
    return texts_of


def page(texts_of, argument):  # type: ignore[no-untyped-def]  # Streamlit runs the source alone, without the imports of this file
    """Show the result for rows, or for a list of rows."""
    import streamlit as st

    result = texts_of(argument)
    st.text(" ".join(result.texts))
    st.caption(str(result.slow))


def visit(texts_of: Callable[..., Result], argument: Any) -> AppTest:
    """Return a visit to the page."""
    return AppTest.from_function(page, args=(texts_of, argument)).run()


def test_visitors_share_the_result_of_rows_that_all_have(texts_of: Callable[..., Result], computed: list[str]) -> None:
    visits = [visit(texts_of, rows_of("test", "kind", "warm")) for _ in range(2)]
    assert [each.text[0].value for each in visits] == ["kind warm"] * 2 and computed == ["kind"]


def test_visits_with_own_files_of_one_shape_never_see_each_other(texts_of: Callable[..., Result], computed: list[str]) -> None:
    """Each visit computes its own result, in turn, and once; the cache of all visitors stays empty."""
    mine, yours = (rows_of("mine", *texts) for texts in (("kind", "warm"), ("dull", "cold")))
    visits = [visit(texts_of, rows) for rows in (mine, yours, mine)]
    assert [each.text[0].value for each in visits] == ["kind warm", "dull cold", "kind warm"]
    assert computed == ["kind", "dull", "kind"] and {each.caption[0].value for each in visits} == {"True"}
    assert [visits[0].run().text[0].value, len(computed)] == ["kind warm", 3]
    visits[0].args = (texts_of, yours)  # the same visit with another file
    assert [visits[0].run().text[0].value, len(computed)] == ["dull cold", 4]


def test_nothing_of_an_own_file_is_kept_after_the_visit() -> None:
    results: list[weakref.ref[Result]] = []

    @once(4)
    def of_lists(many: list[Rows]) -> Result:
        results.append(weakref.ref(result := Result(many[0])))
        return result

    app = visit(of_lists, [rows_of("test", "a"), rows_of("mine", "b")])
    assert app.text[0].value == "a" and results[0]() is not None
    del app
    gc.collect()
    assert results[0]() is None


OTHER: dict[str, Any] = {
    "source": replace(SOURCE, digest="ba9876543210"), "over": "demo", "classes": ("positive", "negative"), "calibration": 2.0,
    "threshold": 0.7, "frame": rows_of("test", "kind", "dull").frame, "unread": {"7": "it is empty"}, "file": ("0", "text", "label"),
    "total": 9, "remarks": ("The labels are numbers.",), "among": "word=kind", "described": "with the word kind",
}  # fmt: skip
OF_SOURCE = {"name": "a/c", "digest": "ba98", "seed": 1, "calibration": 2.0, "gives": "scores"}


def test_the_key_of_rows_names_each_of_their_fields_and_of_their_source() -> None:
    """Of a run, the digest says everything."""
    rows = rows_of("test", "kind", "warm")
    assert rows_key(rows) == rows_key(rows_of("test", "kind", "warm"))
    assert OTHER.keys() == {field.name for field in fields(Rows)} and {*OF_SOURCE, "run"} == {field.name for field in fields(RowsSource)}
    changed = [replace(rows, **{name: value}) for name, value in OTHER.items()]
    changed += [replace(rows, source=replace(SOURCE, **{name: value})) for name, value in OF_SOURCE.items()]  # type: ignore[arg-type]
    assert len({rows_key(each) for each in (rows, *changed)}) == 1 + len(changed)


def test_every_kind_of_run_has_a_key() -> None:
    assert {Run, *Run.__subclasses__()} == {Run, OpenModel}
    assert Run in KEYS and f"{OpenModel.__module__}.{OpenModel.__qualname__}" in KEYS


def test_runs_of_one_name_that_differ_have_results_of_their_own(tmp_path: Path) -> None:
    """Another length, another epoch and another content of a run with the same name; also within a list of runs."""
    runs = []
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "config.json").write_text(json.dumps({"format": 2, "number": number}))
        runs.append(Run("a/b", tmp_path / str(number)))
    runs += [replace(runs[0], max_length=512), replace(runs[0], weights="epochs/1.safetensors")]

    @once(8)
    def described(many: list[Run]) -> tuple[Path, str, int]:
        return many[0].folder, many[0].weights, many[0].max_length

    described.clear()
    assert len({described([run]) for run in runs}) == len(runs)
    assert described(runs) == described([runs[0], runs[1], *runs[2:]]) == described([runs[0]])

"""The list of rows at the side of a view: slices, search, orders and pages, the row that is open, and the files of both."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.testing.v1 import AppTest

from app import cache, visit
from app.blocks import my_file
from app.blocks import rows as block
from app.blocks.one_row import _in_focus, _reader
from app.blocks.slice_choice import FIRST_MISTAKE, _text_of
from app.focus import Focus
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows
from sentviz.analysis.testset.slices import Slice
from sentviz.data.columns import own_columns
from sentviz.data.upload import TextTable
from tests.kit import page_text

CLASSES = ("negative", "positive")
TEXTS = ("a dull, cold garden", "a song", "not a warm soup at all", "what a bright song", "no")
LABELS, POSITIVE = (0, 1, 1, -1, 0), (0.8, 0.7, 0.1, 0.9, 0.6)
FILE = RowsSource("answers.csv", "0123456789ab")
IDS = ["r1", "r2", "r3", "r4", "r5"]
LONGEST = ["longest first", "as in the file"]
EVERY = ["wrong and confident first", "least confident first", "highest loss first", *LONGEST]


def rows_of(texts: Any = TEXTS, source: RowsSource = FILE, over: str = "mine", **more: Any) -> Rows:
    """Return five rows: the first, the third and the last are wrong, the fourth has no label."""
    positive = np.array(POSITIVE)
    columns = {"id": IDS, "label": np.array(LABELS), **({"text": list(texts)} if texts else {}), **more}
    return predicted_rows(source, over, CLASSES, columns, np.stack([1 - positive, positive], axis=1))


@pytest.fixture(autouse=True)
def no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "runs", dict)


def listed(rows, listing, chosen):  # type: ignore[no-untyped-def]  # Streamlit runs the source alone, without the imports of this file
    """Draw the choice of slices if it is asked for, and the list of rows."""
    import streamlit as st

    from app.blocks.rows import Listing, list_rows
    from app.blocks.slice_choice import choose_slice
    from app.focus import Focus

    st.session_state.setdefault("focus", Focus(over="mine"))
    if chosen:
        rows, _ = choose_slice(rows)
    list_rows(rows, Listing(**listing))


def drawn(rows: Rows, focus: Focus | None = None, chosen: bool = False, state: Any = None, **more: Any) -> AppTest:
    """Return the page of a list. In `more` are settings of the page and the additions of a view."""
    own = {name: more.pop(name) for name in ("find", "least", "most", "by") if name in more}
    app = AppTest.from_function(listed, args=(rows, more, chosen))
    app.session_state["settings"] = visit.Settings({"order" if name == "by" else name: value for name, value in own.items()})
    for name, value in (({"focus": focus} if focus else {}) | (state or {})).items():
        app.session_state[name] = value
    return sound(app.run())


def sound(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    return app


def select(app: AppTest, *places: int) -> AppTest:
    """Select a row of the table as a browser does."""
    state = WidgetState(id=app.dataframe[0].proto.id)
    state.string_value = json.dumps({"selection": {"rows": list(places), "columns": [], "cells": []}})
    sent = WidgetStates()
    sent.widgets.extend([*app._tree.get_widget_states().widgets, state])
    return sound(app._run(sent))


def heading(app: AppTest) -> str:
    return next(item.value for item in app.markdown if "table_rows" in item.value).partition(": ")[2].replace("\\", "")


def texts_of(app: AppTest) -> list[str]:
    return list(app.dataframe[0].value["text"]) if app.dataframe else []


def opened(app: AppTest) -> list[str]:
    """Return the text of the open row, and the disabled ones of the two buttons."""
    buttons = [each.label for each in app.button if (each.key or "").startswith("row-") and each.disabled]
    return [*(text.value for text in app.text), *buttons]


def test_tables_and_files_have_the_rows_in_each_order_with_names_and_marks() -> None:
    for order, ids in [
        ("found", IDS),
        ("id", IDS),
        ("surest", ["r3", "r1", "r5", "r2", "r4"]),  # wrong ones, surest first; without a label last
        ("doubtful", ["r5", "r2", "r1", "r3", "r4"]),
        ("loss", ["r3", "r1", "r5", "r2", "r4"]),
        ("length", ["r3", "r1", "r4", "r2", "r5"]),
    ]:
        assert list(block._ordered(rows_of(), order).frame["id"]) == ids
        assert order != "length" or list(block._ordered(rows_of(None), order).frame["id"]) == IDS
    for start, stop, place in ((0, 5, 0), (1, 5, 1), (3, 4, 0)):
        assert block._first_mistake(replace(rows_of(), frame=rows_of().frame[start:stop])) == place
    rows = rows_of(tag=list("abcde"))
    table = block._table(rows, ())
    assert list(table) == ["", "text", "label", "predicted", "confidence", "tag"]
    assert table.pop("confidence").tolist() == pytest.approx([0.8, 0.7, 0.9, 0.9, 0.6])
    assert table.to_numpy().tolist() == [
        ["✗", TEXTS[0], "negative", "positive", "a"],
        ["✓", TEXTS[1], "positive", "positive", "b"],
        ["✗", TEXTS[2], "positive", "negative", "c"],
        ["", TEXTS[3], "–", "positive", "d"],
        ["✗", TEXTS[4], "negative", "positive", "e"],
    ]
    bare = rows_of(None, replace(FILE, gives="classes"))
    assert list(block._table(bare, ())) == ["", "id", "label", "predicted"] and list(block._table(bare, ())["id"]) == IDS
    unlabelled = replace(rows, frame=rows.frame.assign(label=-1, reason="odd", own=1, text_pair="b"))
    assert list(block._table(unlabelled, ())) == ["", "text", "second text", "why it is listed", "predicted", "confidence", "tag"]
    several = replace(rows, frame=rows.frame.assign(first="✓ a", second="✗ b"))
    assert list(block._table(several, ("first", "second"))) == ["text", "label", "first", "second"]
    rows = replace(rows_of(**{"own:city": list("uvwxy")}), among="x")
    rows = replace(rows, frame=rows.frame.assign(id=list("54321"), likely=[0, 1, 0, 1, 0]))
    whole = block._whole(rows)
    assert list(whole) == ["id", "label", "predicted", "confidence", "right", "loss", "negative", "positive", "text", "city", "likely"]
    assert whole["label"].tolist() == ["negative", "positive", "positive", "", "negative"]
    assert whole["likely"].tolist() == [*CLASSES, *CLASSES, "negative"]
    assert whole["positive"].tolist() == pytest.approx(POSITIVE) and whole["predicted"].tolist()[2:] == ["negative", "positive", "positive"]
    own = pd.DataFrame({"text": range(5), "price": [10, 20, 30, 40, 50], "city": list("abcde")})
    both = block._whole(replace(rows, frame=rows.frame[1:]), own)
    assert both["price"].tolist() == [40, 30, 20, 10] and both["city"].tolist() == list("dcba") and list(both)[-2:] == ["price", "city"]
    assert block._three_lines("a short one", 62) == "a short one"
    cut = block._three_lines("word " * 80, 62)
    assert cut.endswith("word …") and 50 < len(cut) <= 62 and len(block._three_lines("이 영화는 정말 재미있었다 " * 20, 62)) <= 31
    assert block._three_lines("x" * 500, 62) == "x" * 61 + "…"


def test_search_lengths_orders_and_slices_choose_the_rows() -> None:
    cases = [({}, (2, 0, 4, 1, 3)), ({"find": "song"}, (1, 3)), ({"find": " SOUP|garden "}, (2, 0)), ({"find": "("}, (2, 0, 4, 1, 3))]
    cases += [({"find": "zebra"}, ()), ({"least": "2", "most": "4"}, (0, 1, 3)), ({"least": "6"}, (2,)), ({"most": "2"}, (4, 1))]
    cases += [({"least": "3", "find": "a", "by": "doubtful"}, (0, 2, 3))]
    for chosen, places in cases:
        app = drawn(rows_of(), **chosen)
        assert texts_of(app) == [TEXTS[place] for place in places] and heading(app) == f"{len(places)} of 5 rows"
        assert (len(app.warning), "No rows match." in page_text(app)) == (int("(" in chosen.values()), not places)
        words = "Words 0 to 2" if "most" in chosen else "Words"
        words = {"2": "Words 2 to 4", "6": "Words 6 to …", "3": "Words 3 to …"}.get(chosen.get("least", ""), words)
        assert [each.proto.popover.label for each in app._tree if each.type == "popover"] == [words]
    app = drawn(rows_of())
    app.text_input(key="focus-find").set_value("song").run()
    app.number_input(key="focus-least").set_value(3).run()
    app.selectbox(key="focus-order").set_value("doubtful").run()
    own, chosen = app.session_state["settings"], {"find": "song", "least": "3", "order": "doubtful"}
    assert texts_of(app) == [TEXTS[3]] and own.values == chosen == own.query("")
    own.forget({"run"})
    assert own.values == chosen
    own.forget({"over"})
    assert own.values == {"order": "doubtful"}
    for rows, own, orders in [
        (rows_of(), "", EVERY),
        (rows_of(), "odd first", ["odd first", *EVERY]),
        (rows_of(source=replace(FILE, gives="classes")), "", ["wrong first", *LONGEST]),
        (replace(rows_of(), frame=rows_of().frame.assign(label=-1)), "", ["least confident first", *LONGEST]),
    ]:
        assert drawn(rows, order=own).selectbox(key="focus-order").options == orders
    app = drawn(rows_of(None, over="test"))
    assert list(app.dataframe[0].value["id"]) == ["r3", "r1", "r5", "r2", "r4"] and not app.text_input and not app.number_input
    assert "answers.csv has no texts, so rows are shown by id." in page_text(app)


def test_the_slice_in_focus_is_what_the_list_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [("", "", 5), ("cell=1,0", " · positive predicted as negative", 1), ("word=song", " · with the word “song”", 2)]
    cases += [("cell=7,0", "", 5), ("agree=first", "", 5), ("lasso=pca.9:0,0;1,0;1,1", "", 5)]
    for slice, words, count in cases:
        monkeypatch.setattr(block.pictures, "points", lambda *_: None)
        app = drawn(rows_of(), Focus(over="mine", slice=slice))
        assert (heading(app), len(app.warning)) == (f"{count} of 5 rows{words}", int(count == 5 and bool(slice)))
        assert heading(drawn(rows_of(), Focus(over="mine", slice=slice), total=9, words="odd")) == f"{count} of 9 rows · odd{words}"
    rows_of_cases = [("", 5, ""), ("word=song", 2, ""), ("cell=1,0~word=soup", 1, ""), ("cell=1,0~word=song", 5, "None of the 5")]
    rows_of_cases += [("col=colour:red", 5, "no column “colour”"), ("agree=first", 5, "")]
    for among, count, warned in rows_of_cases:
        app = drawn(rows_of(), Focus(over="mine", among=among), chosen=True)
        warnings = [each.value.replace("\\", "") for each in app.warning]
        assert heading(app) == f"{count} of {count} rows" and len(warnings) == (count == 5 and bool(among))
        assert all(warned in each and "All rows are shown" in each for each in warnings)
    first, later = rows_of(), rows_of(("a song", "a dull song", "no", "no", "song"))
    swapped = replace(later, frame=later.frame.assign(label=1 - later.labels))
    app = drawn(first, Focus(over="mine", among="word=song~cell=0,1"), chosen=True)
    for rows, ids in ((first, 5), (later, 2), (swapped, 1), (first, 5)):
        app.args = (rows, {}, True)
        assert len(texts_of(sound(app.run()))) == ids
    assert len({each.digest for each in (first, later, swapped)}) == 3 and first.digest == rows_of().digest


def test_a_row_of_any_page_opens_with_the_way_to_the_other_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("rows", "pages"):
        monkeypatch.setattr(f"app.blocks.{module}.SIZE", 2)
    app = drawn(rows_of(), by="id")
    assert texts_of(app) == [*TEXTS[:2]] and opened(app) == [] and "Select a row to read" in page_text(app)
    after = next(each for each in app.button if each.key.startswith("after-"))
    assert "Rows 1 to 2 of 5" in page_text(app) and next(each for each in app.button if each.key.startswith("before-")).disabled
    after.click().run()
    assert texts_of(app) == [*TEXTS[2:4]] and "Rows 3 to 4 of 5" in page_text(app)
    select(app, 1)
    assert opened(app) == [TEXTS[3]] and "predicted positive** (90" in page_text(app)
    app.button(key="row-next").click().run()
    assert (opened(app), texts_of(app)) == ([TEXTS[4], "Next mistake"], [TEXTS[4]])
    assert "3 of 3" in page_text(app) and "Rows 5 to 5 of 5" in page_text(app)
    for text, count in ((TEXTS[2], 2), (TEXTS[0], 1)):
        app.button(key="row-previous").click().run()
        assert opened(app)[0] == text and f"{count} of 3" in page_text(app) and text in texts_of(app)
    assert opened(app)[1:] == ["Previous mistake"]
    assert "labelled negative, predicted positive** (80\u00a0%) · r1 · loss 1.61" in page_text(app)
    app.button(key="row-next").click().run()
    assert opened(app) == [TEXTS[2]]
    select(select(app, 1))
    assert opened(app) == [] and app.session_state["row-open"] is None


def test_rows_without_labels_are_gone_through_one_by_one() -> None:
    app = drawn(rows_of(), state={"row-open": (FIRST_MISTAKE, 0)}, by="doubtful", find="song|soup")
    assert opened(app) == [TEXTS[2], "Previous mistake", "Next mistake"] and app.get("html")
    listed, place = app.session_state["row-open"]
    assert listed.startswith("drawer-0123456789ab-mine-") and place == 1
    unlabelled = replace(rows_of(), frame=rows_of().frame.assign(label=-1))
    app = select(drawn(unlabelled, by="id"), 1)
    assert opened(app) == [TEXTS[1]] and "2 of 5" in page_text(app)
    assert "**predicted positive** (70\u00a0%) · r2" in page_text(app) and "loss" not in page_text(app)
    assert [each.label for each in app.button if each.key.startswith("row-")] == ["Previous row", "Next row"]
    frame = rows_of(text_pair=["b"] * 5).frame.assign(reason="odd", other_text="another")
    app = select(drawn(replace(rows_of(), frame=frame), by="id"), 0)
    assert opened(app) == [TEXTS[0], "b", "another", "Previous row"] and "odd" in page_text(app)


def test_an_own_label_and_a_note_are_kept_with_the_rows() -> None:
    rows = replace(rows_of(), file=("digest", "text", "label"))
    app = select(drawn(rows, by="id"), 0)
    assert "with your label or note" not in page_text(app) and app.selectbox(key="own-label-mine-r1").options == ["as it is", *CLASSES]
    app.selectbox(key="own-label-mine-r1").set_value("positive").run()
    assert "1 row with your label or note." in page_text(app)
    select(app, 2)
    app.text_input(key="own-note-mine-r3").set_value("  a note, with a comma ").run()
    assert "2 rows with your label or note." in page_text(app) and opened(app)[0] == TEXTS[2]
    table = app.dataframe[0].value
    assert table["your label"].tolist() == ["positive", *[""] * 4]
    assert table["your note"].tolist() == ["", "", "a note, with a comma", "", ""]
    assert app.session_state["row-remarks"].keys() == {("digest", "mine")} and app.text_input(key="own-note-mine-r3").max_chars == 500
    select(app, 0)
    assert app.selectbox(key="own-label-mine-r1").value == "positive"
    app.text_input(key="own-note-mine-r1").set_value("   ").run()
    app.selectbox(key="own-label-mine-r1").set_value("").run()
    assert "1 row with your label or note." in page_text(app)
    app.args = (replace(rows, file=("another", "text", "label")), {}, False)
    assert "your label" not in app.run().dataframe[0].value


def test_which_rows_and_which_runs_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    class Known:
        name, has_weights, config = "a/b", True, {"data": {"name": "toy"}}

    run: Any = Known()
    monkeypatch.setattr(cache, "runs", lambda: {"a/b": run})
    monkeypatch.setattr(visit, "focus", lambda: Focus(run="a/b"))
    of_run = rows_of(source=replace(FILE, run=run), over="test", text_pair=["b"] * 5)
    assert _reader(rows_of()) is run is _reader(of_run) and _reader(rows_of(over="test")) is None
    run.has_weights = False
    assert _reader(rows_of()) is None is _reader(of_run)
    row = of_run.frame.iloc[1]
    assert _in_focus(of_run, row) == {"row": "r2"} and _in_focus(replace(of_run, over="mine"), row) == {"text": "a song", "pair": "b"}
    assert _in_focus(rows_of(), rows_of().frame.iloc[1]) == {"text": "a song", "pair": ""}
    run: Any = type("Known", (), {"metrics": lambda self: {"test": 1, "transfer": 2, "official_test": 3}})()
    for fits, choices in ((True, ["test", "official_test", "demo", "mine"]), (False, ["test", "official_test", "mine"])):
        monkeypatch.setattr(cache, "fits_demo", lambda run, fits=fits: fits)
        assert block.row_choices(run) == choices
    monkeypatch.setattr(visit, "focus", lambda: Focus(threshold=0.75))
    assert block.at_threshold(rows_of()).predicted.tolist() == [1, 0, 0, 1, 0]
    for same in (rows_of(source=replace(FILE, gives="scores")), replace(rows_of(), classes=(*CLASSES, "neutral"))):
        assert block.at_threshold(same) is same


def test_a_second_run_stands_beside_the_rows_that_both_have(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, known = rows_of(over="test"), {name: type("Known", (), {"labels": CLASSES, "name": name})() for name in ("a/a", "a/b", "a/c")}
    known["a/c"].labels = ("no", "yes")
    tables = {"a/a": rows, "a/b": replace(rows, calibration=2.0)}
    monkeypatch.setattr(cache, "runs", lambda: known)
    monkeypatch.setattr(cache, "run", known.__getitem__)
    monkeypatch.setattr(cache, "table_of", lambda run, focus: tables[run.name])
    state: dict[str, Any] = {}
    monkeypatch.setattr(block.st, "session_state", state)

    def second(*versus: str, of: Rows = rows, over: str = "test") -> Rows | None:
        monkeypatch.setattr(visit, "focus", lambda: Focus(run="a/a", versus=versus, over=over))
        return block.rows_of_second_run(of)

    assert second() is None is second("a/a") is second("none/here") is second("a/c", "a/b")
    assert getattr(second("none/here", "a/a", "a/b"), "calibration", 0) == 2.0
    part = replace(rows, frame=rows.frame[2:4], among="word=soup", described="soup")
    both = second("a/b", of=part)
    assert both is not None and list(both.frame["id"]) == ["r3", "r4"] and (both.among, both.described) == ("word=soup", "soup")
    assert second("a/b", of=replace(part, among="")) is None
    state["mine"] = TextTable("answers.csv", rows.frame, "text", "label", "d", answers=object(), beside="a/b")  # type: ignore[arg-type]
    of_file = second("a/a", of=part, over="mine")
    assert of_file is not None and of_file.calibration == 2.0 and list(of_file.frame["id"]) == ["r3", "r4"]
    monkeypatch.setattr(cache, "brought_rows", lambda mine, answers: replace(rows, threshold=-2.0))
    state["mine"] = replace(state["mine"], beside=object())
    assert getattr(second(of=rows, over="mine"), "threshold", 0) == -2.0
    state["mine"] = replace(state["mine"], beside="")
    assert second("a/b", over="mine") is None
    state["mine"] = replace(state["mine"], answers=None)
    assert second("a/b", over="mine") is not None


def test_each_further_column_is_a_slice_also_if_it_is_named_like_a_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("city", "stars", "label", "row", "slice", "has", "text", "col:umn=~%", "among")
    columns = {f"own:{name}": [f"{name} {'first' if k % 2 else 'second'}" for k in range(40)] for name in names}
    columns["own:price"], positive = list(map(float, range(40))), np.full(40, 0.9)
    frame = {"id": [str(k) for k in range(40)], "label": np.arange(40) % 2, "text": ["a song"] * 40, **columns}
    rows = predicted_rows(FILE, "mine", CLASSES, frame, np.stack([1 - positive, positive], axis=1))
    app = drawn(rows, chosen=True)
    offered = " ".join(app.multiselect(key="focus-among").options)
    for name in names:
        part = Slice.column(name, f"{name} first")
        assert part.says(CLASSES) + " · 50\u00a0%" in offered, name
    assert "price" in offered
    app.multiselect(key="focus-among").set_value([str(part), "Warm~  song", str(Slice.column("city", "city first"))]).run()
    assert sound(app).session_state["focus"].among == "col=among:among first~col=city:city first~word=warm song"
    assert _text_of(["has=negation", " Warm  ~song", "cell=1,0"]) == "cell=1,0~has=negation~word=warm song" and _text_of([]) == ""
    frame = pd.DataFrame({"row": ["A", "B"] * 20, "id": range(40), "key": [f"k{k}" for k in range(40)]})
    assert list(own_columns(frame, ())[0]) == ["own:row"]
    monkeypatch.setattr(my_file.st, "session_state", {"mine": TextTable("f", pd.DataFrame(), "text", "stars", "d")})
    assert my_file.unlabelled("mine") == "No row has a label in the column “stars”."
    assert my_file.unlabelled("test") == "None of these rows has a label."

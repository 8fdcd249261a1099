"""Slices on the pages of rows: the link chooses them, every page follows, and what the rows do not have is one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app import cache
from app.blocks import my_file
from sentviz.analysis.testset import label_errors
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.subset import Subset
from sentviz.errors import InputError
from tests.kit import SHIPPED, opened, page_text, switched
from tests.test_weak import rows_of, table

pytestmark = [pytest.mark.slow, SHIPPED]
PART = "col=product:phone~has=negation"


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rows]:
    """Made-up rows of a file in place of those of the demo set."""
    every = rows_of(table())
    monkeypatch.setattr(cache, "table", lambda focus: every)
    yield every


def heading(app: AppTest) -> str:
    return next(each.value for each in app.markdown if "table_rows" in each.value)


@pytest.mark.exhaustive
def test_a_link_s_slice_is_on_every_page_of_rows(rows: Rows) -> None:
    """Confusion and Words are of the slice's rows; Embeddings lists them. The choice shows the two slices, a removed one is gone."""
    (part,) = Subset.parse(PART).chosen(rows)
    app = opened("confusion", over="demo", among=PART)
    assert f"**{int(part.frame['right'].sum()):,} of {len(part):,}** rows" in page_text(app)
    assert f"{len(part):,} of {len(part):,} rows" in heading(app)
    assert app.multiselect(key="focus-among").value == PART.split("~")
    for page in ("words", "embeddings"):
        assert f"{len(part):,} of {len(part):,} rows" in heading(switched(app, page))
    app.multiselect(key="focus-among").set_value(["has=negation"]).run()
    assert not app.exception and app.session_state["focus"].among == "has=negation"


@pytest.mark.exhaustive
def test_a_click_on_a_weak_slice_opens_its_first_mistake(rows: Rows) -> None:
    app = opened("confusion", over="demo", view="slices")
    assert "slices were searched on one half of the rows" in page_text(app)
    app.button(key="weak-0").click().run()
    assert not app.exception and app.session_state["focus"].among in ("word=battery", PART)
    chosen = Subset.parse(app.session_state["focus"].among).mask(rows)
    text = next(each.value for each in app.text)
    row = rows.frame[rows.frame["text"] == text].iloc[0]
    assert not row["right"] and chosen[int(str(row.name))]


@pytest.mark.exhaustive
def test_a_slice_without_rows_is_one_sentence(rows: Rows) -> None:
    """A column that the rows lack, and a slice of no row, are named; all rows are shown."""
    for text, why in (
        ("col=colour:red", "no column “colour”"),
        ("col=product:phone~word=nowhere", "None of the 2,400 rows is in the slice"),
    ):
        app = opened("confusion", over="demo", among=text)
        assert [why in str(each.value) for each in app.warning] == [True] and "2,400 of 2,400 rows" in heading(app)
    app = opened("confusion", over="demo", among="nonsense")
    assert "the slice “nonsense”, which is not available; all rows are shown" in "".join(str(each.value) for each in app.info)


@pytest.mark.exhaustive
@pytest.mark.parametrize("over", ["demo", "mine"])
def test_two_files_with_one_slice_text_have_their_own_rows(over: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other texts, other labels or another threshold under the same names and keys are other rows: no stored mask is used for them."""
    first, second = (replace(rows_of(table(seed)), over=over) for seed in (0, 1))
    known = [first]
    monkeypatch.setattr(cache, "table", lambda focus: known[-1])
    monkeypatch.setattr(my_file, "choose_file", lambda run, *, beside=True: True)
    app = opened("confusion", over=over, among="word=battery~cell=0,1")
    swapped = replace(second, frame=second.frame.assign(label=1 - second.labels))
    for rows in (first, second, swapped, first):
        known.append(rows)
        (part,) = Subset.parse("word=battery~cell=0,1").chosen(rows)
        assert f"{len(part):,} of {len(part):,} rows" in heading(app.run())
    assert len({each.digest for each in (first, second, swapped)}) == 3
    assert rows_of(table()).digest == rows_of(table()).digest


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", ["behaviour", "explanations", "components", "cls"])
def test_a_page_that_cannot_follow_a_slice_says_so(page: str) -> None:
    """One sentence names the slice and the reason; without a slice there is none."""
    sentences = [each.value for each in opened(page, among="has=negation").caption if "does not apply here" in each.value]
    assert len(sentences) == 1 and "“with negation”" in sentences[0]
    assert "does not apply here" not in page_text(opened(page))


@pytest.mark.exhaustive
def test_label_errors_of_a_weak_slice_are_judged_by_all_rows(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a slice on which the model is usually wrong, the suspects are those of all rows; alone, it looks like swapped labels."""
    inside = Subset.parse(PART).mask(rows)
    predicted = np.where(inside & (np.arange(len(rows)) % 4 > 0), 1 - rows.labels, rows.predicted)
    sure = np.random.default_rng(0).uniform(0.6, 0.99, len(rows))
    columns = {f"p{k}": np.where(predicted == k, sure, 1 - sure) for k in (0, 1)}
    frame = rows.frame.assign(predicted=predicted, right=predicted == rows.labels, confidence=sure, **columns)
    rows = replace(rows, frame=frame, source=replace(rows.source, gives="probabilities"))
    monkeypatch.setattr(cache, "table", lambda focus: rows)
    with pytest.raises(InputError, match="probably swapped"):
        label_errors.label_errors(Subset.parse(PART).chosen(rows)[0])
    app = opened("labels", over="demo", among=PART)
    assert not app.exception and not app.warning
    every = label_errors.label_errors(rows).frame
    suspects = set(every.loc[every["suspect"], "id"]) & set(rows.frame.loc[inside, "id"])
    assert f"{len(suspects):,} of " in heading(app)


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", ["confusion", "labels", "words", "embeddings"])
def test_a_slice_of_one_row_or_of_one_class_opens_on_every_page(page: str, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """One text has the word; the cell holds rows of one class only."""
    frame = rows.frame.copy()
    frame.loc[0, "text"] = "singular thing"
    single = replace(rows, frame=frame)
    monkeypatch.setattr(cache, "table", lambda focus: single)
    app = opened(page, over="demo", among="word=singular")
    assert not app.exception and ("1 of 1 rows" in page_text(app) or page == "labels")
    assert not opened(page, over="demo", among="cell=0,0").exception

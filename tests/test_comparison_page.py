"""The page Compare models with Streamlit's AppTest, on the runs that ship."""

from __future__ import annotations

import pytest

from sentviz.analysis.testset.compare import compare
from tests.test_app import RUN, SHIPPED, opened, words

pytestmark = [pytest.mark.slow, SHIPPED]
CONTROL = "sst2/vanilla-matched"


def test_the_verdict_comes_first_and_takes_the_stored_seeds_together() -> None:
    """The first heading is the verdict of the library over three seeds each; alone, it is that of the two trainings."""
    app = opened("comparison", versus=CONTROL)
    assert not app.error and not app.exception
    headings = [each.value for each in app.markdown if each.value.startswith("#### ")]
    assert headings[0].replace("\\", "") == f"#### {compare(RUN, CONTROL).headline}"
    single = opened("comparison", versus=CONTROL, trainings="single")
    assert compare(RUN, CONTROL, seeds=False).headline.split(":")[0] in words(single)
    assert not single.exception


def test_rows_are_those_of_the_chosen_part() -> None:
    app = opened("comparison", versus=CONTROL, over="demo", who="right.1")
    assert not app.exception
    table = app.dataframe[-1].value
    assert len(table) and table[RUN].str.startswith("✓").all() and table[CONTROL].str.startswith("✗").all()


def test_a_slice_of_the_link_is_what_is_compared() -> None:
    """The verdict is on the rows of the slice, which the sentence below it names."""
    app = opened("comparison", versus=CONTROL, over="demo", among="has=negation")
    assert not app.exception and "rows (demo set, " in words(app).replace("\\", "")
    every = opened("comparison", versus=CONTROL, over="demo")
    assert "All predict the same 270 rows" in words(every) and "All predict the same 270 rows" not in words(app)


def test_one_model_and_other_data_sets_are_a_sentence() -> None:
    assert "have no common row" in words(opened("comparison", versus="imdb/ndt-unit-2"))
    assert "File" in words(opened("comparison", over="mine")) or not opened("comparison", over="mine").exception

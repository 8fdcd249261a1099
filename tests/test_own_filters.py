"""Further columns of a visitor's file are filters of Rows: each has a chip, every view follows, also columns named like a filter."""

from __future__ import annotations

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from sentviz.analysis.testset.slices import Slice
from sentviz.data.columns import own_columns
from sentviz.data.upload import TextTable
from tests.kit import RUN, SHIPPED, opened, page_text, switched

pytestmark = [pytest.mark.slow, SHIPPED]
N = 40
NAMES = ("city", "stars", "label", "row", "slice", "has", "text", "col:umn=~%", "among")


def table() -> pd.DataFrame:
    """Return a file whose further columns have the names of filters, fields and other columns."""
    frame = pd.DataFrame({"review": [f"a {'warm' if k % 2 else 'dull'} song, number {k}" for k in range(N)]})
    frame["verdict"] = ["negative", "positive"] * (N // 2)
    for name in NAMES:
        frame[name] = [f"{name} {'first' if k % 4 < 2 else 'second'}" for k in range(N)]
    return frame.assign(stars=[k % 5 + 1 for k in range(N)], price=[0.5 * k for k in range(N)])


def with_file(page: str) -> AppTest:
    app = opened(page, run=RUN)
    app.session_state["mine"] = TextTable("hotel.csv", table(), "review", "verdict", "hotel")
    return app.selectbox(key="focus-over").set_value("mine").run()


def heading(app: AppTest) -> str:
    return next(each.value for each in app.markdown if "table_rows" in each.value)


def test_each_further_column_is_offered_and_has_a_chip() -> None:
    app = with_file("confusion")
    assert not app.exception and f"{N} of {N} rows" in heading(app)
    offered = " ".join(app.multiselect(key="focus-among").options)
    for name in NAMES:
        part = Slice.column(name, "2" if name == "stars" else f"{name} first")
        assert part.says(("negative", "positive")) in offered, name
        app.multiselect(key="focus-among").set_value([str(part)]).run()
        assert not app.exception and not app.warning, (name, [each.value for each in app.warning])
        assert app.session_state["focus"].among == str(part)
        assert app.button(key="chip-among") and f"{N // 5 if name == 'stars' else N // 2} of " in heading(app), name
    assert "price" in offered
    app.button(key="chip-among").click().run()
    assert not app.session_state["focus"].among and f"{N} of {N} rows" in heading(app)


@pytest.mark.exhaustive
def test_every_view_of_rows_follows_filters_of_two_columns() -> None:
    """The filter of two columns holds on every view, with a number in a range as well."""
    app, parts = with_file("confusion"), [Slice.column("city", "city first"), Slice.between("price", 0, 5)]
    app.multiselect(key="focus-among").set_value([str(part) for part in parts]).run()
    for page in ("confusion", "words", "labels", "embeddings", "comparison"):
        app = switched(app, page)
        assert not app.exception, page
        assert "hotel" not in app.query_params and app.session_state["focus"].among == "~".join(map(str, parts)), page
        if page in ("confusion", "words"):
            assert "6 of 6 rows" in heading(app), page
        assert "All rows are shown" not in page_text(app), page


def test_a_column_named_like_an_id_forms_groups_only_if_it_has_groups() -> None:
    frame = pd.DataFrame({"row": ["A", "B"] * 20, "id": range(40), "key": [f"k{k}" for k in range(40)]})
    columns, _ = own_columns(frame, ())
    assert list(columns) == ["own:row"]

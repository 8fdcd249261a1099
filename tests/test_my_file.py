"""The block of a visitor's own file: how labels and numbers are read is said before the first number, and what is ambiguous is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from sentviz.data.upload import TextTable
from tests.kit import RUN, SHIPPED, opened, page_text

pytestmark = [pytest.mark.slow, SHIPPED]
N, RIGHT = 100, 84
TRUTH = np.arange(N) % 2
ANSWER = np.where(np.arange(N) < N - RIGHT, 1 - TRUTH, TRUTH)


def with_file(**columns: Any) -> AppTest:
    """Return the page of the mistakes with a visitor's file, and the file's predictions as those to judge."""
    app = opened("confusion", run=RUN)
    frame = pd.DataFrame({"text": [f"a fine film {i}" for i in range(N)], **columns})
    app.session_state["mine"] = TextTable("answers.csv", frame, "text", "label", "digest")
    app.selectbox(key="focus-over").set_value("mine").run()
    app.radio[0].set_value(0).run()
    assert not app.exception
    return app


def headline(app: AppTest) -> str:
    """Return the sentence on the share of right predictions, "" if the page has none."""
    return next((item.value for item in app.markdown if "is right on **" in item.value), "")


@pytest.mark.exhaustive
@pytest.mark.parametrize("written", [[-1, 1], ["1.0", "2.0"], ["NEG", "Pos"]])
def test_the_mapping_is_said_above_the_first_number(written: list[Any]) -> None:
    app = with_file(label=[written[k] for k in TRUTH], prediction=[written[k] for k in ANSWER])
    assert f"right on **{RIGHT} of {N}** rows" in headline(app)
    page_words = "\n".join(str(getattr(element, "value", "")) for element in app.main).replace("\\", "")
    assert f"; {N} of {N} rows." in page_words and page_words.index("Labels in “label”") < page_words.index("is right on")


@pytest.mark.exhaustive
def test_the_scale_is_asked_for() -> None:
    """A score from 0 to 100 may be percent; no number is shown before the visitor says it."""
    app = with_file(label=TRUTH, score=np.where(ANSWER == 1, 80.0, 20.0))
    assert "percentages, logits or probabilities" in app.warning[0].value and "--" not in app.warning[0].value and not headline(app)
    app.selectbox(key="mine-scale-digest").set_value("percent").run()
    assert f"right on **{RIGHT} of {N}** rows" in headline(app) and "in percent" in page_text(app)
    app.selectbox(key="mine-scale-digest").set_value("").run()
    assert not headline(app) and app.warning


@pytest.mark.exhaustive
def test_rows_that_are_left_out_need_the_visitors_word() -> None:
    label = ["" if i >= N - 10 else str(k) for i, k in enumerate(TRUTH)]
    app = with_file(label=label, prediction=ANSWER)
    assert "Only 90 of the 100 rows" in app.warning[0].value and not headline(app)
    app.checkbox(key="mine-partial-digest").check().run()
    assert f"right on **{RIGHT - 10} of 90** rows" in headline(app) and "The file has 100 rows." in headline(app)


@pytest.mark.exhaustive
def test_the_class_of_each_label_is_asked_for() -> None:
    """Labels 0 and 4 stand for no class of the run until the visitor names their classes."""
    app = with_file(label=np.where(TRUTH == 1, 4, 0), prediction=np.where(ANSWER == 1, 1, 0))
    assert "whether these are the same classes is not known" in app.warning[0].value and not headline(app)
    app.text_input(key="mine-labels-digest").set_value("0=negative, 4=positive, 1=positive").run()
    assert f"right on **{RIGHT} of {N}** rows" in headline(app) and "4 = positive" in page_text(app)
    app.text_input(key="mine-labels-digest").set_value("nonsense").run()
    assert not app.exception and "Write labels as in 1=negative,2=positive" in page_text(app)

"""Repeated letters are collapsed, names and links stay, and the measure equals counts by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.sevenessxin import emphasis
from sentviz.papers.sevenessxin.measured import EMPHASIS
from sentviz.papers.studies.items import make_table
from sentviz.runs.registry import find_paper

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("text", "collapsed", "of"),
    [
        ("soooo good", "so good", (True, False)),
        ("good book", "good book", (False, False)),
        ("SOOOO GOOD", "SO GOOD", (True, True)),
        ("@heyyyy see www.zzzz.com", "@heyyyy see www.zzzz.com", (False, False)),
        ("1000 OK...", "1000 OK...", (False, False)),
    ],
)
def test_runs_of_letters(text: str, collapsed: str, of: tuple[bool, bool]) -> None:
    assert emphasis.once(text) == collapsed and emphasis.kinds(text) == of


def test_the_measure_by_hand() -> None:
    """The model calls a text positive if it has the word "so": one of two emphasised tweets changes, to the right answer."""

    def forward(texts: list[str]) -> tuple[np.ndarray, None]:
        positive = np.array(["so" in text.lower().split() for text in texts])
        return np.stack([~positive, positive], axis=1).astype(float), None

    model: Any = SimpleNamespace(read=lambda frame: frame["text"].tolist(), forward=forward)
    frame = pd.DataFrame({"text": ["sooo", "nooo", "so", "WOW"], "label": [1, 0, 1, 1]})
    rows = emphasis.measure(model, frame).set_index("of")
    assert rows["n"].to_dict() == {"repeated letters": 2, "capitals": 1, "neither": 1}
    assert rows.loc["repeated letters", ["accuracy", "changed", "difference"]].tolist() == [0.5, 0.5, 0.5]
    assert rows.loc["capitals", "difference"] == rows.loc["neither", "changed"] == 0


def test_the_table_says_what_is_stored() -> None:
    table = make_table(find_paper("sevenessxin"), "emphasis", [])
    assert len(table.written()) == 3 and EMPHASIS.read()["run"].iloc[0] in table.caption

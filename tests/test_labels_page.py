"""The page Labels and the command `sentviz labels`: the answer first, ranked rows with their reason, one sentence for bad input."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.data.predictions import recognise
from sentviz.data.upload import TextTable
from tests.kit import RUN, SHIPPED, page_text, started, switched
from tests.test_label_errors import judged
from tests.test_repeats import random_texts

pytestmark = [pytest.mark.slow]


def table(n: int = 300) -> pd.DataFrame:
    """Return rows with predictions as a file has them; the first three labels are wrong, and two texts repeat."""
    rows, _ = judged(n, wrong=3, classes=2)
    texts = random_texts(n, seed=5)
    texts[7] = texts[8] = "one text that stands here twice"
    frame = rows.frame
    names = ["bad", "fair"]
    return pd.DataFrame({"text": texts, "label": [names[k] for k in rows.labels], "p_bad": frame["p0"], "p_fair": frame["p1"]})


@pytest.mark.exhaustive
def test_the_command_reads_a_file_of_predictions(tmp_path: Path) -> None:
    """Planted rows come first in the CSV, under the name of their suspicion; a file has no training rows, which is said."""
    file, out = tmp_path / "answers.csv", tmp_path / "out.csv"
    table().to_csv(file, index=False)
    done = CliRunner().invoke(main, ["labels", str(file), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert " of 300 labels look wrong" in done.output
    assert "! answers.csv has predictions but no model, so there are no training rows to compare with." in done.output
    written = pd.read_csv(out)
    assert {*written.loc[written["suspected"] == "label", "id"]} <= {1, 2, 3} and written["id"][0] <= 3
    assert {8, 9} <= {*written.loc[written["suspected"] == "repeat", "id"]}
    done = CliRunner().invoke(main, ["labels", str(file), "--data", "sst2"])
    assert done.exit_code == 1 and "has its own rows; --data belongs to a run" in done.output


@pytest.mark.exhaustive
@SHIPPED
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.assign(p_bad=frame["p_fair"], p_fair=frame["p_bad"]), "labels are probably swapped"),
        (lambda frame: frame.drop(columns="label"), "Without labels none can look wrong"),
        (lambda frame: frame.assign(predicted=frame["label"])[["text", "label", "predicted"]], "has only predicted classes"),
    ],
    ids=["flipped everywhere", "no labels", "no probabilities"],
)
def test_a_file_that_cannot_be_judged_gets_one_sentence(change: object, message: str) -> None:
    frame = change(table())
    app = started()
    label = "label" if "label" in frame else ""
    answers = recognise(frame, label, "text")[0]
    app.session_state["mine"] = TextTable("answers.csv", frame, "text", label, "d" * 16, answers)
    app.query_params["run"], app.query_params["over"] = RUN, "mine"
    app.run()
    app = switched(app, "labels")
    app.radio[0].set_value(0).run()
    assert not app.exception, app.exception
    assert message in page_text(app)

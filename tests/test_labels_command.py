"""The command `sentviz labels` on a file of predictions: the answer first, ranked rows, and one sentence for bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from sentviz.cli import main


def table(n: int = 300) -> pd.DataFrame:
    """Return rows with predictions as a file has them; the first three labels are wrong, and two texts repeat."""
    rng = np.random.default_rng(5)
    truth, sure = rng.integers(0, 2, n), rng.uniform(0.7, 0.99, n)
    texts = [" ".join(f"w{k}" for k in rng.integers(0, 40, 12)) for _ in range(n)]
    texts[7] = texts[8] = "one text that stands here twice"
    fair = np.where(truth == 1, sure, 1 - sure)
    label = np.where(np.arange(n) < 3, 1 - truth, truth)
    return pd.DataFrame({"text": texts, "label": np.array(["bad", "fair"])[label], "p_bad": 1 - fair, "p_fair": fair})


@pytest.mark.exhaustive
def test_the_command_reads_a_file_of_predictions(tmp_path: Path) -> None:
    """Planted rows come first in the CSV, under the name of their suspicion; a file has no training rows, which is said."""
    file, out, rows = tmp_path / "answers.csv", tmp_path / "out.csv", table()

    def judged(of: pd.DataFrame, *options: str) -> str:
        of.to_csv(file, index=False)
        return CliRunner().invoke(main, ["labels", str(file), *options]).output

    output = judged(rows, "-o", str(out))
    assert "3 of 300 labels look wrong" in output
    assert "! answers.csv has predictions but no model, so there are no training rows to compare with." in output
    written = pd.read_csv(out)
    assert {*written.loc[written["suspected"] == "label", "id"]} == {1, 2, 3} and written["id"][0] <= 3
    assert {*written.loc[written["suspected"] == "repeat", "id"]} == {8, 9}
    assert "labels are probably swapped" in judged(rows.assign(p_bad=rows["p_fair"], p_fair=rows["p_bad"]))
    assert "no column is known to hold labels" in judged(rows.drop(columns="label"))
    assert "has only predicted classes" in judged(rows.assign(predicted=rows["label"])[["text", "label", "predicted"]])
    assert "has its own rows; --data belongs to a run" in judged(rows, "--data", "sst2")

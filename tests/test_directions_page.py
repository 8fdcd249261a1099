"""The command `sentviz directions` on a small run, and the words, board and claims on stored measurements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sentviz.analysis.causal.claims import CLAIMS, EPOCH_RUNS, NDT_RUNS, more_than
from sentviz.analysis.causal.direction_tables import PRINTED, board, headline, lost_everywhere, strongest, table_of, why_no_leace
from sentviz.analysis.explain.claims import RUNS
from sentviz.cli import main
from sentviz.runs.catalog import study_runs
from sentviz.runs.store import SHIPPED, find
from tests import kit

RUN = "sst2/ndt-unit-2"


@kit.SHIPPED
@pytest.mark.exhaustive
def test_words_and_claims_follow_the_stored_table() -> None:
    """Headline, board and claims name the stored numbers; claims are decided by the interval."""
    run = find(RUN, [SHIPPED])
    table, row, lost = table_of(run), strongest(run), lost_everywhere(run, "all")
    wanted = table.query("measure == 'lost' and place == 'all' and name == 'difference' and depth >= 0")["value"].max()
    assert row["value"] == wanted and f"{row['n']:.0f} rows" in headline(run) and PRINTED["all"] == 0.76
    lines = board([run]).set_index("run")
    assert lines.loc[RUN, "lost"] == pytest.approx(100 * lost["value"], abs=0.06) and lines["random"].dropna().min() > 70
    before = float(table.query("name == 'unchanged'")["value"].iloc[0])
    after = float(table.query("measure == 'accuracy' and name == 'difference' and place == 'all' and depth == -1")["value"].iloc[0])
    assert lost["value"] == pytest.approx((before - after) / (before - 0.5), abs=1e-3)
    assert "leace" not in set(table["name"]) and "10 rows for each of the 128 dimensions" in why_no_leace(run)
    for least, verdict in ((lost["low"] - 0.01, "holds"), (lost["high"] + 0.01, "fails"), (lost["value"], "open")):
        assert more_than(run, place="all", least=least).verdict == verdict
    runs = study_runs([SHIPPED]).runs
    for claim in CLAIMS:
        assert {name for name, _ in claim.test(runs).parts} <= {*RUNS, *NDT_RUNS, *EPOCH_RUNS} and claim.test([]).verdict == "unjudged"


@pytest.mark.exhaustive
def test_the_command_measures_a_file(tiny_run: Path, tmp_path: Path) -> None:
    """The command prints accuracies without the direction; bad input is one sentence."""
    path = tmp_path / "rows.csv"
    frame = kit.toy_splits()["test"].frame.assign(label=lambda rows: np.where(rows["label"] == 1, "positive", "negative"))
    frame.to_csv(path, index=False)

    def output(*arguments: str) -> str:
        return CliRunner().invoke(main, ["directions", str(tiny_run), "--data", str(path), *arguments]).output

    assert "everywhere, all" in (measured := output("--sample", "20")) and "unchanged: " in measured
    assert "Depths go from 0, the embedding, to 2" in output("--steer", "a dull song", "1", "--depth", "9")
    frame[frame["label"] == "positive"].to_csv(path, index=False)
    assert "but the sample has 0 of negative" in output()

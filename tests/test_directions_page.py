"""The page Directions: stored measurements, the board beside the printed numbers, the claims, and the steered sentence; the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sentviz.analysis.causal.claims import CLAIMS, EPOCH_RUNS, NDT_RUNS, more_than
from sentviz.analysis.causal.direction_tables import (
    PRINTED,
    board,
    has_directions,
    headline,
    lost_everywhere,
    strongest,
    table_of,
    why_no_leace,
)
from sentviz.analysis.explain.claims import RUNS
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.runs.catalog import study_runs
from sentviz.runs.store import SHIPPED, find
from tests.kit import opened, page_text, toy_splits

RUN = "sst2/ndt-unit-2"


@pytest.mark.exhaustive
def test_the_page_shows_measured_runs_and_steers_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rows, the stored figures, board and claims are there; with rows, a slider adds the direction and states the norm."""
    splits = toy_splits()
    monkeypatch.setattr(datasets, "load_split", lambda name, split: splits[split])
    monkeypatch.setattr("app.blocks.get_data.missing_parts", lambda item, split="": ())
    app = opened("directions", run=RUN, text="a dull song", push="150")
    text = page_text(app)
    assert not app.exception and "Without one direction after" in text and "with a vector of norm" in text
    app.session_state["cause-claims"] = app.session_state["all-directions"] = True
    app.run()
    last = next(each.value for each in app.dataframe if "unchanged" in each.value).iloc[-1]
    assert last["run"] == "Tigges et al. 2024" and last["all tokens"] == 62 and np.isnan(last["random"])
    assert all(claim.statement in page_text(app) for claim in CLAIMS)
    app.slider(key="focus-push").set_value(0).run()
    assert "with a vector of norm 0.00" in page_text(app)


@pytest.mark.exhaustive
def test_words_and_claims_follow_the_stored_table() -> None:
    """Headline, board and claims name the stored numbers; claims are decided by the interval."""
    run = find(RUN)
    table, row = table_of(run), strongest(run)
    assert (
        has_directions(run)
        and row["value"] == table.query("measure == 'lost' and place == 'all' and name == 'difference' and depth >= 0")["value"].max()
    )
    assert f"{row['n']:.0f} rows" in headline(run)
    runs = study_runs([SHIPPED]).runs
    lines = board(runs).set_index("run")
    lost = lost_everywhere(run, "all")
    assert lines.loc[RUN, "lost"] == pytest.approx(100 * lost["value"], abs=0.06) and lines["random"].dropna().min() > 70
    before = float(table.query("name == 'unchanged'")["value"].iloc[0])
    after = float(table.query("measure == 'accuracy' and name == 'difference' and place == 'all' and depth == -1")["value"].iloc[0])
    assert lost["value"] == pytest.approx((before - after) / (before - 0.5), abs=1e-3) and PRINTED["all"] == 0.76
    assert "leace" not in set(table["name"]) and "LEACE" not in lines and "10 rows for each of the 128 dimensions" in why_no_leace(run)
    for least, verdict in ((lost["low"] - 0.01, "holds"), (lost["high"] + 0.01, "fails"), (lost["value"], "open")):
        assert more_than(run, place="all", least=least).verdict == verdict
    for claim in CLAIMS:
        finding = claim.test(runs)
        assert {name for name, _ in finding.parts} <= {*RUNS, *NDT_RUNS, *EPOCH_RUNS} and claim.test([]).verdict == "unjudged"


@pytest.mark.exhaustive
def test_the_command_measures_a_file_and_steers(tmp_path: Path) -> None:
    """`sentviz directions RUN --data FILE` prints accuracies without the direction; --steer states the norms; bad input is one sentence."""
    path = tmp_path / "rows.csv"
    frame = toy_splits()["test"].frame.assign(label=lambda rows: np.where(rows["label"] == 1, "positive", "negative"))
    frame.to_csv(path, index=False)
    done = CliRunner().invoke(main, ["directions", RUN, "--data", str(path), "--sample", "20"])
    assert done.exit_code == 0 and "everywhere, all" in done.output and "unchanged: " in done.output, done.output
    done = CliRunner().invoke(main, ["directions", RUN, "--data", str(path), "--steer", "a dull song", "5", "--depth", "1"])
    assert done.exit_code == 0 and "Depth 1; distance of the two means" in done.output
    for arguments, why in (
        (["--steer", "a dull song", "1e9"], "too long to be added"),
        (["--steer", "a dull song", "1", "--depth", "9"], "Depths go from 0, the embedding, to 2"),
    ):
        done = CliRunner().invoke(main, ["directions", RUN, "--data", str(path), *arguments])
        assert done.exit_code and why in done.output, done.output
    frame[frame["label"] == "positive"].to_csv(path, index=False)
    done = CliRunner().invoke(main, ["directions", RUN, "--data", str(path)])
    assert done.exit_code and "but the sample has 0 of negative" in done.output
    done = CliRunner().invoke(main, ["directions", "imdb/hardmax-d2", "--data", str(path)])
    assert done.exit_code and "directions need a transformer" in done.output

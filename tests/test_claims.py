"""Claims against hand-counted tables and made-up runs."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from sentviz.papers.ndt import printed_tables
from sentviz.papers.studies.claims import BROKEN, claims_of, judged
from sentviz.papers.studies.verdicts import FILE, digest_of_sources, store_verdicts, verdicts
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import built_in, find_paper, papers
from sentviz.runs.store import SHIPPED, Run
from tests.studies import made_run, plant

pytestmark = pytest.mark.slow

TABLES = Path(printed_tables.__file__).parent / "printed"


def rows(name: str) -> list[dict[str, str]]:
    with (TABLES / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def without_runs() -> pd.DataFrame:
    """Return the findings of the NDT paper without runs, by statement."""
    return judged([], ["ndt"]).set_index("claim")


def evidence(statement: str) -> tuple[str, str]:
    row = without_runs().loc[statement]
    return str(row["verdict"]), str(row["evidence"])


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("dataset", "printed_count", "statement"),
    [
        ("imdb", 11, "11 of 12 NDT variants are above DT on IMDb"),
        ("sst2", 6, "6 of 12 NDT variants are above DT on SST-2"),
        ("twitter_financial", 8, "8 of 12 NDT variants are above DT on Twitter"),
    ],
)
def test_counts_above_dt_from_the_raw_file(dataset: str, printed_count: int, statement: str) -> None:
    """Counted from the csv by a loop."""
    table = [row for row in rows("classification") if row["dataset"] == dataset]
    dt = next(float(row["accuracy_pct"]) for row in table if row["family"] == "diff")
    above = sum(row["family"] == "ndt" and float(row["accuracy_pct"]) > dt for row in table)
    verdict, words = evidence(statement)
    assert f"{above} of 12" in words
    assert (verdict == "holds") == (above == printed_count)


@pytest.mark.parametrize(
    ("dataset", "title", "low", "high"),
    [("imdb", "IMDb", -0.2001, -0.0575), ("yelp", "Yelp", -0.2003, -0.0468), ("twitter_financial", "Twitter", -0.2053, -0.0593)],
)
@pytest.mark.exhaustive
def test_negative_lambdas_from_the_raw_file(dataset: str, title: str, low: float, high: float) -> None:
    """The range that the paper's text gives, against its table."""
    values = [float(row["lambda"]) for row in rows("lambdas") if row["constraint"] == "[-1,1]" and row["dataset"] == dataset]
    verdict, words = evidence(f"Under [−1,1] lambdas on {title} are exclusively negative")
    assert verdict == "holds" and words == f"{sum(v < 0 for v in values)} of {len(values)} are negative" == "12 of 12 are negative"
    verdict, words = evidence(f"Under [-1,1] lambdas on {title} go from {low} to {high}".replace("-", "−"))
    assert f"{min(values):.4f} to {max(values):.4f}".replace("-", "−") in words
    assert (verdict == "holds") == ((min(values), max(values)) == (low, high))


@pytest.mark.exhaustive
def test_growing_lambdas_from_the_raw_file() -> None:
    """Layer 2 above layer 1, pair by pair: the unbounded ones of IMDb, and all of every data set."""
    values = {
        tuple(row[k] for k in ("dataset", "constraint", "components", "component", "layer")): float(row["lambda"])
        for row in rows("lambdas")
    }
    grown = {key[:4]: values[(*key[:4], "2")] > value for key, value in values.items() if key[4] == "1"}
    unbounded = [up for key, up in grown.items() if key[0] == "imdb" and "inf" in key[1]]
    verdict, words = evidence("On IMDb unbounded lambdas grow from layer 1 to layer 2")
    assert f"imdb {sum(unbounded)} of {len(unbounded)}" in words and (verdict == "holds") == all(unbounded)
    verdict, words = evidence("Lambdas grow from layer 1 to layer 2 on every data set")
    twitter = [up for key, up in grown.items() if key[0] == "twitter_financial"]
    assert f"twitter_financial {sum(twitter)} of {len(twitter)}" in words and (verdict == "holds") == all(grown.values())


def test_falling_lambdas_from_the_raw_file() -> None:
    """The number of configurations with falling lambdas equals a count computed in the test from the raw file."""
    groups: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for row in rows("lambdas"):
        key = (row["dataset"], row["constraint"], row["components"], row["layer"])
        groups.setdefault(key, []).append((int(row["component"]), abs(float(row["lambda"]))))
    several = [[value for _, value in sorted(group)] for group in groups.values() if len(group) > 1]
    falling = sum(all(a > b for a, b in pairwise(row)) for row in several)
    assert f"{falling} of {len(several)}" in evidence("Lambda falls with the component index in every configuration")[1]


@pytest.mark.exhaustive
def test_without_runs_what_needs_them_cannot_be_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor with what was measured of runs and is stored beside a study."""
    for name in ("PADDING", "NEUTRAL"):
        plant(monkeypatch, f"sevenessxin.measured.{name}", tmp_path)
    frame = judged([])
    assert not frame["evidence"].str.startswith(BROKEN).any()
    assert set(frame[frame["against"] == "runs here"]["verdict"]) == {"unjudged"}
    assert len(frame) == sum(len(claims_of(paper)) for paper in papers().values())


@pytest.mark.exhaustive
def test_with_shipped_runs_every_claim_has_numbers() -> None:
    """Each finding on the shipped sst2 runs names its n and p, or says that runs are missing."""
    root = Path(__file__).parents[1] / "checkpoints" / "sst2"
    if not root.is_dir():
        pytest.skip("checkpoints/ is empty")
    frame = judged([Run.open(path, f"sst2/{path.name}") for path in sorted(root.iterdir())])
    assert not frame["evidence"].str.startswith(BROKEN).any()
    measured = frame[(frame["against"] == "runs here") & frame["claim"].str.contains("SST-2") & frame["claim"].str.contains("beats")]
    assert measured["evidence"].str.contains("n = 10,234").all()
    assert measured["evidence"].str.contains(", p = ", regex=False).all()


@pytest.mark.exhaustive
def test_the_page_filters_by_paper_and_verdict() -> None:
    """A link shows one verdict of one paper; the counts beside the verdicts are those of the paper; without one all stand on the board."""
    from tests.kit import opened
    from tests.test_fused_page import board_keys

    ledger = verdicts(study_runs().runs).set_index("key")
    app = opened("claims", paper="ndt", verdict="fails")
    wanted = ledger[(ledger["name"] == "ndt") & (ledger["verdict"] == "fails")]
    assert set(board_keys(app)) == set(wanted.index)  # each part of a claim has its cell
    assert f"does not hold ({len(wanted)})" in app.button_group(key="focus-verdict").options
    everything = opened("claims")
    assert set(board_keys(everything)) == set(ledger.index)
    assert len(everything.get("plotly_chart")) == ledger["name"].nunique()


@pytest.mark.data
@pytest.mark.exhaustive
def test_stored_verdicts_are_those_of_the_tests() -> None:
    """The stored verdicts of the shipped runs equal the verdicts of running every test again."""
    shipped_runs = study_runs([SHIPPED]).runs
    stored, fresh = verdicts(shipped_runs), judged(shipped_runs)
    for column in ("key", "verdict", "evidence", "parts"):
        pd.testing.assert_series_equal(stored[column].map(plain), fresh[column].map(plain), check_names=False)
    for stored_effect, fresh_effect in zip(stored["effect"], fresh["effect"], strict=True):
        assert (stored_effect is None) == (fresh_effect is None)
        if stored_effect is not None:
            assert (stored_effect.unit, stored_effect.of) == (fresh_effect.unit, fresh_effect.of)
            assert stored_effect.value == pytest.approx(fresh_effect.value)
            assert (stored_effect.low is None) == (fresh_effect.low is None)
            assert stored_effect.low is None or stored_effect.low == pytest.approx(fresh_effect.low)


def plain(value: object) -> object:
    """Parts without their effects, which are compared as numbers."""
    return [(rows, finding.verdict, finding.evidence) for rows, finding in value] if isinstance(value, tuple) else value


def test_ids_are_those_of_the_stored_verdicts() -> None:
    """Links and stored verdicts rest on the ids: the claims of each built-in paper have the stored keys, each once, in the same order."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    for name in built_in():
        assert [claim.key(name) for claim in claims_of(find_paper(name))] == list(stored[name]["found"])
    assert set(stored) == set(built_in())


@pytest.mark.exhaustive
def test_verdicts_are_kept_for_the_same_runs_only(tmp_path: Path) -> None:
    """Stored verdicts are used only for the runs that the store names; other runs, and a damaged store, are judged again."""
    file = tmp_path / "verdicts.json"
    store_verdicts([], file=file)
    lied = file.read_text(encoding="utf-8").replace("unjudged", "holds")
    file.write_text(lied, encoding="utf-8")
    run = made_run(tmp_path, "sst2", "vanilla")
    assert set(verdicts([], ["ndt"], file=file).query("against == 'runs here'")["verdict"]) == {"holds"}
    assert set(verdicts([run], ["ndt"], file=file).query("against == 'runs here'")["verdict"]) == {"unjudged"}
    file.write_text("{", encoding="utf-8")
    assert set(verdicts([], ["ndt"], file=file).query("against == 'runs here'")["verdict"]) == {"unjudged"}


@pytest.mark.parametrize("kind", ["printed", "measured"])
def test_verdicts_are_judged_again_after_a_table_of_their_paper_has_changed(kind: str, tmp_path: Path) -> None:
    """Claims read printed and measured tables, so a changed digit there makes stored verdicts stale."""
    folder = Path(shutil.copytree(find_paper("ndt").folder, tmp_path / "ndt"))
    paper = replace(find_paper("ndt"), folder=folder)
    before = digest_of_sources(paper, [])
    assert before == digest_of_sources(find_paper("ndt"), [])
    table = next(path for path in sorted((folder / kind).glob("*.csv")))
    table.write_text(table.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert digest_of_sources(paper, []) != before


@pytest.mark.exhaustive
def test_signs_are_minus_signs_and_names_keep_their_hyphens() -> None:
    silhouette_evidence = judged([]).set_index("claim").loc["Silhouette and accuracy are correlated on the binary tasks", "evidence"]
    assert "SST-2 " in silhouette_evidence

"""Do NDT's components specialise? Counts of habits from stored tables, and verdicts that hold, fail, or lack runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from sentviz.analysis.claim import Finding
from sentviz.analysis.maps.specialise import FILE, deals, layers_apart, verdict
from sentviz.charts.gallery import make
from sentviz.charts.look import LOOKS
from sentviz.charts.subjects import Study
from sentviz.errors import InputError
from sentviz.papers.ndt import figures, specialisation
from sentviz.papers.ndt.claims import CLAIMS
from sentviz.papers.ndt.specialisation import habits, habits_needed, table
from sentviz.papers.ndt.study import DATASETS
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import find_paper
from tests.charts import data_traces
from tests.kit import SHIPPED
from tests.studies import ndt_claim

ADDED = "The components of NDTs that add their maps specialise on distinct words"
SUBTRACTED = "The components of models that subtract maps specialise on distinct words, on each data set with enough runs"
MORE = "Components that are subtracted specialise more than components that are added"
DEALS = {2: 35, 3: 5_775, 4: 2_627_625}  # ways to deal four heads to each of C components
NAMES = {"IMDb": "imdb", "SST-2": "sst2", "Twitter": "twitter_financial"}
SPECIALISED = [
    f"{ADDED}, on every data set",
    *(f"{ADDED} on {name}" for name in NAMES),
    SUBTRACTED,
    f"{MORE}, on each data set with enough runs",
    *(f"{MORE} on {name}" for name in ("SST-2", "Twitter")),
]


def planted(
    adds: Sequence[int], subtracts: Sequence[int], data: str = "sst2", sizes: Mapping[str, Sequence[float]] | None = None
) -> pd.DataFrame:
    """Return measured runs that add or subtract, by their numbers of habits; `sizes`: mean |lambda| of each run by kind, else all alike."""
    mixing = {"adds": ("unit", "nonneg", "free"), "subtracts": ("symmetric",)}
    rows = [
        (data, f"ndt-{mixing[kind][i % len(mixing[kind])]}-{2 + i % 3}", mixing[kind][i % len(mixing[kind])], 2 + i % 3, kind, i,
         f"{data}/{kind}-{i}", count, 12, 3, DEALS[2 + i % 3], 0.6, 0.5, sizes[kind][i] if sizes else 0.2,
         2 * (kind == "subtracts"), 2)
        for kind, counts in (("adds", adds), ("subtracts", subtracts))
        for i, count in enumerate(counts)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=specialisation.COLUMNS)


def judged(statement: str, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> Finding:
    def of(runs: Any, datasets: Sequence[str] = tuple(DATASETS)) -> pd.DataFrame:
        return frame[frame["data"].isin(list(datasets))]

    monkeypatch.setattr(specialisation, "habits", of)
    return ndt_claim(statement, "runs here")([])


def test_chance_allows_two_habits_of_twelve() -> None:
    """Three of twelve at 5 % each are rarer than one run in twenty, two are not: binomial probabilities added up."""

    def reached(least: int) -> float:
        return sum(comb(12, k) * 0.05**k * 0.95 ** (12 - k) for k in range(least, 13))

    assert reached(habits_needed(12)) < 0.05 < reached(habits_needed(12) - 1)


def test_ways_to_deal_heads_are_counted_one_by_one() -> None:
    """Eight maps fall into two groups of four in 35 ways, listed; so the smallest p of a habit with C = 2 is 1 / 35."""
    groups = {frozenset([chosen, tuple(k for k in range(8) if k not in chosen)]) for chosen in combinations(range(8), 4)}
    assert deals(2, 4) == len(groups) == DEALS[2] and deals(3, 4) == DEALS[3] and deals(4, 4) == DEALS[4]


@pytest.mark.parametrize("statement", [s for s in SPECIALISED if s.startswith(ADDED)])
def test_no_significance_never_refutes_that_added_components_specialise(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = NAMES.get(statement.rpartition(" ")[2], "sst2")
    few, many = [0, 1, 2, 2, 1, 0], [3, 5, 4, 8, 7, 12]
    assert judged(statement, planted(many, [0] * 6, data), monkeypatch).verdict == "holds"
    none = judged(statement, planted(few * 4, [9] * 6, data), monkeypatch)
    assert none.verdict == "open" and "in 0 of 24 runs in more than the 2 that chance allows" in none.evidence
    assert judged(statement, planted(few + many, [], data), monkeypatch).verdict == "open"
    assert judged(statement, planted(few[:5], [], data), monkeypatch).verdict == "unjudged"  # five runs are too few for a sign test
    assert judged(statement, planted([], many, data), monkeypatch).verdict == "unjudged"


def test_the_evidence_names_seeds_deals_and_the_mean_over_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = judged(f"{ADDED} on SST-2", planted([0, 1, 2, 2, 1, 0, 1], []), monkeypatch).evidence
    for part in ("35 ways if C = 2 (smallest p 0.029)", "3 configurations with 2 to 3 seeds each", "habits are means over heads"):
        assert part in evidence
    assert "head by head, the cosine of two components is 0.60 if they add their maps, that of two heads of one component 0.50" in evidence
    both = judged(f"{MORE} on SST-2", planted([0, 1, 2, 2, 1], [7, 8, 8]), monkeypatch).evidence
    assert both.endswith("in 0 of 10 layers if they add their maps, 6 of 6 layers if they subtract maps")


def test_layers_in_which_components_are_apart_head_by_head() -> None:
    """A layer counts if the interval of each pair of components lies below that of each component's heads; one that meets it is enough."""

    def table(*layers: Sequence[tuple[int, int, float, float]]) -> pd.DataFrame:
        rows = [("cosine", layer, *cell) for layer, cells in enumerate(layers) for cell in cells]
        rows.append(("jensen_shannon", 0, 0, 1, 0.9, 0.95))
        return pd.DataFrame(rows, columns=["measure", "layer", "component", "other", "low", "high"])

    heads = [(0, 0, 0.50, 0.55), (1, 1, 0.45, 0.52), (2, 2, 0.6, 0.7)]
    below, meets = [*heads, (0, 1, 0.3, 0.4), (0, 2, 0.3, 0.44)], [*heads, (0, 1, 0.3, 0.4), (1, 2, 0.3, 0.46)]
    assert layers_apart(table(below, meets)) == (1, 2) and layers_apart(table(below, below)) == (2, 2)


def test_a_claim_on_every_data_set_is_judged_on_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set without enough runs cannot be judged; the others decide."""
    frame = pd.concat([planted([5] * 8, [0] * 4, "sst2"), planted([4], [], "imdb")], ignore_index=True)
    parts = dict(judged(f"{ADDED}, on every data set", frame, monkeypatch).parts)
    assert {title: part.verdict for title, part in parts.items()} == {
        title: "holds" if data == "sst2" else "unjudged" for data, title in DATASETS.items()
    }


def test_whether_subtracted_components_specialise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(SUBTRACTED, planted([0] * 6, [8] * 6), monkeypatch).verdict == "holds"
    assert judged(SUBTRACTED, planted([8] * 6, [2] * 6), monkeypatch).verdict == "open"
    assert judged(SUBTRACTED, planted([], [2, 8] * 3), monkeypatch).verdict == "open"
    assert judged(SUBTRACTED, planted([8] * 6, [8] * 5), monkeypatch).verdict == "unjudged"


@pytest.mark.parametrize("statement", [s for s in SPECIALISED if s.startswith(MORE)])
def test_which_kind_specialises_more(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = NAMES.get(statement.rpartition(" ")[2], "sst2")
    monkeypatch.setattr(specialisation, "DRAWS", 2_000)
    assert judged(statement, planted([0, 1, 1, 2, 0], [7, 8, 8, 7], data), monkeypatch).verdict == "holds"
    assert judged(statement, planted([7, 8, 8, 7, 8], [0, 1, 1, 2], data), monkeypatch).verdict == "fails"
    assert judged(statement, planted([0, 8, 1, 7, 4], [7, 0, 8, 1], data), monkeypatch).verdict == "open"
    assert judged(statement, planted([0, 1], [8], data), monkeypatch).verdict == "unjudged"  # no order of three runs is rare enough
    assert judged(statement, planted([0, 1], [], data), monkeypatch).verdict == "unjudged"


def test_kinds_are_compared_at_the_same_size_of_lambda(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim holds and fails only if the runs with |lambda| in both ranges agree; without enough of them it is open."""
    statement, sizes = f"{MORE} on SST-2", [0.1, 0.15, 0.2, 0.2, 0.15, 0.2, 0.15, 0.15]
    alike, larger = {"adds": sizes, "subtracts": [0.15, 0.2, 0.5, 0.4]}, {"adds": sizes, "subtracts": [0.6, 0.5, 0.5, 0.4]}
    few, many = [0, 1, 1, 2, 0, 1, 2, 0], [7, 8, 8, 7]
    finding = judged(statement, planted(few, many, sizes=alike), monkeypatch)
    assert finding.verdict == "holds" and "7 and 2 runs have a |λ| in both ranges: +6.5 habits, p = 0.02" in finding.evidence
    assert "0.10 to 0.20 if they add their maps, 0.15 to 0.50 if they subtract maps" in finding.evidence
    monkeypatch.setattr(specialisation, "DRAWS", 2_000)
    assert judged(statement, planted([8 - n for n in few], [0, 1, 0, 1], sizes=alike), monkeypatch).verdict == "fails"
    assert judged(statement, planted(few, [1, 0, 9, 9], sizes=alike), monkeypatch).verdict == "open"  # only the large lambdas differ
    apart = judged(statement, planted(few, many, sizes=larger), monkeypatch)
    assert apart.verdict == "open" and "so no runs have the same |λ|" in apart.evidence
    single = judged(statement, planted(few, many, sizes=larger | {"subtracts": [0.15, 0.5, 0.5, 0.4]}), monkeypatch)
    assert single.verdict == "open" and "too few for a test" in single.evidence


@pytest.mark.exhaustive
def test_data_sets_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set on which both kinds specialise more decides nothing: kinds are exchanged only within a data set."""
    frame = pd.concat([planted([9, 8, 9, 8, 9], [9, 8], "imdb"), planted([1, 0], [1, 0, 1, 0, 1], "sst2")], ignore_index=True)
    assert judged(f"{MORE}, on each data set with enough runs", frame, monkeypatch).verdict == "open"


def test_the_opening_speaks_of_the_data_set_that_was_judged() -> None:
    """The first lines rest on claims on SST-2, name it, and say that each configuration has one seed."""
    opening = find_paper("ndt").opening
    assert opening is not None and "In our trainings on SST-2, components" in " ".join(opening.result.split())
    named = set(re.findall(r"ndt-([0-9a-f]{6})", opening.result)) & {claim.id for claim in CLAIMS[: len(SPECIALISED)]}
    assert {claim.on for claim in CLAIMS if claim.id in named} == {"SST-2"}
    assert "one seed per configuration, as means over heads" in " ".join(opening.question.split())


@pytest.mark.exhaustive
@SHIPPED
def test_shipped_runs_are_counted_as_their_page_counts_them() -> None:
    """Each run's number is the one in the first sentence of its page; a run that subtracts has negative lambdas or is a DT."""
    runs = study_runs().runs
    by_name, frame = {run.name: run for run in runs}, habits(runs)
    assert set(frame["data"]) == set(DATASETS) and len(frame) >= 21
    for row in frame.to_dict("records"):
        assert f"in {row['habits']} of {row['of']} habits" in verdict(by_name[str(row["run"])].frame(FILE))[0]
    assert set(frame.loc[frame["mixing"].isin(["unit", "nonneg"]), "kind"]) == {"adds"}
    assert set(frame.loc[frame["mixing"] == "differential", "kind"]) == {"subtracts"}
    assert len(table(runs).frame) == len(frame)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_figure_draws_each_run(theme: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.concat([planted([0, 1, 2], [8], "sst2"), planted([4], [5], "imdb")], ignore_index=True)
    monkeypatch.setattr(figures, "habits", lambda runs: frame)
    monkeypatch.setattr(figures, "sourced", lambda figure, *runs: figure)
    runs: list[Any] = [SimpleNamespace(name=name) for name in frame["run"]]
    figure = replace(make("component-habits", Study.of("all", runs)), look=LOOKS[theme])
    names = [str(text).split(": ")[0] for trace in data_traces(figure) if trace.hovertext is not None for text in trace.hovertext]
    assert sorted(names) == sorted(frame["run"]) and len(figure.frame) == len(frame)
    assert "Of the runs that add their maps, 1 of 4 reach more." in figure.caption and "2 of 2 reach more" in figure.caption
    assert "as a mean over heads" in figure.caption and "in 35 ways, so p is at least 0.029" in figure.caption
    assert [note.text for note in figure.plot.layout.annotations if note.font.size == 13] == ["IMDb", "SST-2"]
    assert [(shape.x0, shape.x1) for shape in figure.plot.layout.shapes] == [(-0.6, 2.5)] * 2  # each panel has a grey band


@pytest.mark.exhaustive
@SHIPPED
def test_the_table_names_as_many_habits_as_it_counts() -> None:
    """Habits stand in a column per layer, and the columns fit next to each other into a page of 1440 pixels."""
    drawn = table(study_runs().runs)
    named = drawn.frame[["layer_1", "layer_2"]].replace("none", "").map(lambda text: len(text.split(", ")) if text else 0).sum(axis=1)
    assert named.tolist() == drawn.frame["habits"].tolist()
    for column in drawn.columns[-2:]:
        assert column.width and max(map(len, drawn.frame[column.name])) * 6.7 < column.width


def test_without_measured_runs_the_command_is_named() -> None:
    for draw in (lambda: make("component-habits", Study.of("all", [])), lambda: table([])):
        with pytest.raises(InputError, match="sentviz specialise RUN"):
            draw()


def test_the_question_is_the_first_row_of_the_board() -> None:
    assert [claim.statement for claim in CLAIMS[: len(SPECIALISED)]] == SPECIALISED

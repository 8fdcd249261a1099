"""Accuracies of the hardmax paper's models by setting and dimension: rows, growth, and the public code's beside them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.papers.hardmax.study import PUBLIC, beside, by_row, by_setting, trained
from sentviz.papers.hardmax.study import surveyed as with_leaders
from sentviz.papers.studies.compare_configurations import points
from sentviz.runs.store import Run
from tests.studies import made_run
from tests.test_hardmax_claims import GROWS, HERE, REACHED, judge

Shelf = Callable[..., list[Run]]
WIDE = "wide-512"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """Runs by how many of 200 rows they get wrong, by dimension; seeds err on other rows."""
    root, planted_runs = tmp_path_factory.mktemp("planted"), dict[tuple[int, int, int, str], Run]()

    def of(wrong: dict[int, int], seeds: int = 2, variant: str = "") -> list[Run]:
        for d, count in wrong.items():
            for seed in range(seeds):
                if (d, count, seed, variant) not in planted_runs:
                    folder = root / f"{d}-{count}-{seed}{variant}"
                    planted_runs[d, count, seed, variant] = made_run(
                        folder, "imdb", f"hardmax-d{d}", seed, wrong=count, first_wrong=7 * seed, variant=variant
                    )
        return [planted_runs[d, count, seed, variant] for d, count in wrong.items() for seed in range(seeds)]

    return of


@pytest.mark.slow
def test_accuracy_by_dimension(shelf: Shelf) -> None:
    rising = {2: 80, 4: 54, 8: 30, 16: 4}
    up = judge(GROWS, shelf(rising))
    assert up.verdict == "holds" and "d 8 to 16: +13.00" in up.evidence and "2 against 2 seeds" in up.evidence
    assert up.effect and up.effect.of.endswith("128 words")
    assert judge(GROWS, shelf(rising | {8: 80})).verdict == "fails"  # d = 8 is worse than d = 4
    assert judge(GROWS, shelf(rising | {8: 54})).verdict == "open"  # d = 8 is as good as d = 4
    assert judge(GROWS, shelf({2: 80, 4: 54, 8: 30})).verdict == "open"  # d = 16 is not available, and could be worse
    assert judge(GROWS, shelf(rising, seeds=1)).verdict == "unjudged"  # other seeds unknown
    assert judge(GROWS, shelf({2: 10})).verdict == "unjudged"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_dimensions_are_compared_within_one_setting(shelf: Shelf) -> None:
    """Accuracy that grows only from one setting to the other does not grow with the dimension; each setting is a part of its own."""
    flat, rising = dict.fromkeys(PUBLIC, 60), {2: 80, 4: 54, 8: 30, 16: 4}
    mixed = judge(GROWS, [*shelf({2: 80, 4: 80}), *shelf({8: 10, 16: 10}, variant=WIDE)])
    assert mixed.verdict == "open" and "d 4 to 8" not in mixed.evidence
    both = judge(GROWS, [*shelf(rising), *shelf(flat, variant=WIDE)])
    assert [(name, part.verdict) for name, part in both.parts] == [("128 words", "holds"), ("512 words, wide start", "open")]
    assert both.verdict == "open"
    one_seed = judge(GROWS, [*shelf(rising, seeds=1), *shelf(rising, variant=WIDE)])
    assert one_seed.verdict == "holds" and one_seed.effect and one_seed.effect.of.endswith("512 words, wide start")


@pytest.mark.slow
@pytest.mark.exhaustive
def test_accuracies_beside_the_public_code(shelf: Shelf) -> None:
    """Public accuracies are 79.1 to 88.2 %: wrong in 42 to 24 of 200 rows. Each dimension is a part of its own."""
    few, many, near = dict.fromkeys(PUBLIC, 5), dict.fromkeys(PUBLIC, 80), {2: 42, 4: 35, 8: 30, 16: 24}
    assert judge(REACHED, shelf(few)).verdict == "holds"
    assert judge(REACHED, shelf(many)).verdict == "fails"
    fallen = judge(REACHED, shelf(few | {16: 80}))
    assert [part.verdict for _, part in fallen.parts] == ["holds", "holds", "holds", "fails"] and fallen.verdict == "fails"
    assert fallen.p is not None and fallen.p <= 0.05
    assert judge(REACHED, shelf(near)).verdict == "open"
    parts = dict(judge(REACHED, shelf({2: 5})).parts)
    assert parts["d = 2, 128 words"].verdict == "holds" and parts["d = 4, 128 words"].verdict == "unjudged"
    finding = judge(REACHED, shelf(few, seeds=1))
    assert finding.verdict == "unjudged" and "one seed (public code 85.05\u00a0%)" in finding.evidence


@pytest.mark.slow
def test_another_number_of_words_does_not_reach_the_public_accuracies(shelf: Shelf) -> None:
    """The public code reads 128 words: runs with 512 are named beside those with 128, and decide nothing."""
    few = dict.fromkeys(PUBLIC, 5)
    wide = judge(REACHED, shelf(few, variant=WIDE))
    assert wide.verdict == "unjudged" and "no run of d = 2, 128 words is installed; 512 words, wide start: 97.5\u00a0%" in wide.evidence
    assert judge(REACHED, [*shelf(dict.fromkeys(PUBLIC, 80)), *shelf(few, variant=WIDE)]).verdict == "fails"
    assert "learns from 70 % of the reviews" in wide.evidence


@pytest.mark.slow
def test_no_seed_is_lost(shelf: Shelf) -> None:
    """The mean of a dimension is taken over all its seeds, in any order of the runs; a run with another name is ignored."""
    two, single_seed = shelf({2: 20}), shelf({4: 60}, seeds=1)
    unlisted = made_run(single_seed[0].folder.parents[1], "imdb", "hardmax-d2", 3, wrong=90, name="tried-out")
    assert {d: [run.config["recipe"]["seed"] for run in seeds] for d, seeds in trained([*single_seed, *two[::-1], unlisted]).items()} == {
        2: [0, 1],
        4: [0],
    }
    table = beside([*two, *shelf({2: 60}, seeds=1)[:0], *single_seed]).set_index("d")
    assert table.loc[2, ["value", "seeds"]].tolist() == [0.9, 2] and table.loc[4, ["value", "seeds"]].tolist() == [0.7, 1]
    assert points(by_row(two))["value"].tolist() == [0.9, 0.9]


@pytest.mark.slow
def test_rows_name_their_setting(shelf: Shelf) -> None:
    """Table and figure have a row for each dimension and setting; the public number stands beside the setting with its 128 words."""
    runs = [*shelf({2: 20, 8: 30}), *shelf({8: 60}, variant=WIDE)]
    table, names = beside(runs), ["d = 2, 128 words", "d = 8, 128 words", "d = 8, 512 words, wide start"]
    assert table["model"].tolist() == names == list(dict.fromkeys(points(by_row(runs))["model"]))
    assert table["printed"].tolist()[:2] == [PUBLIC[2], PUBLIC[8]] and table["printed"].isna().tolist() == [False, False, True]
    assert table["value"].tolist() == pytest.approx([0.9, 0.85, 0.7])
    study = Study("all")
    vars(study)["runs"] = runs
    drawn = make("hardmax-accuracy", study)
    assert list(drawn.plot.layout.yaxis.ticktext) == drawn.frame["model"].tolist() == names
    assert drawn.plot.layout.margin.l >= 6 * len(names[-1])  # long names are not cut


@pytest.mark.slow
def test_leaders_are_read_of_runs_that_have_weights_and_were_counted(shelf: Shelf) -> None:
    """Of two dimensions unless another is asked for, and of every seed."""
    has = {"both": ("model.safetensors", "leaders.parquet"), "weights": ("model.safetensors",), "leaders": ("leaders.parquet",)}

    def holding(run: Run, what: str) -> Run:
        changed = Run(run.name, run.folder)
        vars(changed)["config"] = run.config | {"files": dict.fromkeys(has[what], "")}
        return changed

    (first, second), four = shelf({2: 20}), shelf({4: 60})
    both = [holding(run, "both") for run in (first, second)]
    assert with_leaders([*both, *(holding(run, "both") for run in four)]) == both
    assert [run.name for run in with_leaders([holding(run, "both") for run in four], 4)] == [run.name for run in four]
    for what in ("weights", "leaders"):
        assert with_leaders([both[0], holding(second, what)]) == both[:1]
    assert with_leaders([]) == []


# ---- what ships


@pytest.mark.slow
@pytest.mark.skipif(len(HERE) < 4, reason="the hardmax runs are not in checkpoints/")
def test_numbers_beside_the_public_ones_are_the_runs_own() -> None:
    """Each row against metrics.json, read here."""
    table = beside(HERE).set_index("model")
    assert set(table.dropna(subset="printed")["d"]) == set(PUBLIC) and len(table) == 2 * len(PUBLIC)
    for variant, by_d in by_setting(HERE).items():
        for d, own in by_d.items():
            row = table.loc[f"d = {d}, {'512 words, wide start' if variant else '128 words'}"].to_dict()
            seeds = [run.metrics()["test"] for run in own]
            mean = sum(metrics["accuracy"]["value"] for metrics in seeds) / len(seeds)
            assert (row["value"], row["n"], row["seeds"]) == (pytest.approx(mean), seeds[0]["n"], len(seeds))
            assert {run.shape.max_length for run in own} == {512 if variant else 128}

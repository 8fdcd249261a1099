"""The study of Sentiment-Fused Attention: the paper's tables against the raw files, the rest against counts on made-up runs."""

from __future__ import annotations

import csv
import json
import statistics as slow
from dataclasses import replace
from math import comb
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments.fused import coverage as coverage_of_sets
from sentviz.charts.colours import palette
from sentviz.charts.gains import gain_dots
from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.data import datasets
from sentviz.data.lexicon import LEXICONS, Lexicon
from sentviz.errors import InputError
from sentviz.io.spreadsheet import store_csv
from sentviz.papers.fused import coverage
from sentviz.papers.fused import study as fused
from sentviz.papers.fused import tables as fused_tables
from sentviz.papers.fused.claims import welch
from sentviz.papers.fused.formula_claims import simulated
from sentviz.papers.studies.claims import claims_of, judged
from sentviz.papers.studies.export_paper import export_paper
from sentviz.runs.registry import papers
from sentviz.runs.store import Run
from sentviz.training.recipe import Recipe
from tests.charts import data_traces
from tests.kit import toy_splits
from tests.studies import N, made_run, made_seeds, with_heads

pytestmark = pytest.mark.slow  # trains, or reads the whole shelf

ROOT = Path(__file__).parents[1]
TABLES = Path(fused.__file__).parent / "printed"
CLAIM = "Every setting gains over the baseline on NSMC"
NAMES = {"all_heads": "cls-all", "all_heads_scaled": "cls-all-scaled", "last_head": "cls-last", "last_head_scaled": "cls-last-scaled"}


def rows(name: str) -> list[dict[str, str]]:
    with (TABLES / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def points(table: str, column: str, kind: str, base: str, task: str = "") -> dict[str, float]:
    """Return the gain of a row over its baseline in points by encoder, from the raw file."""
    values = {row[column]: row for row in rows(table) if not task or row["task"] == task}
    return {name: float(values[kind][name]) - float(values[base][name]) for name in fused.ENCODERS}


def evidence(statement: str, runs: list[Run] | None = None) -> tuple[str, str]:
    row = judged(runs or [], ["fused"]).set_index("claim").loc[statement]
    return str(row["verdict"]), str(row["evidence"])


# ---- the paper's tables


def test_every_printed_table_and_figure_is_listed_with_a_page_that_exists() -> None:
    """The paper's three tables and five figures are on the list, and each figure and table can be opened."""
    names = {item.name for item in papers()["fused"].items() if item.state != "not"}
    assert names >= {*(f"Table {i}" for i in (1, 2, 3)), *(f"Figure {i}" for i in (1, 2, 3, 4, 5))}


def test_printed_tables_are_complete() -> None:
    """The stored tables are complete: six settings of five encoders, and task rows for each."""
    assert len(fused.printed_accuracies()) == 6 * 5
    assert len(fused.printed_gains()) == 5 * 5
    assert len(fused.printed_tasks()) == 4 * 5
    assert not fused.printed_tasks().isna().any(axis=None)
    assert {task.printed for task in fused.TASKS} - {""} == {row["task"] for row in rows("out_of_domain")}


@pytest.mark.parametrize(("kind", "model"), NAMES.items())
def test_table_2_is_recomputed_from_table_1(kind: str, model: str) -> None:
    """Mean, deviation and variance equal those of the standard library; the paper's σ is the variance and σ² the deviation."""
    gains = list(points("nsmc_accuracy", "injection", kind, "baseline").values())
    row = fused.statistics().set_index("model").loc[model]
    assert row["mean"] == pytest.approx(slow.mean(gains))
    assert row["deviation"] == pytest.approx(slow.stdev(gains))
    assert row["variance"] == pytest.approx(slow.variance(gains))
    printed = next(entry for entry in rows("gain_statistics") if entry["injection"] == kind)
    assert float(printed["printed_sigma"]) == pytest.approx(slow.variance(gains), abs=6e-4)
    assert float(printed["printed_sigma_squared"]) == pytest.approx(slow.stdev(gains), abs=6e-4)
    assert float(printed["mean_gain_points"]) == pytest.approx(slow.mean(gains), abs=6e-4)


@pytest.mark.exhaustive
def test_claims_about_its_tables_from_the_raw_files() -> None:
    """The counts in the evidence equal loops over the CSV files."""
    gains = {kind: points("nsmc_accuracy", "injection", kind, "baseline") for kind in (*NAMES, "xia2021_hadamard")}
    xia = gains.pop("xia2021_hadamard")
    up = sum(value > 0 for row in gains.values() for value in row.values())
    assert evidence("Every setting gains over the baseline with every encoder")[1].startswith(f"{up} of 20")
    above = sum(row[name] > xia[name] for row in gains.values() for name in row)
    verdict, words = evidence("Every setting is better than Xia et al.'s product with every encoder")
    assert words.startswith(f"{above} of 20") and (verdict == "holds") == (above == 20)
    lost = sum(value < 0 for value in xia.values())
    verdict, words = evidence("Xia et al.'s product does not gain with every encoder, unlike every setting")
    assert f"{lost} of 5" in words and "kc-electra" in words and verdict == "holds"
    verdict, words = evidence("Mean gains, except kr-bert's, are 250 to almost 500 more right predictions")
    more = {name: 500 * slow.mean(row[name] for row in gains.values()) for name in fused.ENCODERS}
    for name, value in more.items():
        assert f"{name} {value:.0f}" in words or (name == "kr-bert" and f"modest: {value:.0f}" in words)
    assert verdict == "holds" and all(250 <= value < 500 for name, value in more.items() if name != "kr-bert")
    changes = [
        value
        for task in {row["task"] for row in rows("out_of_domain")}
        for value in points("out_of_domain", "variant", "last_head_scaled", "baseline", task).values()
    ]
    verdict, words = evidence("Out of domain 13 of 20 cases rise, 5 fall and 2 stay")
    counts = sum(v > 1e-9 for v in changes), sum(v < -1e-9 for v in changes), sum(abs(v) < 1e-9 for v in changes)
    assert words == f"recounted: {counts[0]} of 20 rise, {counts[1]} fall, {counts[2]} stay"
    assert (verdict == "holds") == (counts == (13, 5, 2))


def test_the_best_number_stands_with_another_setting_than_the_text_says() -> None:
    """92.65 is in the row whose mean gain table 2 gives for the scaled last head."""
    best = max(rows("nsmc_accuracy"), key=lambda row: max(float(row[name]) for name in fused.ENCODERS))
    mean = slow.mean(points("nsmc_accuracy", "injection", best["injection"], "baseline").values())
    table = {row["injection"]: float(row["mean_gain_points"]) for row in rows("gain_statistics")}
    assert min(table, key=lambda kind: abs(table[kind] - mean)) == "last_head_scaled"
    verdict, words = evidence("The unscaled last head has the best accuracy, 92.65")
    assert verdict == "open" and words.count("92.65\u00a0% (kc-electra)") == 2


@pytest.mark.exhaustive
def test_claims_that_rest_on_the_names_of_the_rows_are_open() -> None:
    """The damaged labels exchange the names of each setting and its scaled or unscaled twin; no number changes its row."""
    raw = {kind: points("nsmc_accuracy", "injection", kind, "baseline") for kind in NAMES}
    twin = {"all_heads": "all_heads_scaled", "last_head": "last_head_scaled"}
    twin |= {second: first for first, second in twin.items()}
    by_labels = fused.printed_gains("labels").set_index(["model", "encoder"])["value"]
    for kind, model in NAMES.items():
        for name in fused.ENCODERS:
            assert 100 * by_labels[model, name] == pytest.approx(raw[twin[kind]][name])
    largest = max(raw, key=lambda kind: slow.mean(raw[kind].values()))
    least = min(raw, key=lambda kind: slow.stdev(raw[kind].values()))
    assert (NAMES[largest], NAMES[twin[largest]]) == ("cls-last", fused.CHOSEN)
    assert (NAMES[least], NAMES[twin[least]]) == (fused.CHOSEN, "cls-last")
    assert evidence("The unscaled last head has the largest mean gain")[0] == "open"
    assert evidence("Last head ÷ √d has the smallest spread of gains")[0] == "open"


@pytest.mark.exhaustive
def test_equal_spreads_cannot_be_refuted() -> None:
    """The p value is that of Pitman and Morgan's t from sums and differences of paired gains, n = 5."""
    from scipy.stats import t

    own = list(points("nsmc_accuracy", "injection", "last_head_scaled", "baseline").values())
    raw = []
    for kind in ("all_heads", "all_heads_scaled", "last_head"):
        baseline = list(points("nsmc_accuracy", "injection", kind, "baseline").values())
        a, b = slow.variance(own), slow.variance(baseline)
        r = slow.correlation(own, baseline)
        statistic = (b - a) * np.sqrt(3) / (2 * np.sqrt(a * b * (1 - r**2)))
        raw.append(2 * t.sf(abs(statistic), 3))
    verdict, words = evidence("Last head ÷ √d is more stable than the other settings")
    assert verdict == "open"
    assert f"p = {min(1, 3 * min(raw)):.2g}" in words


def test_a_neutral_row_stays_and_its_column_moves() -> None:
    """σ of 1/3 each cancels in the first row, and other rows shift weight to and from token 0, as loops over one small case do."""
    own, towards = simulated(trials=20)
    assert own.max() < 1e-14 < 1e-5 < towards.min()
    scores = np.array([[0.3, -1.0, 2.0], [0.1, 0.5, -0.2], [1.0, 0.0, 0.4]])
    polarity = [(1 / 3, 1 / 3, 1 / 3), (0.8, 0.1, 0.1), (0.1, 0.2, 0.7)]
    moved = []
    for i in range(3):
        plain = [np.exp(s) for s in scores[i]]
        with_ = [np.exp(s + sum(a * b for a, b in zip(polarity[i], polarity[j], strict=True))) for j, s in enumerate(scores[i])]
        moved.append([w / sum(with_) - p / sum(plain) for w, p in zip(with_, plain, strict=True)])
    assert max(map(abs, moved[0])) < 1e-15
    assert abs(moved[1][0]) > 1e-3
    assert evidence("With the same Q and K, σ cannot change the row of a neutral [CLS]")[0] == "holds"


# ---- runs


@pytest.fixture
def several(tmp_path: Path) -> list[Run]:
    """Return runs of NSMC: baseline and last-scaled with three seeds, two more settings and Xia et al. with one."""
    seeds = made_seeds(tmp_path, "nsmc", "cls", 3, wrong=40)
    seeds += made_seeds(tmp_path, "nsmc", "cls-last-scaled", 3, wrong=10, first_wrong=100)
    seeds += [made_run(tmp_path, "nsmc", "cls-all", wrong=41), made_run(tmp_path, "nsmc", "cls-last", wrong=80)]
    return [*seeds, made_run(tmp_path, "nsmc", "cls-xia", wrong=60)]


def test_gains_by_hand(several: list[Run]) -> None:
    """Gains are mean differences with Holm's correction in the paper's order; with one seed each the test is McNemar's, without a
    verdict.
    """
    frame = fused.gains(several, "nsmc").set_index("model")
    assert list(frame.index) == ["cls-xia", "cls-all", "cls-last", "cls-last-scaled"]
    assert set(frame["kind"]) == {"over seeds"} and set(frame["base_seeds"]) == {3}
    wins = {"cls-xia": (0, 20), "cls-all": (0, 1), "cls-last": (0, 40), "cls-last-scaled": (40, 10)}  # rows only one side answers rightly
    for model, (gained, lost) in wins.items():
        assert frame.loc[model, "difference"] == pytest.approx((gained - lost) / N)
    p = frame["p"].to_dict()
    for rank, model in enumerate(sorted(p, key=p.__getitem__)):
        assert frame.loc[model, "adjusted"] >= min(1, (4 - rank) * p[model]) - 1e-12
    assert frame.loc["cls-last-scaled", "seeds"] == 3 and frame.loc["cls-last-scaled", "spread"] == pytest.approx(0)
    assert frame.loc["cls-all", "spread"] != frame.loc["cls-all", "spread"]
    first = {run.configuration: run for run in reversed(several)}
    single = fused.gains(first.values(), "nsmc").set_index("model")
    assert set(single["kind"]) == {"one seed"} and set(single["verdict"]) == {"cannot be told"}
    for model, (gained, lost) in wins.items():
        n = gained + lost
        assert single.loc[model, "p"] == pytest.approx(min(1.0, 2 * sum(comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n))
    assert fused.gains([], "nsmc").empty


@pytest.mark.exhaustive
def test_the_answer_counts_what_gains_loses_and_is_missing(several: list[Run], tmp_path: Path) -> None:
    answer = fused.answer(several, "nsmc")
    assert answer.short == "NSMC: of 4 settings 1 gains, 1 loses, 1 has no significant difference, 1 has no run"
    assert answer.word == "cannot be told"
    assert answer.baseline == pytest.approx(0.8)
    assert "Last head ÷ √d +15.00" in answer.numbers and "3 against 3 seeds" in answer.numbers and "n = 200" in answer.numbers
    means = fused.statistics().set_index("model")["mean"]
    room = sum(100 * row["high"] < means[row["model"]] for row in answer.rows.to_dict("records"))
    assert f"+0.55 to +0.60 points for pretrained encoders, are above {room} of {len(answer.rows)} of these intervals" in answer.numbers
    good = [made_run(tmp_path, "sst2", model, wrong=10, first_wrong=100) for model in fused.INJECTED]
    good += made_seeds(tmp_path, "sst2", "cls", 2, wrong=40)
    assert (fused.answer(good, "sst2").short, fused.answer(good, "sst2").word) == ("SST-2: all 4 settings gain", "yes")
    bad = [made_run(tmp_path / "bad", "sst2", model, wrong=80) for model in fused.INJECTED]
    assert fused.answer([*bad, *good[-2:]], "sst2").word == "no"
    assert "no baseline is installed" in fused.answer(bad, "sst2").short
    assert "no injected run is installed" in fused.answer(good[-2:], "sst2").short
    assert "study fused --dataset sst2" in fused.answer(good[-2:], "sst2").numbers


@pytest.mark.exhaustive
def test_out_of_domain_by_task_and_split(tmp_path: Path) -> None:
    """Runs on KLUE-NLI that were evaluated on XNLI count for two tasks; a task with one side only is left out."""
    seeds = made_seeds(tmp_path, "klue_nli", "cls", 2, wrong=40, also=("kornli_xnli",))
    seeds += made_seeds(tmp_path, "klue_nli", "cls-last-scaled", 2, wrong=10, also=("kornli_xnli",))
    seeds += made_seeds(tmp_path, "question_pair", "cls", 2, wrong=20)
    seeds += made_seeds(tmp_path, "question_pair", "cls-last-scaled", 2, wrong=20)
    seeds += [made_run(tmp_path, "korean_hate_speech", "cls")]
    frame = fused.out_of_domain(seeds).set_index("task")
    assert list(frame.index) == ["KorNLI", "KLUE-NLI", "Question pairs"]
    assert frame.loc["KorNLI", "split"] == "kornli_xnli"
    assert frame.loc["KorNLI", "difference"] == pytest.approx(30 / N)
    assert frame.loc["KorNLI", "verdict"] == "better"
    assert frame.loc["Question pairs", "test"] == "over seeds"
    assert frame.loc["Question pairs", "verdict"] == "cannot be told"
    assert (frame["baseline"] + frame["difference"]).to_numpy() == pytest.approx(frame["injected"].to_numpy())
    without = [made_run(tmp_path / "old", "klue_nli", model) for model in ("cls", "cls-last-scaled")]
    assert list(fused.out_of_domain(without)["task"]) == ["KLUE-NLI"]
    assert fused.out_of_domain([]).empty
    assert evidence("Out of domain the injection gains in most tasks", seeds)[0] == "holds"  # two of three
    table = fused_tables.tasks(seeds)[0].set_index("task")
    assert table.loc["PAWS", "difference"] != table.loc["PAWS", "difference"]
    assert table.loc["PAWS", "kr-electra"] == pytest.approx(-0.0075)


def test_heads_are_means_over_seeds_with_their_span(tmp_path: Path) -> None:
    base = [with_heads(run, (0.1 + 0.01 * i, 0.2), (0.05, 0.06)) for i, run in enumerate(made_seeds(tmp_path, "nsmc", "cls", 3))]
    first_seed = with_heads(made_run(tmp_path, "nsmc", "cls-last-scaled"), (0.2, 0.3), (0.05, 0.06))
    frames, sources = fused.heads_by_setting([*base, first_seed], "nsmc")
    assert len(sources) == 4
    row = frames["Baseline"].query("layer == 0 and head == -1 and measure == 'from_cls'").iloc[0]
    assert (row["value"], row["low"], row["high"]) == pytest.approx((0.11, 0.1, 0.12))
    assert frames["Last head ÷ √d"].query("layer == 0 and head == -1 and measure == 'from_cls'")["low"].iloc[0] == pytest.approx(0.199)
    figure = make("cls-lines", Study.of("nsmc", [*base, first_seed]))
    assert "Baseline 3, Last head ÷ √d 1" in figure.caption and "95 % intervals of one run" in figure.caption
    dashes = {trace.name: trace.line.dash for trace in figure.plot.data if trace.showlegend}
    assert dashes == {"Baseline": "dash", "Last head ÷ √d": "solid"}
    with pytest.raises(InputError):
        make("cls-lines", Study.of("nsmc", []))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("shift", "seeds", "changes", "stays"),
    [
        (0.10, 3, "holds", "fails"),
        (0.0001, 3, "fails", "holds"),
        (0.02, 3, "open", "open"),
        (0.10, 1, "unjudged", "unjudged"),
    ],
)
def test_a_deviation_changes_stays_or_cannot_be_told(tmp_path: Path, shift: float, seeds: int, changes: str, stays: str) -> None:
    """Seeds much closer than the shift, much wider than the shift, and a single seed give the three verdicts."""
    noise = {0.10: 0.001, 0.0001: 0.0001, 0.02: 0.03}[shift]
    all_runs = []
    for model, by in (("cls", 0.0), ("cls-last-scaled", shift)):
        for i, run in enumerate(made_seeds(tmp_path, "nsmc", model, seeds)):
            values = tuple(0.2 + by + noise * (i - 1) + 0.01 * layer for layer in range(2))
            all_runs.append(with_heads(run, values, values))
    assert evidence("On NSMC the injection changes how uneven the attention of [CLS] to the others is", all_runs)[0] == changes
    assert evidence("On NSMC it changes the others' attention to [CLS] by less than a tenth", all_runs)[0] == stays


@pytest.mark.exhaustive
def test_claims_about_runs(several: list[Run], tmp_path: Path) -> None:
    """A losing setting refutes the claim; all four settings must be available and better for it to hold."""
    verdict, words = evidence("Every setting gains over the baseline on NSMC", several)
    assert verdict == "fails" and "n = 200" in words
    assert evidence("Last head ÷ √d varies least on NSMC (paper: over encoders, here: over seeds)", several)[0] == "unjudged"
    good = [made_run(tmp_path, "sst2", model, wrong=10, first_wrong=100) for model in fused.INJECTED]
    good += [*made_seeds(tmp_path, "sst2", "cls", 2, wrong=40), *made_seeds(tmp_path, "sst2", "cls-xia", 2, wrong=40)]
    assert evidence("Every setting gains over the baseline on SST-2", good)[0] == "holds"
    assert evidence("Every setting is better than Xia et al.'s product on SST-2", good)[0] == "holds"
    assert evidence("Every setting gains over the baseline on SST-2", good[1:])[0] == "open"
    frame = judged([], ["fused"])
    assert len(frame) == len(claims_of(papers()["fused"]))
    assert set(frame[frame["against"] == "runs here"]["verdict"]) == {"unjudged"}


@pytest.mark.exhaustive
def test_a_base_is_a_column_and_a_group(several: list[Run], tmp_path: Path) -> None:
    """Tables and figures name the encoder as soon as a base has a baseline; the numbers from scratch stay as they are."""
    on_base = [
        with_heads(run, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1)) for run in made_seeds(tmp_path / "base", "nsmc", "cls", 2, wrong=30, base="e5")
    ]
    on_base += made_seeds(tmp_path / "base", "nsmc", "cls-last", 2, wrong=20, base="e5")
    both = [*several, *on_base]
    assert fused.encoders(several, "nsmc") == ["cls"] and fused.encoders(both, "nsmc", "sst2") == ["cls", "e5"]
    pd.testing.assert_frame_equal(fused.gains(both, "nsmc"), fused.gains(several, "nsmc"))
    (row,) = fused.gains(both, "nsmc", "e5").to_dict("records")
    assert row["model"] == "cls-last" and row["difference"] == pytest.approx(10 / N)
    accuracies = fused_tables.accuracies(both)
    assert accuracies.frame.set_index("setting")["nsmc_e5"].dropna().to_dict() == pytest.approx({"Baseline": 0.85, "Last head": 0.9})
    assert "nsmc_e5" not in fused_tables.accuracies(several).frame
    assert {"multilingual E5, NSMC", "from scratch, NSMC"} <= {column.label for column in accuracies.columns}
    comparisons, _ = fused_tables.comparisons(both)
    assert comparisons.groupby("encoder").size().to_dict() == {"from scratch": 4, "multilingual E5": 1}
    assert "encoder" not in fused_tables.comparisons(several)[0]
    gains = make("gains", Study.of("nsmc", both)).frame
    assert {"e5: Last head", "scratch: Last head"} <= set(gains["row"])
    assert set(gains[gains["kind"] == "printed"]["row"]) == {f"scratch: {title}" for title in list(fused.SETTINGS.values())[1:]}
    lines = make("cls-lines", Study.of("nsmc", both))
    assert set(lines.frame["run"]) == {"Baseline, multilingual E5"} and "Baseline, multilingual E5 2" in lines.caption
    titles = [fused.answer(both, "nsmc", encoder).short.split(":")[0] for encoder in fused.encoders(both, "nsmc")]
    assert titles == ["NSMC, from scratch", "NSMC, multilingual E5"]


@pytest.mark.exhaustive
def test_a_base_leads_once_it_has_the_settings_and_seeds_of_the_encoder_from_scratch(several: list[Run], tmp_path: Path) -> None:
    def on_base(model: str, seeds: int, wrong: int) -> list[Run]:
        return made_seeds(tmp_path / model, "nsmc", model, seeds, wrong=wrong, base="e5")

    based = [run for model in ("cls", "cls-xia", "cls-all", "cls-last") for run in on_base(model, 2, 20)]
    both = [*several, *based]
    assert fused.encoders(both, "nsmc") == ["cls", "e5"]  # cls-last-scaled is missing
    assert evidence(CLAIM, both)[1].startswith("on an encoder from scratch it ")
    chosen = on_base("cls-last-scaled", 2, 10)
    assert fused.encoders([*both, chosen[0]], "nsmc") == ["cls", "e5"]  # one seed against three
    assert fused.encoders([*both, *chosen], "nsmc") == ["e5", "cls"]
    assert evidence(CLAIM, [*both, *chosen])[1].startswith("on multilingual E5 it ")


# ---- coverage


def test_coverage_is_counted_token_by_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neutral tokens, known entries and the most frequent ones equal loops over the made-up texts."""
    splits = toy_splits()
    mine = Lexicon.of("mine", pd.DataFrame({"term": ["warm", "dull", "puppet show"], "polarity": [1.0, -1.0, 0.0]}))
    monkeypatch.setattr(datasets, "load_split", lambda name, split: splits[split])
    monkeypatch.setattr(datasets, "info", lambda name: SimpleNamespace(language="en"))
    monkeypatch.setattr(Lexicon, "load", lambda name: mine)
    monkeypatch.setitem(coverage.RECIPES, "toy", "fused_toy")
    recipe = Recipe.of({"dataset": "toy", "tokenizer": "words", "min_count": 1, "max_length": 64, "cls": True})
    monkeypatch.setattr(Recipe, "read", lambda source: recipe)
    frame = coverage.measure_coverage("toy")
    assert list(frame["lexicon"]) == [*LEXICONS["en"], coverage.JOINED]
    words = [word for text in splits["test"].frame["text"] for word in text.lower().replace(",", " ,").replace("!", " !").split()]
    lexicon_words = {"warm", "dull", "puppet", "show"}
    row = frame.iloc[0]
    assert row["tokens"] == len(words)
    assert row["neutral"] == pytest.approx(sum(word not in lexicon_words for word in words) / len(words))
    assert row["known"] == pytest.approx(4 / (row["vocabulary"] - 4))
    frequent = row["frequent"].split()
    assert set(frequent) == lexicon_words
    assert [words.count(word) for word in frequent] == sorted((words.count(word) for word in lexicon_words), reverse=True)
    with pytest.raises(InputError, match="not on 'nothing'"):
        coverage.measure_coverage("nothing")
    table = replace(coverage.MEASURED, file=tmp_path / "coverage.csv")
    store_csv(table.file, frame.assign(neutral=0.5))
    coverage_of_sets.main(["toy"], table)
    stored = table.read()
    assert len(stored) == 4 and stored["neutral"].to_list() == pytest.approx(frame["neutral"].to_list(), abs=1e-4)


def test_shipped_coverage_is_whole() -> None:
    """The shipped table has every data set with every lexicon of its language, and the verdicts read it."""
    frame = coverage.MEASURED.read()
    wanted = {(name, lexicon) for name in coverage.RECIPES for lexicon in (*LEXICONS[datasets.info(name).language], coverage.JOINED)}
    assert set(zip(frame["dataset"], frame["lexicon"], strict=True)) == wanted
    assert frame["neutral"].between(0, 1).all() and (frame["tokens"] > 1000).all()
    by = frame.set_index(["dataset", "lexicon"])["neutral"]
    for name in coverage.RECIPES:  # several lexicons know at least what each of them knows
        assert by[name, coverage.JOINED] < min(by[name, lexicon] for lexicon in LEXICONS[datasets.info(name).language])
    figure = make("coverage", Study.of("all", []))
    assert len(data_traces(figure)[0].x) == len(frame)


# ---- figures and files


@pytest.mark.exhaustive
def test_gains_are_drawn_in_points_beside_the_print(several: list[Run]) -> None:
    figure = make("gains", Study.of("nsmc", several))
    traces = {trace.name: trace for trace in data_traces(figure)}
    means, labels = (f"reported, {words}" for words in fused.READINGS.values())
    assert set(traces) == {"measured", means, labels}
    assert list(traces["measured"].x)[-1] == pytest.approx(15.0)
    assert "one seed" not in figure.caption
    assert len(traces[means].x) == 25 and len(traces[labels].x) == 20
    assert "n = 200" in figure.caption and "−0.75 to +1.06" in figure.caption and "open diamonds are reported" in figure.caption
    unprinted = gain_dots(fused.gains(several, "nsmc").assign(row="a"), order=["a"], title="x")
    assert "diamonds" not in unprinted.caption
    lines = palette("light").lines
    assert tuple(traces[name].marker.color for name in ("measured", means, labels)) == tuple(lines[:3])
    alone = make("gains", Study.of("nsmc", []))
    assert "No run is installed" in alone.caption and alone.source == ""
    with pytest.raises(InputError):
        gain_dots(fused.gains([], "nsmc").assign(row=""), order=[], title="x")


@pytest.mark.exhaustive
def test_the_paper_is_written_with_its_manifest(several: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a browser the paper is written with its manifest; items that need weights or measured heads say that no run is available."""
    monkeypatch.setattr("sentviz.papers.studies.export_paper.find_browser", lambda: None)
    measured_runs = [with_heads(run, (0.1, 0.2), (0.1, 0.1)) if run.configuration != "cls-xia" else run for run in several]
    manifest = export_paper("fused", tmp_path / "out", measured_runs)
    states = {item["id"]: item["state"] for item in manifest["files"]}
    assert {states[f"table-{i}"] for i in (1, 2, 3)} == {"written"}
    assert states["figure-4"] == states["figure-5"] == states["gains"] == states["claims"] == "written"
    assert {states[f"figure-{i}"] for i in (1, 2, 3)} == {"no run here"}
    assert len(manifest["runs"]) == len(several)
    assert manifest["answers"] == [fused.answer(measured_runs, "nsmc").sentence]
    named = [file for item in manifest["files"] for part in item["parts"] for file in part["files"]]
    assert len(named) == len(set(named))  # none overwrites another
    assert {*named, "manifest.json"} == {path.name for path in (tmp_path / "out").iterdir()}
    assert json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["paper"] == "fused"
    table = pd.read_csv(tmp_path / "out" / "accuracy.csv", encoding="utf-8-sig").set_index("setting")
    assert table.loc["Baseline", "kr-bert"] == pytest.approx(0.901)
    assert table.loc["Last head", "nsmc"] == pytest.approx(0.6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("paper", ["hardmax", "fused"])
def test_without_runs_a_paper_is_written_all_the_same(paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.papers.studies.export_paper.find_browser", lambda: None)
    manifest = export_paper(paper, tmp_path / "out", [])
    assert {item["state"] for item in manifest["files"]} == {"written", "no run here"}
    assert manifest["runs"] == {} and manifest["answers"] == []


def test_welch_is_scipys() -> None:
    """Welch's test equals scipy's on random seeds of unequal number and spread; seeds without variance differ without a warning."""
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(0)
    a, b = rng.normal(0.2, 0.01, (3, 4)), rng.normal(0.21, 0.05, (5, 4))
    p, span = welch(a, b)
    expected = ttest_ind(a, b, equal_var=False)
    np.testing.assert_allclose(p, expected.pvalue)
    np.testing.assert_allclose(span, expected.confidence_interval())
    p, span = welch(np.full((3, 1), 0.3), np.full((3, 1), 0.2))
    assert p[0] < 1e-9
    assert span[:, 0] == pytest.approx([0.1, 0.1])

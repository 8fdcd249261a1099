"""Sentiment-Fused Attention: its tables against the raw files, what is measured against counts by hand, and its page on own runs."""

import csv
import math
import statistics as slow
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from scipy.stats import t, ttest_ind

from experiments.fused import coverage as coverage_of_sets
from sentviz.charts.gains import gain_dots
from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.data import datasets
from sentviz.data.lexicon import LEXICONS, Lexicon
from sentviz.errors import InputError
from sentviz.io.spreadsheet import store_csv
from sentviz.papers.fused import coverage, printed_claims
from sentviz.papers.fused import study as fused
from sentviz.papers.fused import tables as fused_tables
from sentviz.papers.fused.claims import welch
from sentviz.papers.fused.formula_claims import simulated
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from sentviz.training.recipe import Recipe
from tests.kit import SHIPPED, opened, page_text, refused, toy_splits
from tests.studies import N, made_run, made_seeds, with_heads

TWINS = {"all_heads": "all_heads_scaled", "last_head": "last_head_scaled", "all_heads_scaled": "all_heads", "last_head_scaled": "last_head"}


def rows(name: str) -> list[dict[str, str]]:
    with (Path(fused.__file__).parent / "printed" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def points(kind: str) -> dict[str, float]:
    """Return the gain of a row of table 1 over its baseline in points by encoder, from the raw file."""
    values = {row["injection"]: row for row in rows("nsmc_accuracy")}
    return {name: float(values[kind][name]) - float(values["baseline"][name]) for name in fused.ENCODERS}


def encoder(root: Path, base: str = "", pooling: str = "cls") -> list[Run]:
    """Return three seeds of the baseline and of the paper's setting, which gains, with measured heads."""
    runs = []
    for model, shift, wrong in (("cls", 0.0, 40), ("cls-last-scaled", 0.1, 10)):
        for i, run in enumerate(made_seeds(root / f"{base}{model}", "nsmc", model, 3, wrong=wrong, base=base)):
            measured = with_heads(run, (0.2 + shift + 0.001 * i,) * 2, (0.1, 0.1))
            vars(measured)["shape"] = replace(measured.shape, pooling=pooling)  # type: ignore[arg-type]
            runs.append(measured)
    return runs


def test_printed_tables_and_formulas_by_hand() -> None:
    counts = [len(frame) for frame in (fused.printed_accuracies(), fused.printed_gains(), fused.printed_tasks())]
    assert counts == [6 * 5, 5 * 5, 4 * 5] and not fused.printed_tasks().isna().any(axis=None)
    assert {task.printed for task in fused.TASKS} - {""} == {row["task"] for row in rows("out_of_domain")}
    assert set(coverage.TITLES) == set(coverage.RECIPES) and all(datasets.info(name).title for name in coverage.RECIPES)
    own, raw = list(points("last_head_scaled").values()), []
    for kind in ("all_heads", "all_heads_scaled", "last_head"):
        rival = list(points(kind).values())
        a, b, r = slow.variance(own), slow.variance(rival), slow.correlation(own, rival)
        raw.append(2 * t.sf(abs((b - a) * np.sqrt(3) / (2 * np.sqrt(a * b * (1 - r**2)))), 3))
    assert f"p = {min(1, 3 * min(raw)):.2g}" in printed_claims.judge_printed_stability().parts[0][1].evidence
    own, towards = simulated(trials=20)
    assert own.max() < 1e-14 < 1e-5 < towards.min()
    scores = np.array([[0.3, -1.0, 2.0], [0.1, 0.5, -0.2], [1.0, 0.0, 0.4]])
    polarity = [(1 / 3, 1 / 3, 1 / 3), (0.8, 0.1, 0.1), (0.1, 0.2, 0.7)]
    moved = []
    for i in range(3):
        plain = [np.exp(s) for s in scores[i]]
        with_ = [np.exp(s + sum(a * b for a, b in zip(polarity[i], polarity[j], strict=True))) for j, s in enumerate(scores[i])]
        moved.append([w / sum(with_) - p / sum(plain) for w, p in zip(with_, plain, strict=True)])
    assert max(map(abs, moved[0])) < 1e-15 and abs(moved[1][0]) > 1e-3
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.2, 0.01, (3, 4)), rng.normal(0.21, 0.05, (5, 4))
    p, span = welch(a, b)
    expected = ttest_ind(a, b, equal_var=False)
    np.testing.assert_allclose(p, expected.pvalue)
    np.testing.assert_allclose(span, expected.confidence_interval())
    p, span = welch(np.full((3, 1), 0.3), np.full((3, 1), 0.2))
    assert p[0] < 1e-9 and span[:, 0] == pytest.approx([0.1, 0.1])
    third = [1 / 3, 1 / 3, 1 / 3]
    a, b = np.array([third, third, [0.6, 0.2, 0.2]]), np.array([third, [0.2, 0.2, 0.6], [0.2, 0.2, 0.6]])
    both = coverage.joined({"a": a.astype(np.float32), "b": b.astype(np.float32)})
    assert both.tolist() == [pytest.approx(row) for row in (third, [0.2, 0.2, 0.6], [0.4, 0.2, 0.4])]


@pytest.mark.parametrize(("kind", "model"), [("all_heads", "cls-all"), ("last_head_scaled", "cls-last-scaled")])
def test_table_2_is_recomputed_from_table_1(kind: str, model: str) -> None:
    """The paper's sigma is the variance and its square the deviation; the other labels exchange each setting and its twin."""
    gains = list(points(kind).values())
    own = slow.mean(gains), slow.stdev(gains), slow.variance(gains)
    assert fused.statistics().set_index("model").loc[model, ["mean", "deviation", "variance"]].tolist() == pytest.approx(own)
    printed = next(entry for entry in rows("gain_statistics") if entry["injection"] == kind)
    columns = ("mean_gain_points", "printed_sigma_squared", "printed_sigma")
    assert [float(printed[column]) for column in columns] == pytest.approx(own, abs=6e-4)
    by_labels = fused.printed_gains("labels").set_index(["model", "encoder"])["value"]
    assert {name: 100 * by_labels[model, name] for name in fused.ENCODERS} == pytest.approx(points(TWINS[kind]))


@pytest.fixture
def several(tmp_path: Path) -> list[Run]:
    """Return runs of NSMC: baseline and last-scaled with three seeds, two more settings and Xia et al. with one."""
    seeds = made_seeds(tmp_path, "nsmc", "cls", 3, wrong=40)
    seeds += made_seeds(tmp_path, "nsmc", "cls-last-scaled", 3, wrong=10, first_wrong=100)
    return seeds + [made_run(tmp_path, "nsmc", model, wrong=wrong) for model, wrong in (("cls-all", 41), ("cls-last", 80), ("cls-xia", 60))]


def test_gains_and_the_answer_by_hand(several: list[Run], tmp_path: Path) -> None:
    frame = fused.gains(several, "nsmc").set_index("model")
    wins = {"cls-xia": (0, 20), "cls-all": (0, 1), "cls-last": (0, 40), "cls-last-scaled": (40, 10)}  # rows only one side answers rightly
    assert list(frame.index) == list(wins) and set(frame["kind"]) == {"over seeds"} and set(frame["base_seeds"]) == {3}
    assert frame["difference"].to_dict() == pytest.approx({model: (gained - lost) / N for model, (gained, lost) in wins.items()})
    p = frame["p"].to_dict()
    assert all(frame.loc[model, "adjusted"] >= min(1, (4 - i) * p[model]) - 1e-12 for i, model in enumerate(sorted(p, key=p.__getitem__)))
    assert frame.loc["cls-last-scaled", ["seeds", "spread"]].tolist() == pytest.approx([3, 0]) and np.isnan(frame.loc["cls-all", "spread"])
    single = fused.gains({run.configuration: run for run in reversed(several)}.values(), "nsmc").set_index("model")
    assert set(single["kind"]) == {"one seed"} and set(single["verdict"]) == {"cannot be told"}
    for model, (gained, lost) in wins.items():
        n = gained + lost
        assert single.loc[model, "p"] == pytest.approx(min(1.0, 2 * sum(math.comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n))
    assert fused.gains([], "nsmc").empty
    answer = fused.answer(several, "nsmc")
    assert answer.short == "NSMC: of 4 settings 1 gains, 1 loses, 1 has no significant difference, 1 has no run"
    assert (answer.word, answer.baseline) == ("cannot be told", pytest.approx(0.8))
    means = fused.statistics().set_index("model")["mean"]
    room = sum(100 * row["high"] < means[row["model"]] for row in answer.rows.to_dict("records"))
    for part in ("Last head ÷ √d +15.00", "3 against 3 seeds", "n = 200", f"are above {room} of {len(answer.rows)} of these intervals"):
        assert part in answer.numbers
    good, bad = (
        [made_run(tmp_path / str(wrong), "sst2", model, wrong=wrong, first_wrong=100) for model in fused.INJECTED] for wrong in (10, 80)
    )
    base = made_seeds(tmp_path, "sst2", "cls", 2, wrong=40)
    answers = [fused.answer(runs, "sst2") for runs in ([*good, *base], [*bad, *base], bad, base)]
    assert (answers[0].short, answers[0].word, answers[1].word) == ("SST-2: all 4 settings gain", "yes", "no")
    assert "no baseline is installed" in answers[2].short and "no injected run is installed" in answers[3].short
    assert "study fused --dataset sst2" in answers[3].numbers


def test_out_of_domain_by_task_and_split(tmp_path: Path) -> None:
    seeds = [run for model, wrong in (("cls", 40), ("cls-last-scaled", 10))
             for run in made_seeds(tmp_path, "klue_nli", model, 2, wrong=wrong, also=("kornli_xnli",))]  # fmt: skip
    seeds += [run for model in ("cls", "cls-last-scaled") for run in made_seeds(tmp_path, "question_pair", model, 2, wrong=20)]
    frame = fused.out_of_domain([*seeds, made_run(tmp_path, "korean_hate_speech", "cls")]).set_index("task")
    assert frame[["split", "difference", "verdict", "test"]].to_numpy().tolist() == [
        ["kornli_xnli", pytest.approx(30 / N), "better", "over seeds"],
        ["test", pytest.approx(30 / N), "better", "over seeds"],
        ["test", 0, "cannot be told", "over seeds"],
    ]
    assert list(frame.index) == ["KorNLI", "KLUE-NLI", "Question pairs"] and fused.out_of_domain([]).empty
    assert (frame["baseline"] + frame["difference"]).to_numpy() == pytest.approx(frame["injected"].to_numpy())
    table = fused_tables.tasks(seeds)[0].set_index("task")
    assert np.isnan(table.loc["PAWS", "difference"]) and table.loc["PAWS", "kr-electra"] == pytest.approx(-0.0075)
    own, mean, reading = encoder(tmp_path), encoder(tmp_path, "e5", "mean"), encoder(tmp_path, "e5-from-cls")
    both = [*own, *mean, *reading]
    assert fused.encoders_on_cls(both, "nsmc") == ["e5-from-cls", "cls"] and fused.encoders(both, "nsmc") == ["e5", "cls"]
    assert fused.encoders_on_cls([*own, *mean, *reading[3:]], "nsmc") == ["e5", "cls"]  # no baseline that answers from [CLS]
    captions = [make("cls-lines", Study.of("nsmc", runs)).caption for runs in (both, [*own, *mean], own)]
    assert ["that reads [CLS]" in caption for caption in captions] == [True, False, False]
    assert ["The classifier of multilingual E5 reads the mean of all tokens" in caption for caption in captions] == [False, True, False]


def test_heads_are_means_over_seeds_with_their_span(tmp_path: Path) -> None:
    base = [with_heads(run, (0.1 + 0.01 * i, 0.2), (0.05, 0.06)) for i, run in enumerate(made_seeds(tmp_path, "nsmc", "cls", 3))]
    first_seed = with_heads(made_run(tmp_path, "nsmc", "cls-last-scaled"), (0.2, 0.3), (0.05, 0.06))
    frames, sources = fused.heads_by_setting([*base, first_seed], "nsmc")
    of_cls = (frame.query("layer == 0 and head == -1 and measure == 'from_cls'") for frame in frames.values())
    cells = [frame[["value", "low", "high"]].iloc[0].tolist() for frame in of_cls]
    assert list(frames) == ["Baseline", "Last head ÷ √d"] and len(sources) == 4
    assert cells == [pytest.approx([0.11, 0.1, 0.12]), pytest.approx([0.2, 0.199, 0.201])]
    assert "Baseline 3, Last head ÷ √d 1" in make("cls-lines", Study.of("nsmc", [*base, first_seed])).caption
    refused(InputError, ".", make, "cls-lines", Study.of("nsmc", []))
    refused(InputError, ".", gain_dots, fused.gains([], "nsmc").assign(row=""), order=[], title="x")
    runs = [run for base, gain in (("", 20), ("e5", 10)) for model, wrong in (("cls", 60), ("cls-all", 60 - gain))
            for run in made_seeds(tmp_path / f"x{base}", "nsmc", model, 2, wrong=wrong, base=base)]  # fmt: skip
    ours, alone, none = (fused.statistics_here(each).set_index("model").loc["cls-all"] for each in (runs, runs[:4], []))
    assert ours[["ours", "ours_deviation"]].tolist() == pytest.approx([7.5, slow.stdev([10, 5])])
    assert alone["encoders"] == 1 and np.isnan(alone["ours_deviation"]) and np.isnan(none["ours"])


def test_a_base_is_a_column_and_a_group_and_leads_once_it_has_as_much(several: list[Run], tmp_path: Path) -> None:
    def on_base(model: str, seeds: int, wrong: int) -> list[Run]:
        return made_seeds(tmp_path / "base" / model, "nsmc", model, seeds, wrong=wrong, base="e5")

    both = [*several, *on_base("cls", 2, 30), *on_base("cls-last", 2, 20)]
    assert fused.encoders(several, "nsmc") == ["cls"] and fused.encoders(both, "nsmc", "sst2") == ["cls", "e5"]
    pd.testing.assert_frame_equal(fused.gains(both, "nsmc"), fused.gains(several, "nsmc"))
    assert fused.gains(both, "nsmc", "e5")[["model", "difference"]].to_numpy().tolist() == [["cls-last", pytest.approx(10 / N)]]
    accuracies = fused_tables.accuracies(both).frame.set_index("setting")
    assert accuracies["nsmc_e5"].dropna().to_dict() == pytest.approx({"Baseline": 0.85, "Last head": 0.9})
    assert accuracies.loc["Baseline", ["kr-bert", "nsmc", "nsmc_seeds"]].tolist() == pytest.approx([0.901, 0.8, 3])
    assert "nsmc_e5" not in fused_tables.accuracies(several).frame and "encoder" not in fused_tables.comparisons(several)[0]
    comparisons, _ = fused_tables.comparisons(both)
    assert comparisons.groupby("encoder").size().to_dict() == {"from scratch": 4, "multilingual E5": 1}
    assert {"e5: Last head", "scratch: Last head"} <= set(make("gains", Study.of("nsmc", both)).frame["row"])
    both += [*on_base("cls-xia", 2, 20), *on_base("cls-all", 2, 20)]
    first, second = on_base("cls-last-scaled", 2, 10)
    assert fused.encoders(both, "nsmc") == fused.encoders([*both, first], "nsmc") == ["cls", "e5"]  # one seed against three
    assert fused.encoders([*both, first, second], "nsmc") == ["e5", "cls"]


@SHIPPED
def test_the_page_states_how_little_e5_learns_from() -> None:
    runs = [run for run in study_runs().runs if run.name in ("nsmc/e5", "nsmc/e5-last-scaled", "nsmc/e5-xia")]
    stated = [(run.config["data"]["splits"]["train"]["n"], run.config["recipe"]["epochs"], run.capabilities.cls) for run in runs]
    assert stated == [(15_000, 1, False)] * 3 and all(run.config["recipe"]["adapter_rank"] for run in runs)
    for part in ("15,000 of the 150,000 reviews for one epoch", "with an adapter", "reads the mean of all tokens, not [CLS]"):
        assert part in find_paper("fused").page.cannot


def test_coverage_is_counted_token_by_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    splits = toy_splits()
    mine = Lexicon.of("mine", pd.DataFrame({"term": ["warm", "dull", "puppet show"], "polarity": [1.0, -1.0, 0.0]}))
    recipe = Recipe.of({"dataset": "toy", "tokenizer": "words", "min_count": 1, "max_length": 64, "cls": True})
    monkeypatch.setattr(datasets, "load_split", lambda name, split: splits[split])
    monkeypatch.setattr(datasets, "info", lambda name: SimpleNamespace(language="en"))
    monkeypatch.setattr(Lexicon, "load", lambda name: mine)
    monkeypatch.setitem(coverage.RECIPES, "toy", "fused_toy")
    monkeypatch.setattr(Recipe, "read", lambda source: recipe)
    frame = coverage.measure_coverage("toy")
    assert list(frame["lexicon"]) == [*LEXICONS["en"], coverage.JOINED]
    words = [word for text in splits["test"].frame["text"] for word in text.lower().replace(",", " ,").replace("!", " !").split()]
    known = {"warm", "dull", "puppet", "show"}
    row = frame.iloc[0]
    shares = (len(words), sum(word not in known for word in words) / len(words), 4 / (row["vocabulary"] - 4))
    assert row[["tokens", "neutral", "known"]].tolist() == pytest.approx(shares)
    assert sorted(row["frequent"].split()) == sorted(known)
    assert [words.count(word) for word in row["frequent"].split()] == sorted(map(words.count, known), reverse=True)
    refused(InputError, "not on 'nothing'", coverage.measure_coverage, "nothing")
    table = replace(coverage.MEASURED, file=tmp_path / "coverage.csv")
    store_csv(table.file, frame.assign(neutral=0.5))
    coverage_of_sets.main(["toy"], table)
    assert len(table.read()) == 4 and table.read()["neutral"].to_list() == pytest.approx(frame["neutral"].to_list(), abs=1e-4)


def test_coverage_is_measured_again_or_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.runs.store.roots", lambda folders=(): [tmp_path])
    st.cache_resource.clear()
    st.cache_data.clear()
    app = opened("fused", part="coverage")
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    app.button(key="fused-again").click().run()
    assert not app.exception and any("nsmc" in str(warning.value) for warning in app.warning)
    stored = coverage.MEASURED.read().query("dataset == 'nsmc'")
    monkeypatch.setattr(coverage, "measure_coverage", lambda dataset: stored.assign(neutral=0.25))
    app.button(key="fused-again").click().run()
    assert "KNU: **25.00\u00a0%** of 755,797 tokens, shipped 49.39\u00a0%" in page_text(app)
    st.cache_resource.clear()
    st.cache_data.clear()

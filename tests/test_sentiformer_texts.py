"""SentiFormer's claims about texts and theory: each holds, fails or stays open on planted numbers; measures equal counts by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.sentiformer import carriers, lengths
from sentviz.analysis.claim import Finding
from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.papers.sentiformer import measured
from sentviz.papers.sentiformer.claims import CLAIMS
from sentviz.papers.sentiformer.study import DATASETS, leads
from sentviz.papers.sentiformer.text_claims import judge_kernel
from sentviz.papers.studies.items import make_table
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from tests.charts import data_traces
from tests.shipped import often
from tests.studies import as_said, made_run, made_seeds, plant

pytestmark = pytest.mark.slow

SPANS = [(0.01, 0.05, "holds"), (-0.05, -0.01, "fails"), (-0.02, 0.03, "open")]


def judge(statement: str, runs: list[Run] | None = None) -> Finding:
    (claim,) = (claim for claim in CLAIMS if claim.statement == statement)
    return as_said(claim.test(runs or []))


@pytest.mark.parametrize(("low", "high", "verdict"), SPANS)
def test_words_at_the_ends(low: float, high: float, verdict: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another data set and a single tenth would turn the verdict and are not read."""
    row: dict[str, Any] = {"dataset": "imdb", "place": measured.ENDS_MINUS_MIDDLE, "words": 900, "n": 90, "lexicon": "lexicon_en_vader"}
    planted = row | {"value": (low + high) / 2, "low": low, "high": high}
    misleading = row | {"value": -(low + high) / 2, "low": -high, "high": -low}
    plant(
        monkeypatch, "sentiformer.measured.PLACES", tmp_path, [misleading | {"dataset": "sst5_trees"}, misleading | {"place": "1"}, planted]
    )
    assert judge("On IMDb sentiment words at the beginning or end of a text carry more weight").verdict == verdict


@pytest.mark.parametrize(("own", "verdict"), [(0.6, "holds"), (0.2, "fails"), (0.41, "open")])
def test_parts_of_speech_of_sentiment_words(own: float, verdict: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Adjectives and adverbs are compared with the largest other part of speech, not with a part of themselves."""
    shares = {measured.CARRIERS: own, "ADJ": 0.9, "NOUN": 0.4, "VERB": 0.1}
    rows: list[dict[str, Any]] = [
        {"dataset": "imdb", "tag": tag, "value": value, "low": value - 0.02, "high": value + 0.02, "words": 9, "n": 90}
        | {"lexicon": "lexicon_en_vader", "tagger": "english-1"}
        for tag, value in shares.items()
    ]
    plant(monkeypatch, "sentiformer.measured.SPEECH", tmp_path, rows)
    finding = judge("On IMDb adjectives and adverbs are the primary carriers of polarity")
    assert finding.verdict == verdict and "NOUN" in finding.evidence


def test_shares_of_words_by_hand() -> None:
    """Two texts: shares are ratios of sums, and the ends are the first and the last tenth."""
    polar, agree = np.zeros((2, 10)), np.zeros((2, 10))
    polar[0, [0, 4, 9]], polar[1, [0, 5]] = 1, 2
    agree[0, [0, 9]], agree[1, 5] = 1, 1
    rows = carriers.place_rows(agree, polar).set_index("place")["value"]
    assert rows["1"] == pytest.approx(1 / 3) and rows["10"] == pytest.approx(1) and rows["6"] == pytest.approx(0.5)
    assert rows[measured.ENDS_MINUS_MIDDLE] == pytest.approx(2 / 4 - 1 / 3)
    speech = carriers.speech_rows(np.array([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]), ["ADJ", "ADV", "NOUN"]).set_index("tag")["value"]
    assert speech.to_dict() == pytest.approx({measured.CARRIERS: 4 / 5, "ADJ": 3 / 5, "ADV": 1 / 5, "NOUN": 1 / 5})


def test_an_interval_of_a_ratio_is_that_of_equal_texts() -> None:
    """The linearised interval of texts with one word each is that of a share: 1.96 standard errors."""
    part = np.array([1.0] * 30 + [0.0] * 70)
    value, low, high = carriers.share(part, np.ones(100))
    assert value == pytest.approx(0.3) and high - value == pytest.approx(1.96 * np.sqrt(0.3 * 0.7 / 100)) == value - low


@pytest.mark.parametrize(("mib", "verdict"), [(200.0, "holds"), (20_000.0, "fails")])
def test_memory_of_a_long_text(mib: float, verdict: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row: dict[str, Any] = {"of": "prediction", "attention": "sparse", "tokens": 10_000, "mib": mib, "hardware": "", "torch": ""}
    misleading = [row | {"tokens": 512, "mib": 1e5 - mib}, row | {"attention": "full", "mib": 1e5 - mib}]
    plant(monkeypatch, "sentiformer.measured.MEMORY", tmp_path, [*misleading, row])
    statement = "A document of 10,000 tokens fits in memory without truncation"
    assert judge(statement).verdict == verdict
    plant(monkeypatch, "sentiformer.measured.MEMORY", tmp_path, misleading)
    assert judge(statement).verdict == "unjudged" and measured.MEMORY.command in judge(statement).evidence


def test_a_difference_of_maps_is_no_kernel_smoother() -> None:
    assert judge_kernel().verdict == "holds" and judge_kernel(lambdas=(1.0, -0.5)).verdict == "fails"
    assert judge("A transformer can approximate any sentiment function of bounded length").verdict == "unjudged"


@pytest.mark.parametrize(
    ("wrong", "share"), [("neutral", "100.0\N{NO-BREAK SPACE}%"), ("polar", "0.0\N{NO-BREAK SPACE}%"), ("both", "50.0\N{NO-BREAK SPACE}%")]
)
def test_our_models_do_not_decide_on_the_errors_of_the_papers(
    wrong: str, share: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whether all, none or half of our 60 errors are in the neutral row, the claim cannot be judged, and the evidence has the share."""
    runs = made_seeds(tmp_path, "tweeteval_sentiment", "sentiformer", 3, classes=("negative", "neutral", "positive"))
    of_neutral = {"neutral": 60, "polar": 0, "both": 30}[wrong]
    counts = [[100, 60 - of_neutral, 0], [of_neutral, 100, 0], [0, 0, 100]]
    monkeypatch.setattr(Run, "metrics", lambda run: {"test": {"confusion": counts, "accuracy": {"value": 0.8, "low": 0.7, "high": 0.9}}})
    statement = "On Twitter most of its remaining errors are on neutral texts"
    finding, of_one_seed = judge(statement, runs), judge(statement, runs[:1])
    assert finding.verdict == of_one_seed.verdict == "unjudged" and "the paper's own model" in finding.evidence
    assert f"In ours {share} [" in finding.evidence and "3 seeds" in finding.evidence and "one seed" in of_one_seed.evidence


@pytest.mark.exhaustive
@pytest.mark.parametrize(("low", "high", "verdict"), SPANS)
def test_the_lead_on_long_texts(low: float, high: float, verdict: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Seeds agree; quarters and other data sets would turn the verdict and are not read. One seed decides nothing."""
    runs = [run for model in ("sentiformer", "bilstm", "cnn") for run in made_seeds(tmp_path, "yelp_polarity", model, 3, wrong=40)]
    row: dict[str, Any] = {"dataset": "yelp_polarity", "own": "sentiformer", "shortest": 1, "longest": 90, "n": 100}
    span = {"value": (low + high) / 2, "low": low, "high": high}
    planted = [
        row | span | {"baseline": name, "seed": seed, "part": part} | ({"value": 0.0} if part != measured.LONG_MINUS_SHORT else {})
        for name in ("bilstm", "cnn")
        for seed in range(3)
        for part in ("1", "4", measured.LONG_MINUS_SHORT)
    ]
    misleading = [each | {"dataset": "sst5_trees", "value": -each["value"], "low": -high, "high": -low} for each in planted]
    plant(monkeypatch, "sentiformer.measured.LEADS", tmp_path, planted + misleading)
    statement = "On Yelp polarity its lead over the BiLSTM and the CNN is larger on long texts"
    assert judge(statement, runs).verdict == verdict
    plant(monkeypatch, "sentiformer.measured.LEADS", tmp_path, [each for each in planted if each["seed"] == 0])
    assert judge(statement, runs).verdict == "unjudged"
    assert judge(statement, []).verdict == "unjudged"


@pytest.mark.parametrize(
    ("late", "losses", "why"),
    [
        ("sentiformer", (0.5, 0.4), "loss still fell by 20.0\u00a0%"),
        ("cnn", (0.5, 0.4), "loss still fell by 20.0\u00a0%"),
        ("bilstm", (0.5,), "BiLSTM had 1 epoch and fewer than two evaluations, so it is unknown whether it still learned"),
    ],
)
@pytest.mark.parametrize("seeds", often([2, 3], 3))
def test_a_lead_by_length_is_open_where_a_model_still_learned(
    late: str, losses: tuple[float, ...], why: str, seeds: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The reason is said first, also if the test would decide; the table marks the data set; the comparison of accuracies names epochs."""
    runs = [
        run
        for model, wrong in (("sentiformer", 10), ("bilstm", 40), ("cnn", 40))
        for run in made_seeds(
            tmp_path, "yelp_polarity", model, seeds if model == "cnn" else 3, wrong=wrong, losses=losses if model == late else (0.5,) * 4
        )
    ]
    row: dict[str, Any] = {"dataset": "yelp_polarity", "own": "sentiformer", "shortest": 1, "longest": 90, "n": 100}
    span = {"value": 0.05, "low": 0.04, "high": 0.06}
    parts = [(name, seed, part) for name in ("bilstm", "cnn") for seed in range(3) for part in ("1", "4", measured.LONG_MINUS_SHORT)]
    rows = [row | span | {"baseline": name, "seed": seed, "part": part} for name, seed, part in parts]
    plant(monkeypatch, "sentiformer.measured.LEADS", tmp_path, rows)
    finding = judge("On Yelp polarity its lead over the BiLSTM and the CNN is larger on long texts", runs)
    assert finding.verdict == "open" and why in finding.evidence.split(";")[0]
    assert "epochs: 1 (SentiFormer, BiLSTM and CNN)" in finding.evidence
    assert set(leads(runs)["dataset"]) == {"Yelp polarity (still learned)"} and set(leads([])["dataset"]) == {"Yelp polarity"}
    beats = judge("SentiFormer beats the BiLSTM and the CNN on Yelp polarity", runs)
    assert f"3 against {seeds} seeds" in beats.evidence and "epochs: 1 (SentiFormer, BiLSTM and CNN)" in beats.evidence


def test_leads_by_hand() -> None:
    """Compute the lead of a model that is better on the long half of eight texts."""
    words = np.arange(1, 9)
    right, rival = np.array([0, 0, 1, 1, 1, 1, 1, 1], bool), np.array([1, 1, 1, 1, 1, 1, 0, 0], bool)
    frame = lengths.leads(right, rival, words).set_index("part")
    assert frame["value"].to_dict() == {"1": -1, "2": 0, "3": 0, "4": 1, measured.LONG_MINUS_SHORT: 2}
    assert frame.loc["4", ["shortest", "longest"]].tolist() == [7, 8]


def test_the_tables_say_what_is_stored() -> None:
    for name, stored in {
        "places": measured.PLACES,
        "speech": measured.SPEECH,
        "leads": measured.LEADS,
        "memory": measured.MEMORY,
    }.items():
        table = make_table(find_paper("sentiformer"), name, [])
        assert len(table.written()) and len(stored.read())


@pytest.mark.exhaustive
def test_table_i_is_drawn_beside_ablations_with_seeds_at_every_rate(tmp_path: Path) -> None:
    """The models of table I stay when an ablation has several seeds at another rate."""
    for dataset in DATASETS:
        runs = made_seeds(tmp_path, dataset, "sentiformer", 2) + made_seeds(tmp_path, dataset, "cnn", 2, variant="fast")
        runs += [run for variant in ("", "3e-4") for run in made_seeds(tmp_path, dataset, "sentiformer-sinusoid", 2, variant=variant)]
        drawn = make("sentiformer-accuracy", Study.of(dataset, runs)).frame.dropna(subset=["value"])
        assert sorted(drawn["model"]) == ["CNN, rate 1e-3", "SentiFormer"]


def test_the_two_class_column_repeats_no_print(tmp_path: Path) -> None:
    """Table I has one column SST5, so our two classes have no column of the paper, no diamond in a figure and no row of other models."""
    both = ("sst5_trees", "sst5_trees_binary")
    runs = [made_run(tmp_path, dataset, model) for dataset in both for model in ("sentiformer", "sentiformer-no-gate")]
    table = make_table(find_paper("sentiformer"), "accuracy", runs)
    frame = table.frame
    assert frame[frame["data"] == "SST-5 binary"]["printed"].isna().all() and frame[frame["data"] == "SST-5"]["printed"].notna().any()
    titles = [column.label for column in table.laid_out()[1]]
    assert "SST-5, paper" in titles and "SST-5 binary, ours" in titles and "SST-5 binary, paper" not in titles
    for name in ("sentiformer-accuracy", "sentiformer-parts"):
        five, two = (make(name, Study.of(dataset, runs)) for dataset in both)
        assert len(data_traces(five)) == len(data_traces(two)) + 1
    assert make("sentiformer-accuracy", Study.of(both[1], runs)).frame["model"].tolist() == ["SentiFormer"]
    ablations = make_table(find_paper("sentiformer"), "ablation", runs).frame.set_index("data")["printed"]
    assert ablations.isna().to_dict() == {"SST-5": False, "SST-5 as two classes": True}


def test_our_settings_are_those_of_the_shipped_runs() -> None:
    """The differences that the page names: size, factor of the embeddings, and lengths."""
    import json

    from sentviz.runs.store import SHIPPED

    def stored(dataset: str) -> dict[str, Any]:
        config: dict[str, Any] = json.loads((SHIPPED / dataset / "sentiformer" / "config.json").read_text(encoding="utf-8"))
        return config

    size, words = f"{stored('sst5_trees')['parameters'] / 1e6:.1f} M", find_paper("sentiformer").page.cannot
    assert f"ours has {size}" in judge("It has about 22 M parameters").evidence and f"on SST-5 we have {size}" in words
    assert f"multiplied by {stored('sst5_trees')['model']['embedding_scale']:g}," in words
    lengths_read = [stored(name)["recipe"]["max_length"] for name in ("sst5_trees", "tweeteval_sentiment", "imdb", "yelp_polarity")]
    assert "{} tokens of SST-5, {} of Twitter and {} elsewhere".format(*lengths_read[:3]) in words and lengths_read[2] == lengths_read[3]

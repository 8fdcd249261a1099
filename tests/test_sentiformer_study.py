"""The SentiFormer paper: its models and tables, its learning rates, what was measured against counts by hand, and its page."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sentviz
from experiments.sentiformer import carriers, lengths, smaller
from experiments.sentiformer.reach import seen_whole
from sentviz.analysis.evaluation import holm
from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.data.parts_of_speech import TAGS
from sentviz.errors import InputError, RunError
from sentviz.io.table import Table
from sentviz.models.encoder import Encoder
from sentviz.papers.sentiformer import measured, study
from sentviz.papers.sentiformer.answer import _speed, answer_questions
from sentviz.papers.sentiformer.claims import judge_size
from sentviz.papers.studies.items import make_table, makers
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import preset
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from sentviz.training import train
from sentviz.training.recipe import Recipe
from tests.charts import data_traces
from tests.kit import refused, toy_recipe, use_toy_data
from tests.studies import made_run, made_seeds, plant, with_gates

PAPER = find_paper("sentiformer")
FIVE = ("very negative", "negative", "neutral", "positive", "very positive")


def seeds(root: Path, model: str, wrong: int, n: int = 3, **options: Any) -> list[Run]:
    return made_seeds(root, "sst5_trees", model, n, wrong=wrong, **options)


# ---- models by name


def test_parameters_of_the_whole_and_of_each_ablation() -> None:
    def count(name: str) -> int:
        config = preset(name, vocab_size=1000, classes=5, max_length=512)
        assert isinstance(config, EncoderConfig)
        return Encoder(config).parameters_count()

    d, layers, wide = 256, 6, 1024
    layer = 4 * d * d + 4 * d + 2 * d * wide + wide + d
    norms, gates, aware = layers * 2 * 2 * d, layers * d, len(TAGS) * d + 3
    rest = layers * layer + norms + gates + aware + 5 * d + 5
    assert count("sentiformer") == 1000 * d + rest
    lacks = {"sentiformer-sinusoid": aware, "sentiformer-no-gate": gates, "sentiformer-full": 0, "sentiformer-no-norm": norms}
    assert {name: 1000 * d + rest - count(name) for name in study.ABLATIONS} == lacks
    assert f"{(22e6 - rest) / 256:,.0f}" in judge_size().evidence and 67_000 * d + rest == pytest.approx(22e6, rel=0.01)


@pytest.mark.parametrize("dataset", sorted(name for name in PAPER.recipes() if not Recipe.read(f"sentiformer_{name}").base))
def test_all_compared_have_one_budget(dataset: str) -> None:
    first, *rest = (
        {key: value for key, value in Recipe.read(f"sentiformer_{dataset}", model=model).as_dict().items() if key not in ("model", "cls")}
        for model in PAPER.presets
    )
    assert all(each == first for each in rest) and first["select"] == "loss" and first["patience"] == 3 * first["evaluations"]


def test_a_run_carries_its_tagger_and_its_scalars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_toy_data(monkeypatch)
    shape = {"width": 16, "layers": 2, "heads": 2, "ffn_width": 24, "window": 2}
    run = train(toy_recipe("sentiformer", shape=shape, cls=True, epochs=1), tmp_path, progress=False)
    assert run.config["tagger"] == {"version": "english-1", "tags": list(TAGS)} and run.capabilities.tags
    trace = sentviz.load(run).trace("what a warm, clever song we saw!")
    assert trace.tags[0] == "" and "ADJ" in trace.tags
    history = run.history()
    for name in ("alpha", "beta", "gamma"):
        curve = history[history["name"] == name]
        assert curve["value"].iloc[0] == 1 != curve["value"].iloc[-1] and set(curve["layer"]) == {-1}
    for content in (b"tags", None):
        file = run.folder / "tagger.json.gz"
        file.write_bytes(content) if content else file.unlink()
        with pytest.raises(RunError, match=r"toy/sentiformer: .*tagger\.json\.gz"):
            sentviz.load(Run.open(run.folder, "toy/sentiformer"))


# ---- accuracies


def test_models_are_compared_at_the_rate_that_validation_chose(tmp_path: Path) -> None:
    runs = [run for model, wrong in (("sentiformer", 30), ("bilstm", 80), ("cnn", 80)) for run in seeds(tmp_path, model, wrong)]
    runs += seeds(tmp_path, "cnn", 5, validation=0.95, variant="fast") + seeds(tmp_path, "sentiformer", 80, validation=0.3, variant="fast")
    pairs = {pair.baseline: pair for pair in study.against_baselines(runs, "sst5_trees")}
    assert {name: (pair.own, pair.word) for name, pair in pairs.items()} == {
        "bilstm": ("sentiformer", "cannot be told"),  # SentiFormer beats it with a rate more
        "cnn-fast": ("sentiformer", "worse"),
    }
    adjusted = holm({name: pair.comparison.p for name, pair in pairs.items()})
    assert {name: pair.adjusted for name, pair in pairs.items()} == adjusted
    frame = study.beside([*runs, *seeds(tmp_path, "cls", 4, 1, base="minilm")], "sst5_trees")
    assert frame["model"].iloc[-1] == "MiniLM, adapter"
    assert frame.set_index("model").loc["CNN, rate 1e-3", "value"] == pytest.approx(0.975)
    runs = [run for model in ("sentiformer", "bilstm", "cnn") for run in seeds(tmp_path, model, 80)]
    for model, wrong, validation in (("sentiformer", 10, 0.95), ("bilstm", 60, 0.92), ("cnn", 4, 0.5)):
        runs += seeds(tmp_path, model, wrong, validation=validation, variant="fast")
    pairs = [(pair.own, pair.baseline, pair.word) for pair in study.against_baselines(runs, "sst5_trees")]
    assert pairs == [("sentiformer-fast", "bilstm-fast", "better"), ("sentiformer-fast", "cnn", "better")]
    first = answer_questions(runs)[0]
    assert first.verdict == "holds" and "0.0005 (CNN) and 0.001 (SentiFormer and BiLSTM), were chosen by validation" in first.numbers
    runs = seeds(tmp_path, "sentiformer", 20, 1, validation=0.8)
    runs += [
        made_run(tmp_path, "sst5_trees", "sentiformer-no-gate", seed, wrong=60, validation=value) for seed, value in enumerate((0.7, 0.9))
    ]
    runs += seeds(tmp_path, "sentiformer-no-gate", 40, 1, validation=0.75, variant="fast")
    (row,) = study.ablations(runs, "sst5_trees").to_dict("records")
    verdicts = [answer.verdict for each in (runs, runs[:2]) for answer in answer_questions(each) if "without gates" in answer.short]
    assert verdicts == ["holds", "unjudged"]  # with one seed of everything the effect of the seed is unknown
    of_one_rate = [run for run in runs if run.configuration != "sentiformer-no-gate"]
    assert any("without gates" in answer.short for answer in answer_questions(of_one_rate))
    names = ("preset", "seeds", "difference", "printed", "title")
    assert [row[name] for name in names] == ["sentiformer-no-gate-fast", 1, pytest.approx(-0.1), pytest.approx(-0.012), "without gates"]
    runs = [made_run(tmp_path, "sst5_trees_binary", "bilstm", wrong=28)]
    runs += [made_run(tmp_path, "sst5_trees", "bilstm", wrong=wrong, classes=FIVE, validation=value, variant=variant)
             for wrong, value, variant in ((150, 0.9, ""), (100, 0.95, "fast"))]  # fmt: skip
    (reading,) = study.readings(runs)
    assert (reading.model, reading.five[0], reading.two[0]) == ("BiLSTM", pytest.approx(0.5), pytest.approx(0.86))


def test_tables_stand_beside_the_print(tmp_path: Path) -> None:
    runs = seeds(tmp_path, "sentiformer", 20) + seeds(tmp_path, "sentiformer-no-norm", 40)
    frame, words = study.accuracy(runs)
    row = frame[(frame["data"] == "SST-5") & (frame["model"] == "SentiFormer")].iloc[0]
    assert row[["printed", "value", "seeds"]].tolist() == pytest.approx([0.923, 0.9, 3]) and not words["not_learned"]
    assert not frame["model"].str.startswith("without").any() and set(frame.groupby("data").size()) == {5}
    assert study.beside(runs, "sst5_trees").set_index("model").loc["without layer norm", "printed"] == pytest.approx(0.884)
    assert list(study.ablation(runs)[0]["title"]) == ["without layer norm"]
    for name in ("accuracy", "ablation"):
        first, *rest = makers(PAPER)[name](runs)
        assert isinstance(first, Table) and rest
    caption = make_table(PAPER, "accuracy", [*runs, *seeds(tmp_path, "bilstm", 100)]).caption
    assert "The runs did not learn at learning rate 0.0005: sst5_trees/bilstm 50.0\u00a0% [43.1, 56.9] on test" in caption
    both = ("sst5_trees", "sst5_trees_binary")
    runs = [made_run(tmp_path, dataset, model) for dataset in both for model in ("sentiformer", "sentiformer-no-gate")]
    table = make_table(PAPER, "accuracy", runs)
    known = table.frame.groupby("data")["printed"].count()
    assert known["SST-5 binary"] == 0 < known["SST-5"]
    titles = [column.label for column in table.laid_out()[1]]
    assert "SST-5, paper" in titles and "SST-5 binary, ours" in titles and "SST-5 binary, paper" not in titles
    for name in ("sentiformer-accuracy", "sentiformer-parts"):
        five, two = (make(name, Study.of(dataset, runs)) for dataset in both)
        assert len(data_traces(five)) == len(data_traces(two)) + 1
    assert make("sentiformer-accuracy", Study.of(both[1], runs)).frame["model"].tolist() == ["SentiFormer"]
    parts = make_table(PAPER, "ablation", runs).frame.set_index("data")["printed"]
    assert parts.isna().to_dict() == {"SST-5": False, "SST-5 as two classes": True}
    runs = made_seeds(tmp_path, "imdb", "sentiformer", 2, variant="2-epochs")
    refused(InputError, "`sentviz gates imdb/sentiformer-2-epochs` measures them", study.gates, runs, "imdb")
    runs = [with_gates(run) for run in runs]
    assert make_table(PAPER, "gates", runs[:1], "imdb").caption.startswith("SentiFormer, two epochs: ")
    usual = with_gates(made_run(tmp_path, "imdb", "sentiformer"))
    assert [run.name for run in study.gated([*runs, usual], "imdb")] == [usual.name]


# ---- measured without runs


@pytest.mark.parametrize("ends", [(0, -1), (-1,), ()])
def test_the_longest_text_that_is_seen_whole(ends: tuple[int, ...]) -> None:
    for window in (2, 7):

        def misses(n: int, window: int = window) -> bool:
            keys = set(range(n)) - {end % n for end in ends}
            return any(abs(i - j) > window // 2 for i in range(n) for j in keys)

        config = EncoderConfig(vocab_size=9, classes=2, max_length=40, window=window, global_tokens=ends)
        assert seen_whole(config) == max(n for n in range(1, 40) if not misses(n))


def test_shares_leads_and_smaller_models_by_hand() -> None:
    polar, agree = np.zeros((2, 10)), np.zeros((2, 10))
    polar[0, [0, 4, 9]], polar[1, [0, 5]] = 1, 2
    agree[0, [0, 9]], agree[1, 5] = 1, 1
    rows = carriers.place_rows(agree, polar).set_index("place")["value"]
    assert rows[["1", "10", "6", measured.ENDS_MINUS_MIDDLE]].tolist() == pytest.approx([1 / 3, 1, 0.5, 2 / 4 - 1 / 3])
    speech = carriers.speech_rows(np.array([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]), ["ADJ", "ADV", "NOUN"]).set_index("tag")["value"]
    assert speech.to_dict() == pytest.approx({measured.CARRIERS: 4 / 5, "ADJ": 3 / 5, "ADV": 1 / 5, "NOUN": 1 / 5})
    half = 1.96 * np.sqrt(0.3 * 0.7 / 100)
    assert carriers.share(np.array([1.0] * 30 + [0.0] * 70), np.ones(100)) == pytest.approx((0.3, 0.3 - half, 0.3 + half))
    right, rival = np.array([0, 0, 1, 1, 1, 1, 1, 1], bool), np.array([1, 1, 1, 1, 1, 1, 0, 0], bool)
    frame = lengths.leads(right, rival, np.arange(1, 9)).set_index("part")
    assert frame["value"].to_dict() == {"1": -1, "2": 0, "3": 0, "4": 1, measured.LONG_MINUS_SHORT: 2}
    assert frame.loc["4", ["shortest", "longest"]].tolist() == [7, 8]
    weights = torch.tensor([[0.3, -0.16, 0.04, 0.0], [3.0, 1.4, -2.6, 0.0]])
    assert smaller.quantised(weights, 3).tolist() == [pytest.approx([0.3, -0.2, 0.0, 0.0]), pytest.approx([3.0, 1.0, -3.0, 0.0])]
    error = (smaller.quantised(weights, 8) - weights).abs().amax(dim=1)
    assert bool((error <= weights.abs().amax(dim=1) / 127 / 2 + 1e-7).all())
    some = torch.tensor([[0.5, -0.1], [0.2, -0.9]])
    assert smaller.pruned(some, 0.5).tolist() == [pytest.approx([0.5, 0.0]), pytest.approx([0.0, -0.9])]
    assert smaller.pruned(some, 0.0).equal(some)
    for name in ("places", "speech", "leads", "memory", "lexicon-gates"):
        assert len(make_table(PAPER, name, []).written())
    for row in measured.REACH.read().to_dict("records"):
        assert row["within"] == 34 and 0 <= row["beyond"] <= 1 and (row["beyond"] > 0) == (row["longest"] > 34)
    assert _speed().verdict == "unjudged" and "one thread of a CPU" in _speed().short


def test_curves_and_leads_of_planted_measurements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = [{"dataset": "sst5_trees", "n": 100, "run": "x",
    "way": way, "amount": amount, "mib": mib, "right": right + 10 * seed, "seed": seed}
            for way, amount, mib, right in (("none", 0.0, 26.0, 40), ("quantised", 8.0, 7.0, 40), ("pruned", 0.5, 13.0, 20))
            for seed in range(2)]  # fmt: skip
    plant(monkeypatch, "sentiformer.measured.COMPRESSED", tmp_path, rows)
    frame = measured.sizes()
    assert frame[frame["rows"] == 26.0]["preset"].tolist() == ["quantised", "pruned"]
    assert frame["value"].tolist() == pytest.approx([0.45, 0.45, 0.45, 0.25]) and set(frame["seeds"]) == {2}
    (row,) = smaller.by_rows([made_run(tmp_path, "sst5_trees_binary", "sentiformer", wrong=50, digest="0")]).to_dict("records")
    assert row["value"] == pytest.approx(0.75) and row["rows"] == row["n"] == 200 and row["low"] < row["value"] < row["high"]
    late = {model: (0.5, 0.4) if model == "cnn" else (0.5,) * 4 for model in ("sentiformer", "bilstm", "cnn")}
    runs = [run for model, losses in late.items() for run in made_seeds(tmp_path, "yelp_polarity", model, 2, losses=losses)]
    row = {"dataset": "yelp_polarity", "own": "sentiformer", "shortest": 1, "longest": 90, "n": 100}
    row |= {"value": 0.05, "low": 0.04, "high": 0.06}
    plant(monkeypatch, "sentiformer.measured.LEADS", tmp_path, [row | {"baseline": "cnn", "seed": 0, "part": measured.LONG_MINUS_SHORT}])
    assert [set(study.leads(each)["dataset"]) for each in (runs, [])] == [{"Yelp polarity (still learned)"}, {"Yelp polarity"}]

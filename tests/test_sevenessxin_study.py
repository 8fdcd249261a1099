"""The 7ess-Xin paper: its tables beside small runs, its figures, and what was measured against counts by hand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sentviz
from experiments.sevenessxin import cloud_words, emphasis
from experiments.sevenessxin.leak import costs, telling
from experiments.sevenessxin.neutral import neutral
from experiments.sevenessxin.padding import padding
from sentviz.analysis.testset.word_counts import Counts, stop_words, wordcloud_stop_words
from sentviz.charts import gallery
from sentviz.charts.colours import palette
from sentviz.charts.subjects import Runs, Study
from sentviz.errors import InputError
from sentviz.papers.sevenessxin import printed_tables
from sentviz.papers.sevenessxin.claims import BEST, answer_questions
from sentviz.papers.sevenessxin.study import beside, by_epochs, curve, gains, log, longer, validation_f1
from sentviz.papers.sevenessxin.versions import ROPE
from sentviz.papers.studies.claims import BROKEN, judged
from sentviz.papers.studies.items import makers
from sentviz.runs.catalog import study_runs
from sentviz.runs.printed import printed
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run, runs
from sentviz.training import train
from tests import kit
from tests.charts import data_traces
from tests.studies import made_seeds, plant

PAPER = find_paper("sevenessxin")
NAMES = ("7ess-v1", f"7ess-v1-{ROPE}", BEST)
PLACES = ("PADDING", "NEUTRAL", "LEAK_COSTS", "LEAK_WORDS")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three versions, a point of the curve and one of more updates, of the made-up set under the name of Sentiment140."""
    root = tmp_path_factory.mktemp("seven")
    shape = {"width": 16, "heads": 2, "ffn_width": 16, "layers": 2}
    common: dict[str, Any] = {"dataset": printed_tables.DATASET, "shape": shape, "select": "f1_positive", "epochs": 1, "example": "so good"}
    changes = [(name, {}) for name in NAMES] + [(name, {"variant": "epochs", "epochs": 2}) for name in NAMES[1:]]
    changes += [("7ess-v1", {"variant": "5k", "rows": 20}), ("7ess-v1", {"variant": "6k-updates", "updates": 60})]
    with pytest.MonkeyPatch.context() as patch:
        splits = kit.use_toy_data(patch)
        patch.setattr("sentviz.data.datasets.load_split", lambda name, split: splits[split])
        for name, more in changes:
            train(kit.toy_recipe(name, **common | more), root, progress=False)
    return root


# ---- its tables


def test_the_printed_tables_are_the_papers() -> None:
    frame = printed_tables.table("results").set_index("model")
    assert frame.loc["7ess-v6-rope", "accuracy"] == 0.8313 and frame.loc["7ess-v5", "f1_positive"] == 0.7821 and len(frame) == 20
    mean = 2 * frame["precision_positive"] * frame["recall_positive"] / (frame["precision_positive"] + frame["recall_positive"])
    assert (mean - frame["f1_positive"]).abs().max() < 6e-4
    assert printed("sentiment140", "7ess-v1").set_index("name")["value"]["accuracy"] == 0.8232
    assert printed("sst2", "7ess-v1").empty and printed("sentiment140", "cnn").empty
    logged = log().query("metric == 'accuracy'").set_index("model")["logged"].to_dict()
    assert logged == {"V6 RoPE": 0.8305, "V7 RoPE": 0.8268, "V8 RoPE": 0.8298, "V9 RoPE": 0.8291, "V10 (long seq.)": 0.8260}


def test_without_runs_and_measurements_everything_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("padding", "neutral", "leak-costs", "leak-words")
    assert [makers(PAPER)[name]([])[0].name for name in names] == list(names)
    for name in PLACES:
        plant(monkeypatch, f"sevenessxin.measured.{name}", tmp_path)
    assert [makers(PAPER)[name]([]) for name in names] == [[]] * 4
    frame = judged([], ["sevenessxin"])
    assert not frame["evidence"].str.contains(BROKEN).any()
    assert (frame.loc[frame["against"] == "runs here", "verdict"] == "unjudged").all()
    assert {answer.verdict for answer in answer_questions([])} == {"unjudged"}
    assert beside([])["value"].isna().all() and curve([])["value"].isna().all()
    assert all(each([]).empty for each in (gains, longer, by_epochs))
    for name, maker in makers(PAPER).items():
        assert all(item.caption for item in maker([])), name


def test_equal_epochs_stand_beside_equal_updates(tmp_path: Path) -> None:
    wrong = (("7ess-v1", 40, ""), ("7ess-v1", 20, "epochs"), (BEST, 30, "epochs"), ("7ess-v2", 50, ""))
    frame = by_epochs([run for name, count, variant in wrong
                       for run in made_seeds(tmp_path, printed_tables.DATASET, name, 2, wrong=count, variant=variant)])  # fmt: skip
    assert frame["model"].tolist() == ["V1 (baseline)", "V6 RoPE"] and frame["seeds"].tolist() == [2, 2]
    assert frame["value"].tolist() == pytest.approx([0.9, 0.85]) and frame["printed"].tolist() == [0.8232, 0.8313]
    assert frame["at_updates"].tolist() == pytest.approx([0.8, np.nan], nan_ok=True)


def test_runs_stand_beside_the_print_and_are_drawn(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_runs = [run for run in runs([trained]).values() if isinstance(run, Run) and run.folder.is_relative_to(trained)]
    run = next(run for run in small_runs if run.configuration == "7ess-v1")
    row = beside(small_runs).set_index("preset").loc["7ess-v1"]
    assert row["value"] == run.metrics()["test"]["accuracy"]["value"] and row["printed"] == 0.8232
    (tn, fp), (fn, tp) = run.metrics()["validation"]["confusion"]
    f1 = validation_f1([run])
    assert f1["value"] == pytest.approx(2 * tp / (2 * tp + fp + fn), abs=1e-5) and f1["low"] <= f1["value"] <= f1["high"]
    assert f1["n"] == tn + fp + fn + tp and gains(small_runs)["version"].tolist() == ["7ess-v1"]
    measured = curve(small_runs).dropna(subset="value")
    assert measured.loc[measured["preset"] == "7ess-v1", "rows"].tolist() == [5_000, 110_944]
    several, batch = longer(small_runs), run.config["recipe"]["batch_size"]
    assert several["updates"].tolist() == [run.config["steps"], 60] and several["value"].iloc[0] == row["value"]
    assert several["epochs"].tolist() == pytest.approx([updates * batch / 110_944 for updates in several["updates"]])
    monkeypatch.setattr("sentviz.runs.store.roots", lambda folders=(): [trained])
    study = study_runs()  # runs that learned from fewer rows are of the study
    assert {"sentiment140/7ess-v1", "sentiment140/7ess-v1-5k"} <= {run.name for run in study.runs} and not study.left_out
    study = Study.of(printed_tables.DATASET, small_runs)
    figure = gallery.make("version-curves", study)
    assert set(figure.frame["run"]) == {"V1 RoPE", "V6 RoPE"} and figure.frame["epoch"].max() == 2
    assert set(figure.frame["name"]) == {"train_loss", "validation_loss", "validation_f1_positive"}
    assert "7ess-v6-rope-epochs" in figure.source and figure.caption.endswith(" Not installed: V3 RoPE, V5 RoPE.")
    lines = {trace.name: trace.line.color for trace in data_traces(figure) if trace.line.color}
    assert lines == {"V1 RoPE": palette("light").line(0), "V6 RoPE": palette("light").line(5)}
    short = Study.of(printed_tables.DATASET, [run for run in small_runs if not run.name.endswith("-epochs")])
    for drawn in (gallery.make("version-curves", study, equal="updates"), gallery.make("version-curves", short)):
        assert "-epochs" not in drawn.source and "by step" in drawn.caption
    with pytest.raises(InputError, match="V5 RoPE, V6 RoPE is installed"):
        gallery.make("version-curves", Study.of(printed_tables.DATASET, []))
    frame = gallery.make("curves", Runs.of(*small_runs), x="step").frame
    starred = {name: list(steps) for name, steps in frame[frame["best"]].groupby("run")["step"].unique().items()}
    assert {run.name: [run.config["best"]["step"]] for run in small_runs} == starred  # the step of the stored weights, chosen by F1
    items_of = {name: makers(PAPER)[name](small_runs) for name in ("schema", "curves", "matrix", "importance")}
    assert {name: len(items) for name, items in items_of.items()} == {"schema": 1, "curves": 1, "matrix": 1, "importance": 2}
    model = sentviz.load(next(run for run in small_runs if run.configuration == "7ess-v1"))
    frame = kit.toy_splits()["test"].frame.head(24)
    table, texts = padding(model, frame).set_index("of"), frame["text"].tolist()
    answers = [model.predict(texts, strength={"mask": factor})["label"].to_numpy() for factor in (1, 0)]
    right = [(each == np.array(model.labels)[frame["label"]]).mean() for each in answers]
    changes = [(answers[0] != answers[1]).mean(), right[1] - right[0]]
    assert table.loc["all", ["changed", "difference"]].tolist() == pytest.approx(changes) and table["n"].iloc[1:].sum() == 24
    counted = neutral(model, frame.assign(label=[0, 1, 2] * 8)).set_index("of")
    sure = model.predict(texts)[list(model.labels)].max(axis=1).to_numpy() >= 0.9
    assert counted["n"].to_dict() == {"neutral": 8, "polar": 16} and counted.loc["neutral", "sure"] == pytest.approx(sure[1::3].mean())


# ---- figures


# ---- measurements


def test_words_letters_and_emphasis_are_measured_as_by_hand() -> None:
    labels = [0, 1] * 200
    weeks = pd.DataFrame({"label": labels, "text": ["snow bad the" if label == 0 else "good the" for label in labels]})
    scores = telling(weeks, weeks.assign(text=["snow bad the" if label == 0 else "snow good the" for label in labels])).set_index("word")
    assert scores["z"].abs().idxmax() == "snow" and scores.loc["bad", "z"].tolist()[0] == pytest.approx(0)
    side, weeks_ratio, whole_ratio = scores.loc["snow", ["side", "weeks", "whole"]].iloc[0]
    assert side == "negative" and weeks_ratio == pytest.approx(np.log(0.5 / 200.5) - np.log(200.5 / 0.5))
    assert whole_ratio == pytest.approx(0)
    rng, labels = np.random.default_rng(0), np.arange(400) % 2
    noisy = np.where(rng.random(400) < 0.7, labels, 1 - labels)
    topics, feelings = np.array(["snow", "beach"]), np.array(["sad", "glad"])
    sets = {name: pd.DataFrame({"label": labels, "text": [f"{topics[a]} {feelings[b]}" for a, b in zip(topic, noisy, strict=True)]})
            for name, topic in (("leaky", labels), ("fair", rng.integers(0, 2, 400)))}  # fmt: skip
    value = costs(sets, sets).set_index(["trained", "tested"])["value"]
    assert value["leaky", "leaky"] == 1 and value["fair", "fair"] > value["leaky", "fair"] + 0.1
    words = ("but", "lol", "love", "now")
    counts = Counts(words, tuple(cloud_words.CELLS.values()), np.array([[9, 1, 2, 0]] * 4), np.ones((4, 4), np.int64), np.full(4, 9), 1)
    table = cloud_words.ranks(counts, "run").set_index(["cell", "word"])["rank"]
    assert table["TP"][["love", "lol", "now"]].tolist() == [1, 2, 0]
    assert {"but", "not", "no", "too", "just", "get", "like", "very"} <= wordcloud_stop_words() - stop_words(["en"])
    texts = {"soooo good": ("so good", (True, False)), "good book": ("good book", (False, False)), "SOOOO GOOD": ("SO GOOD", (True, True))}
    texts |= {text: (text, (False, False)) for text in ("@heyyyy see www.zzzz.com", "1000 OK...")}
    assert {text: (emphasis.once(text), emphasis.kinds(text)) for text in texts} == texts

    def forward(texts: list[str]) -> tuple[np.ndarray, None]:
        positive = np.array(["so" in text.lower().split() for text in texts])
        return np.stack([~positive, positive], axis=1).astype(float), None

    model: Any = SimpleNamespace(read=lambda frame: frame["text"].tolist(), forward=forward)
    rows = emphasis.measure(model, pd.DataFrame({"text": ["sooo", "nooo", "so", "WOW"], "label": [1, 0, 1, 1]})).set_index("of")
    assert rows["n"].to_dict() == {"repeated letters": 2, "capitals": 1, "neither": 1}
    assert rows.loc["repeated letters", ["accuracy", "changed", "difference"]].tolist() == [0.5, 0.5, 0.5]
    assert rows.loc["capitals", "difference"] == rows.loc["neither", "changed"] == 0

"""The page of 7ess-Xin with no run, with small runs of the made-up set under its data set's name, and its tables by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from experiments.sevenessxin.leak import costs, telling
from experiments.sevenessxin.neutral import neutral
from experiments.sevenessxin.padding import padding
from sentviz.charts import gallery
from sentviz.charts.colours import palette
from sentviz.charts.learning import learning_curve
from sentviz.charts.subjects import Runs, Study
from sentviz.errors import InputError
from sentviz.io.numbers import percent
from sentviz.papers.sevenessxin import printed_tables
from sentviz.papers.sevenessxin.figures import _importance
from sentviz.papers.sevenessxin.study import beside, curve, gains, log, longer, validation_f1
from sentviz.papers.sevenessxin.versions import ROPE
from sentviz.papers.studies.claims import BROKEN, judged
from sentviz.papers.studies.items import makers
from sentviz.runs.catalog import study_runs
from sentviz.runs.printed import printed
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run, find, runs
from sentviz.training import train
from tests import kit as made_up
from tests.charts import data_traces
from tests.kit import opened
from tests.studies import plant

PAPER = find_paper("sevenessxin")
APP = Path(__file__).parents[1] / "app" / "navigation.py"
SMALL: dict[str, Any] = {"width": 16, "heads": 2, "ffn_width": 16, "layers": 2}
NAMES = ("7ess-v1", f"7ess-v1-{ROPE}", f"7ess-v6-{ROPE}")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three versions, a point of the curve and one of more updates, of the made-up set under the name of Sentiment140."""
    root = tmp_path_factory.mktemp("seven")
    with pytest.MonkeyPatch.context() as patch:
        splits = made_up.use_toy_data(patch)
        patch.setattr("sentviz.data.datasets.load_split", lambda name, split: splits[split])
        common: dict[str, Any] = {"dataset": printed_tables.DATASET, "shape": SMALL, "select": "f1_positive", "epochs": 1}
        common["example"] = "so good"
        for name in NAMES:
            train(made_up.toy_recipe(name, **common), root, progress=False)
        train(made_up.toy_recipe("7ess-v1", variant="5k", rows=20, **common), root, progress=False)
        train(made_up.toy_recipe("7ess-v1", variant="6k-updates", updates=60, **common), root, progress=False)
        for name in NAMES[1:]:
            train(made_up.toy_recipe(name, variant="epochs", **common | {"epochs": 2}), root, progress=False)
    return root


@pytest.fixture
def small_runs(trained: Path) -> list[Run]:
    return [run for run in runs([trained]).values() if isinstance(run, Run) and run.folder.is_relative_to(trained)]


def test_the_printed_tables_are_the_papers() -> None:
    """A few cells by hand, and what an F1 must be of its precision and recall."""
    frame = printed_tables.table("results").set_index("model")
    assert frame.loc["7ess-v6-rope", "accuracy"] == 0.8313 and frame.loc["7ess-v5", "f1_positive"] == 0.7821 and len(frame) == 20
    mean = 2 * frame["precision_positive"] * frame["recall_positive"] / (frame["precision_positive"] + frame["recall_positive"])
    assert (mean - frame["f1_positive"]).abs().max() < 6e-4
    values = printed("sentiment140", "7ess-v1").set_index("name")["value"]
    assert values["accuracy"] == 0.8232 and printed("sst2", "7ess-v1").empty and printed("sentiment140", "cnn").empty


def test_the_log_differs_where_it_is_said_to() -> None:
    frame = log()
    accuracy = frame[frame["metric"] == "accuracy"].set_index("model")["logged"].to_dict()
    assert accuracy == {"V6 RoPE": 0.8305, "V7 RoPE": 0.8268, "V8 RoPE": 0.8298, "V9 RoPE": 0.8291, "V10 (long seq.)": 0.8260}


def test_without_runs_everything_says_how_to_train_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PADDING", "NEUTRAL"):
        plant(monkeypatch, f"sevenessxin.measured.{name}", tmp_path)
    frame = judged([], ["sevenessxin"])
    assert not frame["evidence"].str.contains(BROKEN).any()
    assert (frame.loc[frame["against"] == "runs here", "verdict"] == "unjudged").all()
    assert beside([])["value"].isna().all() and gains([]).empty and longer([]).empty and curve([])["value"].isna().all()
    for name, maker in makers(PAPER).items():
        assert all(item.caption for item in maker([])), name


def test_what_was_measured_beside_the_study_is_made_where_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    makers_by_name = makers(PAPER)
    names = ("padding", "neutral", "leak-costs", "leak-words")
    assert [makers_by_name[name]([])[0].name for name in names] == list(names)
    for place in ("measured.PADDING", "measured.NEUTRAL", "measured.LEAK_COSTS", "measured.LEAK_WORDS"):
        plant(monkeypatch, f"sevenessxin.{place}", tmp_path)
    assert [makers_by_name[name]([]) for name in names] == [[]] * 4


@pytest.mark.exhaustive
def test_measured_stands_beside_printed(small_runs: list[Run]) -> None:
    """The row of a version has the run's accuracy and the reported one; validation F1 equals that of the confusion matrix to 1e-5."""
    run = next(run for run in small_runs if run.configuration == "7ess-v1")
    row = beside(small_runs).set_index("preset").loc["7ess-v1"]
    assert row["value"] == run.metrics()["test"]["accuracy"]["value"] and row["printed"] == 0.8232
    (tn, fp), (fn, tp) = run.metrics()["validation"]["confusion"]
    f1 = validation_f1([run])
    assert f1["value"] == pytest.approx(2 * tp / (2 * tp + fp + fn), abs=1e-5) and f1["low"] <= f1["value"] <= f1["high"]
    assert f1["n"] == tn + fp + fn + tp
    assert gains(small_runs)["version"].tolist() == ["7ess-v1"]
    measured = curve(small_runs).dropna(subset="value")
    assert measured.loc[measured["preset"] == "7ess-v1", "rows"].tolist() == [5_000, 110_944]
    several = longer(small_runs)
    batch = run.config["recipe"]["batch_size"]
    assert several["updates"].tolist() == [run.config["steps"], 60] and several["value"].iloc[0] == row["value"]
    assert several["epochs"].tolist() == pytest.approx([updates * batch / 110_944 for updates in several["updates"]])


@pytest.mark.exhaustive
def test_runs_that_learned_from_fewer_rows_are_of_the_study(trained: Path, small_runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs trained on fewer rows belong to the study."""
    monkeypatch.setattr("sentviz.runs.store.roots", lambda folders=(): [trained])
    study = study_runs()
    assert {"sentiment140/7ess-v1", "sentiment140/7ess-v1-5k"} <= {run.name for run in study.runs} and not study.left_out


@pytest.mark.exhaustive
def test_padding_is_measured_as_by_hand(small_runs: list[Run]) -> None:
    import sentviz

    model = sentviz.load(next(run for run in small_runs if run.configuration == "7ess-v1"))
    frame = made_up.toy_splits()["test"].frame.head(24)
    table = padding(model, frame).set_index("of")
    predicted = [model.predict(frame["text"].tolist(), strength={"mask": factor})["label"].to_numpy() for factor in (1, 0)]
    names = np.array(model.labels)[frame["label"]]
    assert table.loc["all", "changed"] == pytest.approx((predicted[0] != predicted[1]).mean())
    assert table.loc["all", "difference"] == pytest.approx((predicted[1] == names).mean() - (predicted[0] == names).mean())
    assert table["n"].iloc[1:].sum() == 24


def test_telling_words_are_those_that_stand_with_a_class_in_one_set_only() -> None:
    """A word of one class there and of both here has the largest z, with its ratio by hand; one alike in both sets has none."""
    labels = [0, 1] * 200
    weeks = pd.DataFrame({"label": labels, "text": ["snow bad the" if label == 0 else "good the" for label in labels]})
    whole = weeks.assign(text=["snow bad the" if label == 0 else "snow good the" for label in labels])
    scores = telling(weeks, whole).set_index("word")
    assert scores["z"].abs().idxmax() == "snow" and scores.loc["snow", "side"].tolist()[0] == "negative"
    by_hand = np.log(0.5 / 200.5) - np.log(200.5 / 0.5)
    assert scores.loc["snow", "weeks"].tolist()[0] == pytest.approx(by_hand) and scores.loc["snow", "whole"].tolist()[0] == pytest.approx(0)
    assert scores.loc["bad", "z"].tolist()[0] == pytest.approx(0)


def test_a_probe_pays_for_a_leak() -> None:
    """Trained where a topic gives the label away, it is right there and guesses elsewhere; the other learned the sentiment."""
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    topics, feelings = np.array(["snow", "beach"]), np.array(["sad", "glad"])
    noisy = np.where(rng.random(400) < 0.7, labels, 1 - labels)
    topic_codes = {"leaky": labels, "fair": rng.integers(0, 2, 400)}
    sets = {
        name: pd.DataFrame({"label": labels, "text": [f"{topics[a]} {feelings[b]}" for a, b in zip(topic, noisy, strict=True)]})
        for name, topic in topic_codes.items()
    }
    value = costs(sets, sets).set_index(["trained", "tested"])["value"]
    assert value["leaky", "leaky"] == 1 and value["fair", "fair"] > value["leaky", "fair"] + 0.1


@pytest.mark.exhaustive
def test_curves_show_the_f1_that_chose_the_stored_weights(small_runs: list[Run]) -> None:
    """Runs chosen by F1 have its panel (figure 4), and the star marks the step of the stored weights, not the best accuracy."""
    frame = gallery.make("curves", Runs.of(*small_runs), x="step").frame
    assert "validation_f1_positive" in set(frame["name"])
    starred = frame[frame["best"]].groupby("run")["step"].unique()
    assert {run.name: [run.config["best"]["step"]] for run in small_runs} == {name: list(steps) for name, steps in starred.items()}


@pytest.mark.exhaustive
def test_neutral_tweets_are_counted_apart(small_runs: list[Run]) -> None:
    import sentviz

    model = sentviz.load(small_runs[0])
    frame = made_up.toy_splits()["test"].frame.head(9).assign(label=[0, 1, 2] * 3)
    table = neutral(model, frame).set_index("of")
    sure = model.predict(frame["text"].tolist())[list(model.labels)].max(axis=1).to_numpy() >= 0.9
    assert table["n"].to_dict() == {"neutral": 3, "polar": 6}
    assert table.loc["neutral", "sure"] == pytest.approx(sure[1::3].mean())


@pytest.mark.exhaustive
@pytest.mark.parametrize("there", [False, True], ids=["no run", "small runs"])
def test_every_part_opens(there: bool, trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every part opens without an error; parts that lack runs show the command that trains them."""
    monkeypatch.setattr("sentviz.runs.store.roots", lambda folders=(): [trained if there else tmp_path])
    st.cache_resource.clear()
    st.cache_data.clear()
    for part in PAPER.page.parts:
        app = opened("sevenessxin", run="", part=part)
        if not there and part in ("results", "phases", "curve", "training", "matrix", "importance", "clouds"):
            assert any("sentviz study sevenessxin" in info.value for info in app.info), part
        if there and part == "importance":
            assert len(app.get("plotly_chart")) == 2
        if there and part == "padding":
            assert app.dataframe[-1].value["tokens"].tolist()[1] == 16


@pytest.mark.exhaustive
def test_the_mask_is_taken_away_by_a_switch(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A switch on Explore removes the mask: the page shows the prediction without it, and a note; switching it on undoes this."""
    import sentviz

    monkeypatch.setattr("sentviz.runs.store.roots", lambda folders=(): [trained])
    st.cache_resource.clear()
    st.cache_data.clear()
    app = AppTest.from_file(str(APP), default_timeout=240)
    app.query_params["run"] = "sentiment140/7ess-v1"
    app.query_params["whatif"] = "open"
    app.run()
    assert not app.exception and app.toggle(key="switch-mask").value
    app.toggle(key="switch-mask").set_value(False).run()
    assert not app.exception and app.session_state["focus"].change.text() == "term:mask=0"
    page_text = " ".join(each.value for each in (*app.markdown, *app.caption))
    run = next(run for run in runs([trained]).values() if isinstance(run, Run) and run.name == "sentiment140/7ess-v1")
    unmasked = sentviz.load(run).trace("so good", strength={"mask": 0})
    assert "without its mask" in page_text and f"{unmasked.label.capitalize()}, {percent(unmasked.confidence, 0)}" in page_text
    app.toggle(key="switch-mask").set_value(True).run()
    assert not app.exception and not app.session_state["focus"].change


# ---- figures


def points() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "preset": ["a", "a", "a", "b"],
            "rows": [100.0, 1000.0, 5000.0, 1000.0],
            "value": [0.6, 0.7, np.nan, 0.65],
            "low": [0.5, 0.65, np.nan, 0.6],
            "high": [0.7, 0.75, np.nan, 0.7],
            "n": [50.0, 50.0, np.nan, 50.0],
            "seeds": [1.0, 3.0, np.nan, 1.0],
            "printed": [np.nan, np.nan, 0.8, np.nan],
        }
    )


def test_a_learning_curve_draws_what_is_measured_and_what_is_printed() -> None:
    figure = learning_curve(points(), {"a": "A", "b": "<B>"}, title="Accuracy by rows", note="A note.")
    lines = {trace.name: (list(trace.x), list(trace.y)) for trace in data_traces(figure)}
    assert lines == {"A": ([100, 1000], [0.6, 0.7]), "A, reported": ([5000], [0.8]), "&lt;B&gt;": ([1000], [0.65])}
    assert "A note." in figure.caption and "n = 50; seeds: 1 to 3." in figure.caption
    assert list(figure.plot.data[0].error_y.array) == pytest.approx([0.1, 0.05])
    with pytest.raises(InputError, match="No point of this learning curve has been measured"):
        learning_curve(points().assign(value=np.nan), {"a": "A"}, title="none")


def test_importance_is_drawn_beside_an_even_share() -> None:
    of: Any = SimpleNamespace(
        trace=SimpleNamespace(tokens=("so", "<b>", "[PAD]"), padding=1, map=lambda layer: np.array([[0.5, 0.1, 0.4]]))
    )
    figure = _importance(of)
    assert list(figure.plot.data[0].y) == [0.5, 0.1] and list(figure.plot.layout.xaxis.ticktext) == ["so", "&lt;b&gt;"]
    assert figure.plot.layout.shapes[0].y0 == pytest.approx(0.3) and "40\u00a0% of the attention is on padding" in figure.caption


@pytest.mark.exhaustive
def test_figure_1_is_drawn_from_the_configuration(small_runs: list[Run]) -> None:
    """The encoder has the sizes of the run that is asked for; a version that is not installed is named with its command."""
    study = Study.of(printed_tables.DATASET, small_runs)
    figure = gallery.make("version-schema", study, version="7ess-v1-rope")
    sizes = figure.frame.groupby("part")["sizes"].first()
    assert sizes["Attention"].startswith("2 heads of 8 numbers; RoPE") and sizes["Feed-forward"] == "16 to 16, ReLU, to 16"
    assert figure.frame["times"].tolist() == [1, 1, 2, 2, 2, 2, 1, 1] and "lacks" in figure.caption
    assert "sinusoids" in gallery.make("version-schema", study, version="7ess-v1").frame["sizes"][1]
    with pytest.raises(InputError, match="No run of V9 RoPE is installed: `sentviz study"):
        gallery.make("version-schema", study, version="7ess-v9-rope")


@pytest.mark.exhaustive
def test_figures_2_to_4_show_the_versions_of_the_paper(small_runs: list[Run]) -> None:
    """The curves are those of the installed versions of the second phase: of equal epochs, else of equal updates."""
    study = Study.of(printed_tables.DATASET, small_runs)
    figure = gallery.make("version-curves", study)
    assert set(figure.frame["run"]) == {"V1 RoPE", "V6 RoPE"} and figure.frame["epoch"].max() == 2
    assert set(figure.frame["name"]) == {"train_loss", "validation_loss", "validation_f1_positive"}
    assert "7ess-v6-rope-epochs" in figure.source and "by epoch" in figure.caption
    assert figure.caption.endswith(" Not installed: V3 RoPE, V5 RoPE.")
    lines = {trace.name: trace.line.color for trace in data_traces(figure) if trace.line.color}
    assert lines == {"V1 RoPE": palette("light").line(0), "V6 RoPE": palette("light").line(5)}
    short = [run for run in small_runs if not run.name.endswith("-epochs")]
    for drawn in (
        gallery.make("version-curves", study, equal="updates"),
        gallery.make("version-curves", Study.of(printed_tables.DATASET, short)),
    ):
        assert "-epochs" not in drawn.source and "by step" in drawn.caption
    with pytest.raises(InputError, match="V5 RoPE, V6 RoPE is installed"):
        gallery.make("version-curves", Study.of(printed_tables.DATASET, []))


def test_every_live_item_of_one_version_is_exported(small_runs: list[Run]) -> None:
    """The matrix, both sentences of the paper and the curves are made of the runs, not answered by "no run here"."""
    items_of = {name: make(small_runs) for name, make in makers(PAPER).items() if name in ("schema", "curves", "matrix", "importance")}
    assert {name: len(items) for name, items in items_of.items()} == {"schema": 1, "curves": 1, "matrix": 1, "importance": 2}
    assert len({item.name for item in items_of["importance"]}) == 2


def test_the_page_says_how_its_runs_differ_from_the_papers() -> None:
    """The header names the share of the tweets from the counts of both, the missing dropouts, and that the authors trained once."""
    words = PAPER.page.cannot
    ours = find("sentiment140/7ess-v1-rope").config["data"]["splits"]["train"]["n"]
    share = round(1_280_000 / ours)
    assert f"{ours:,}" in words and {12: "a twelfth", 14: "a fourteenth"}[share] in words
    assert "two dropouts" in words and "each version was trained only once" in words

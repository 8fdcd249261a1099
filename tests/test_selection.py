"""Selections of rows against loops, clusters of texts as slices, predictions without a model, and models without files."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sentviz
from sentviz.analysis.embeddings.projection import method_title, parsed_method, project
from sentviz.analysis.evaluation import confusion
from sentviz.analysis.testset import selection as lib
from sentviz.analysis.testset.clusters import FEWEST, MOST, clusters, usual_number
from sentviz.analysis.testset.predictions_file import predictions
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.subset import Subset
from sentviz.analysis.testset.weak import candidates, halves, searched, weak_slices
from sentviz.analysis.testset.word_counts import PRIOR
from sentviz.charts import gallery
from sentviz.charts.gallery import draw
from sentviz.charts.points import Points
from sentviz.charts.source import Source
from sentviz.charts.subjects import Answers, sourced
from sentviz.errors import InputError
from sentviz.export.record import Record
from sentviz.io.files import APP_CLASSES, APP_MODEL
from sentviz.runs.store import Run
from tests.kit import LABELS, WEIGHTS, counting, opened, page_text, refused

N = 1_600
TOPICS = {
    "delivery": "parcel courier late box door driver address tracking van depot stamp label",
    "screen": "pixel bright colour glass dim scratch contrast frame panel glare touch refresh",
    "sound": "bass treble speaker loud echo volume noise headphone tone microphone clip hum",
    "food": "soup bread salt spicy kitchen waiter menu dessert plate sauce fresh table",
}
SHARES = 0.12, 0.3, 0.28, 0.3  # shares of the topics
OURS = ("a dull garden", "a bright song and a warm soup", "the soup is not bright", "nobody sang, it was dull")
FILE = RowsSource("reviews.csv", "0123456789ab")
ORIGIN = "reviews.csv (own file n = 80, digest 0123456789ab)."
NO_VECTORS = "reviews.csv has predictions but no model, so there are no vectors"


def test_words_accuracy_and_neighbours_of_a_selection_are_those_of_loops() -> None:
    rows = brought()
    chosen = rows.frame["text"].str.contains("song").to_numpy()
    frame = lib.typical(lib.selection_words(rows, chosen)).set_index("word")
    assert set(frame.index) >= {"song", "warm"} and "dull" not in frame.index and (frame["low"] > 0).all()
    texts = [{*text.replace(",", "").split()} for text in rows.frame["text"]]
    sides = [[text for text, c in zip(texts, chosen, strict=True) if c == side] for side in (True, False)]
    n, m = (sum(map(len, side)) for side in sides)
    for word, row in frame.iterrows():
        inside, outside = (sum(word in text for text in side) for side in sides)
        a = PRIOR * (inside + outside) / (n + m)
        value = math.log((inside + a) / (n + PRIOR - inside - a)) - math.log((outside + a) / (m + PRIOR - outside - a))
        spread = 1.959964 * math.sqrt(1 / (inside + a) + 1 / (outside + a))
        assert (row["value"], row["low"], row["high"]) == pytest.approx((value, value - spread, value + spread), abs=1e-6)
    rows = brought()
    chosen = np.arange(80) < 20
    frame = lib.accuracy_of_sides(rows, chosen).set_index("side")
    for side, part in (("the selection", range(20)), ("the other rows", range(20, 80))):
        assert frame.loc[side, "right"] == sum(bool(rows.frame["right"][i]) for i in part) and frame.loc[side, "n"] == len(part)
        assert frame.loc[side, "low"] < frame.loc[side, "value"] < frame.loc[side, "high"]
    answer = lib.describe_errors(rows, chosen)
    assert answer.startswith("20 rows selected. reviews.csv is right on 65.0\u00a0% [") and "Most frequent mistake: " in answer
    unlabelled = replace(rows, frame=rows.frame.assign(label=-1))
    assert lib.describe_errors(unlabelled, chosen) == "20 rows selected. None of them has a label."
    for size in [1, 7, 38]:
        rng = np.random.default_rng(size)
        vectors = rng.integers(-3, 4, (40, 3)).astype(np.float16)
        chosen = np.zeros(40, dtype=bool)
        chosen[rng.permutation(40)[:size]] = True
        centre = [sum(float(vectors[i, j]) for i in range(40) if chosen[i]) / size for j in range(3)]
        away = sorted((math.dist(centre, vectors[i].tolist()), i) for i in range(40) if not chosen[i])[:10]
        places, distances = lib.nearest_to(vectors, chosen)
        assert distances == pytest.approx([d for d, _ in away])
        assert [round(d, 9) for d in distances] == sorted(round(d, 9) for d in distances)
        if size == 1:
            assert places.tolist() == [i for _, i in away]
    rows, all_, none = brought(), np.ones(80), np.zeros(80, dtype=bool)
    cases = [lib.describe_errors, lib.selection_words, lib.accuracy_of_sides, lambda _, chosen: lib.nearest_to(np.zeros((80, 2)), chosen)]
    for ask in cases:
        refused(InputError, "The selection holds no row", ask, rows, none)
    with pytest.raises(InputError, match="All rows are selected"):
        lib.typical(lib.selection_words(rows, all_))
    assert not len(lib.nearest_to(np.zeros((80, 2)), all_)[0]) and lib.describe_errors(rows, all_).count("%") == 1
    single = np.arange(80) == 1
    wanted = "1 row selected. reviews.csv is right on 100.0\u00a0% [20.7, 100.0], and on 65.8\u00a0% [54.8, 75.3] of the other rows."
    assert lib.describe_errors(rows, single) == wanted and lib.typical(lib.selection_words(rows, single)).empty


def test_settings_of_a_method_are_in_its_name_and_odd_clusters_are_refused() -> None:
    assert parsed_method("tsne-50") == ("tsne", 50) and parsed_method("umap") == ("umap", 0)
    for wrong in ("pca-5", "tsne-", "tsne-0", "tsne-9999", "tsne-5.5", "mds"):
        assert parsed_method(wrong) == ("", 0)
        with pytest.raises(InputError, match="A projection uses"):
            project(np.eye(8), wrong)
    part = Slice.parse("lasso=tsne-50.2:0,0;1,0;1,1")
    assert part is not None and part.picture == ("tsne-50", 2)
    assert part.says(("a", "b")) == "inside the outline drawn in the t-SNE (perplexity 50) picture of layer 2"
    assert method_title("umap-5") == "UMAP (neighbours 5)"
    for value in ("", "12", "12:", "12:a,,b", "1:a", "101:a", "x:a", "12:a,b,c,d"):
        with pytest.raises(InputError):
            Slice.parse(f"cluster={value}")


def table(seed: int = 0, n: int = N) -> pd.DataFrame:
    """Return made-up texts of four topics with predictions; those on delivery are often wrong. Every tenth row has no label.

    Each text has four of the twelve words of its topic, so that no word alone holds the topic.
    """
    rng = np.random.default_rng(seed)
    topic = rng.choice(list(TOPICS), n, p=SHARES)
    texts = [" ".join([*rng.choice(TOPICS[name].split(), 4, replace=False), f"n{i}"]) for i, name in enumerate(topic)]
    label = rng.integers(0, 2, n)
    answers = np.where(rng.random(n) < np.where(topic == "delivery", 0.5, 0.9), label, 1 - label)
    names = np.array(["negative", "positive"])
    written = np.where(np.arange(n) % 10 == 9, None, names[label])  # type: ignore[call-overload]
    return pd.DataFrame({"text": texts, "label": written, "predicted": names[answers], "topic": topic})


def rows_of(frame: pd.DataFrame) -> Rows:
    return next(iter(predictions(frame).values()))


@pytest.fixture(scope="module")
def topics() -> np.ndarray:
    return table()["topic"].to_numpy()


@pytest.fixture(scope="module")
def rows() -> Rows:
    return rows_of(table().drop(columns="topic"))


def test_a_planted_cluster_is_found_and_shuffled_labels_give_none(rows: Rows, topics: np.ndarray) -> None:
    weak = weak_slices(rows)
    matches = [row for row in weak.weaker.to_dict("records") if row["slice"].startswith("cluster=")]
    assert matches and matches[0]["slice"] == weak.weaker["slice"].iloc[0], weak
    labelled, second = rows.labels >= 0, ~halves(rows, 0)
    right = rows.frame["right"].to_numpy(bool)
    for row in matches:
        mask = Subset.parse(row["slice"]).mask(rows)
        assert np.mean(topics[mask] == "delivery") > 0.95 and row["rows"] == sum(mask[i] and labelled[i] for i in range(N))
        assert row["n"] == sum(mask[i] and labelled[i] and second[i] for i in range(N))
        assert row["right"] == sum(mask[i] and labelled[i] and second[i] and right[i] for i in range(N))
        assert set(Slice(*row["slice"].split("=")).clustered[1]) <= set(TOPICS["delivery"].split())
        assert row["says"].startswith("similar texts: ")
    of = candidates(rows)
    assert any(part.kind == "cluster" for parts in of.parts for part in parts)
    assert of.words == sum(part.kind == "word" for (part,) in of.parts) > 0
    known = rows_of(table()[rows.labels >= 0].drop(columns="topic"))
    labels = (np.random.default_rng(seed).permutation(known.labels) for seed in range(20))
    assert sum(not searched(known, of, known.predicted == each).weaker.empty for each in labels) <= 3


@pytest.mark.parametrize("fitted", [400, N])
def test_as_many_clusters_as_topics_are_the_topics(rows: Rows, topics: np.ndarray, fitted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.analysis.testset.clusters.FITTED", fitted)
    matches, again = clusters(rows, 4), clusters(rows, 4)
    assert [*matches] == [*again] and all((matches[key] == again[key]).all() for key in matches)
    assert (np.sum([*matches.values()], axis=0) == 1).all()
    for keywords, inside in matches.items():
        (topic,) = {name for name, words in TOPICS.items() if keywords[0] in words.split()}
        assert set(keywords) <= set(TOPICS[topic].split()) and np.mean(topics[inside] == topic) > 0.95


def test_rows_that_form_no_clusters_say_why(rows: Rows) -> None:
    frame = table().drop(columns="topic")
    for bad, why in (
        (rows_of(frame.head(5)), "12 clusters need at least 12 rows, and there are 5"),
        (rows_of(frame.assign(text="a warm day")), "differ too little in their frequent words to form 12 clusters"),
        (rows_of(frame.assign(text="?")), "differ too little"),
        (rows_of(frame.tail(N // 2)), "None of the 12 clusters of these rows has the keywords none, such"),
    ):
        with pytest.raises(InputError, match=why):
            Subset.parse("cluster=12:none,such").mask(bad)
    assert usual_number(1) == FEWEST and usual_number(10**9) <= MOST
    equal = weak_slices(rows_of(frame.assign(text=[f"a warm day {i}" for i in range(N)], part=["x", "y"] * (N // 2))))
    assert not equal.frame["slice"].str.contains("cluster").any()


def brought(source: RowsSource = FILE, labels: bool = True) -> Rows:
    """Return 80 rows with texts, as a file of predictions gives them; two thirds of the predictions are right."""
    label, wrong = np.arange(80) % 2, np.arange(80) % 3 == 0
    positive = np.where((label == 1) != wrong, 0.9, 0.2) + np.arange(80) / 1_000
    texts = [OURS[2 * label[place] + wrong[place]] for place in range(80)]  # a text per cell, so that words belong to cells
    columns = {"id": [f"r{place}" for place in range(80)], "label": label if labels else np.full(80, -1), "text": texts}
    return predicted_rows(source, "mine", ("negative", "positive"), columns, np.stack([1 - positive, positive], axis=1))


@pytest.mark.parametrize("name", ["confusion", "classes", "roc", "precision-recall", "threshold", "reliability", "word-cloud", "word-list"])
@pytest.mark.exhaustive
def test_figures_of_rows_need_no_model(name: str) -> None:
    figure = gallery.make(name, Answers.of(brought()))
    assert len(figure.frame) and figure.source == ORIGIN
    assert figure.call is None and figure.runs == () and Record.read(Record.of(figure).text()).source == ORIGIN


def test_numbers_and_words_are_those_of_the_file_and_vectors_need_a_model() -> None:
    rows = brought()
    counts = gallery.make("confusion", Answers.of(rows)).frame["count"].to_numpy()
    assert counts.tolist() == confusion(rows.labels, rows.predicted, 2).ravel().tolist() and counts.min() > 0
    states = [
        set(gallery.make("reliability", Answers.of(brought(source))).frame["state"]) for source in (FILE, RowsSource("a", "b", 3, 2.0))
    ]
    assert states == [{"as it is"}, {"as it is", "logits / 2.00"}]
    of = Answers.of(brought(labels=False))
    assert set(gallery.make("word-cloud", of, by="count").frame["label"]) == {-1}
    words = gallery.make("word-list", of, label=-1, predicted=1, by="count").frame.set_index("word")["count"]
    rows = of.first.frame
    assert words["soup"] == rows.loc[rows["predicted"] == 1, "text"].str.count("soup").sum() > 0
    rows = brought()
    bare = predicted_rows(FILE, "mine", rows.classes, rows.frame.drop(columns="text"), rows.probabilities)
    with pytest.raises(InputError, match="texts of these rows are not available"):
        gallery.make("word-cloud", Answers.of(bare))
    for name in ["embeddings", "silhouette"]:
        with pytest.raises(InputError, match=NO_VECTORS):
            gallery.make(name, Points.of(brought()))


def test_a_file_is_compared_with_a_run(tiny_run: Path) -> None:
    run = Run.open(tiny_run)
    figure = gallery.make("agreement", Answers.of(brought(RowsSource.of(run)), brought()))
    origin = f"{run.name} (seed 0, own file n = 80, digest {run.digest})"
    assert figure.source == f"{origin}; {ORIGIN}" and figure.call is None
    assert figure.runs == (Source(run.name, run.digest, 0, "own file n = 80"),)
    assert sourced(figure, run, rows=brought()).source == f"{origin}."


def test_a_figure_of_a_function_has_its_scores_and_one_of_a_run_is_that_of_its_name(tiny_run: Path) -> None:
    model = sentviz.load(counting, classes=LABELS)
    figure = draw(model, "strip", text="A warm but dull garden.", score="removal")
    scores = dict(zip(figure.frame["token"], figure.frame["word removal"], strict=True))
    sign = 1 if model.predict(["A warm but dull garden."])["label"][0] == "positive" else -1
    assert scores["warm"] == pytest.approx(sign * WEIGHTS["warm"], abs=1e-3)
    assert scores["dull"] == pytest.approx(sign * WEIGHTS["dull"], abs=1e-3)
    assert figure.source == "counting, a model open in memory (“A warm but dull garden.”)." and figure.call is None
    record = Record.of(figure)
    assert record.runs == () and Record.read(record.text()).source == figure.source
    model = sentviz.load(counting, classes=LABELS)
    refused(InputError, "counting has no attention maps", draw, model, "attention", text="A warm garden.")
    refused(InputError, "The figure confusion needs rows: name a file or a data set with data", draw, model, "confusion")
    refused(InputError, "give a text", draw, model, "strip")
    text = "a quiet delight"
    by_model, by_name = (draw(source, "attention", text=text).frame for source in (sentviz.load(tiny_run), str(tiny_run)))
    numbers = by_name.select_dtypes("number").columns
    assert np.allclose(by_model[numbers], by_name[numbers], atol=1e-6)


@pytest.mark.exhaustive
def test_the_app_opens_with_a_model_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(APP_MODEL, "tests.kit:counting")
    monkeypatch.setenv(APP_CLASSES, ",".join(LABELS))
    app = opened(run="")
    assert app.session_state["focus"].run == "open/counting" and not app.warning
    assert any(each.startswith("Your model · open/counting") for each in app.selectbox(key="focus-run").options)
    assert "Word removal still explains" in page_text(app)
    app = opened("confusion", run="open/counting", over="demo")
    assert "open/counting is right on" in page_text(app)
    app = opened("confusion", run="open/counting", over="test")
    assert "open/counting has no predictions for the" in page_text(app)
    rows = app.selectbox(key="focus-over")
    assert not rows.value, "rows that are not shown must not look selected, since a click on them would change nothing"
    assert "open in memory and has no files" in page_text(opened("runs", run="open/counting"))
    monkeypatch.setenv(APP_MODEL, "tests.kit:missing")
    assert opened("glossary", run="").session_state["focus"].run != "open/counting"

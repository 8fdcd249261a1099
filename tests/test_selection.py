"""Check what a selection of rows holds, against loops, and clusters of texts as slices, one of which is planted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.embeddings.projection import method_title, parsed_method, project
from sentviz.analysis.testset import selection as lib
from sentviz.analysis.testset.clusters import FEWEST, MOST, clusters, usual_number
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.subset import Subset
from sentviz.analysis.testset.weak import candidates, halves, searched, weak_slices
from sentviz.analysis.testset.word_counts import PRIOR
from sentviz.errors import InputError
from tests.test_predictions_only import brought
from tests.test_weak import rows_of


def test_words_are_compared_with_the_other_rows() -> None:
    """The log-odds ratio of each word is that of a loop over the rows, with 95 % intervals."""
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


def test_accuracy_is_counted_on_both_sides() -> None:
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


@pytest.mark.parametrize("size", [1, 7, 38])
def test_nearest_rows_are_those_of_a_loop(size: int) -> None:
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


def test_an_empty_selection_and_one_of_everything() -> None:
    rows, all_, none = brought(), np.ones(80), np.zeros(80, dtype=bool)
    for ask in (
        lib.describe_errors,
        lib.selection_words,
        lib.accuracy_of_sides,
        lambda _, chosen: lib.nearest_to(np.zeros((80, 2)), chosen),
    ):
        with pytest.raises(InputError, match="The selection holds no row"):
            ask(rows, none)
    with pytest.raises(InputError, match="All rows are selected"):
        lib.typical(lib.selection_words(rows, all_))
    assert not len(lib.nearest_to(np.zeros((80, 2)), all_)[0]) and lib.describe_errors(rows, all_).count("%") == 1
    single = np.arange(80) == 1
    wanted = "1 row selected. reviews.csv is right on 100.0\u00a0% [20.7, 100.0], and on 65.8\u00a0% [54.8, 75.3] of the other rows."
    assert lib.describe_errors(rows, single) == wanted and lib.typical(lib.selection_words(rows, single)).empty


def test_settings_of_a_method_are_in_its_name() -> None:
    assert parsed_method("tsne-50") == ("tsne", 50) and parsed_method("umap") == ("umap", 0)
    for wrong in ("pca-5", "tsne-", "tsne-0", "tsne-9999", "tsne-5.5", "mds"):
        assert parsed_method(wrong) == ("", 0)
        with pytest.raises(InputError, match="A projection uses"):
            project(np.eye(8), wrong)
    part = Slice.parse("lasso=tsne-50.2:0,0;1,0;1,1")
    assert part is not None and part.picture == ("tsne-50", 2)
    assert part.says(("a", "b")) == "inside the outline drawn in the t-SNE (perplexity 50) picture of layer 2"
    assert method_title("umap-5") == "UMAP (neighbours 5)"


N = 1_600
TOPICS = {
    "delivery": "parcel courier late box door driver address tracking van depot stamp label",
    "screen": "pixel bright colour glass dim scratch contrast frame panel glare touch refresh",
    "sound": "bass treble speaker loud echo volume noise headphone tone microphone clip hum",
    "food": "soup bread salt spicy kitchen waiter menu dessert plate sauce fresh table",
}
SHARES = 0.12, 0.3, 0.28, 0.3  # shares of the topics


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


@pytest.fixture(scope="module")
def topics() -> np.ndarray:
    return table()["topic"].to_numpy()


@pytest.fixture(scope="module")
def rows() -> Rows:
    return rows_of(table().drop(columns="topic"))


def test_a_planted_cluster_is_found_and_the_link_gives_its_rows(rows: Rows, topics: np.ndarray) -> None:
    """Clusters of delivery are found on the held-out half, and hold rows of no other topic; a link has the rows of the search."""
    weak = weak_slices(rows)
    matches = [row for row in weak.weaker.to_dict("records") if row["slice"].startswith("cluster=")]
    assert matches and matches[0]["slice"] == weak.weaker["slice"].iloc[0], weak
    labelled, second = rows.labels >= 0, ~halves(rows, 0)
    right = rows.frame["right"].to_numpy(bool)
    for row in matches:
        mask = Subset.parse(row["slice"]).mask(rows)
        assert np.mean(topics[mask] == "delivery") > 0.95
        assert row["rows"] == sum(mask[i] and labelled[i] for i in range(N))
        assert row["n"] == sum(mask[i] and labelled[i] and second[i] for i in range(N))
        assert row["right"] == sum(mask[i] and labelled[i] and second[i] and right[i] for i in range(N))
        assert set(Slice(*row["slice"].split("=")).clustered[1]) <= set(TOPICS["delivery"].split())
        assert row["says"].startswith("similar texts: ")


def test_shuffled_labels_give_no_cluster(rows: Rows) -> None:
    """20 shuffles: at most 3 find any slice; more would have a probability below 2 % at a rate of 5 %."""
    of = candidates(rows)
    assert any(part.kind == "cluster" for parts in of.parts for part in parts)
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


def test_a_cluster_of_a_link_that_is_not_one_is_refused() -> None:
    for value in ("", "12", "12:", "12:a,,b", "1:a", "101:a", "x:a", "12:a,b,c,d"):
        with pytest.raises(InputError):
            Slice.parse(f"cluster={value}")

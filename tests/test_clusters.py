"""Clusters of texts as slices: one planted on purpose is found, shuffles find none, and a link gives the rows of the search."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.testset.clusters import FEWEST, MOST, clusters, usual_number
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.subset import Subset
from sentviz.analysis.testset.weak import candidates, halves, searched, weak_slices
from sentviz.errors import InputError
from tests.test_weak import rows_of

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
    """Every row is in one cluster, fitted or assigned; a second call gives the same ones; a cluster is named by words of its topic."""
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

"""A whole data set from the hub: conversion, the digests of rows, the command and the button."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

from sentviz.cli import main
from sentviz.data import dataset_info, datasets
from sentviz.data.dataset_info import Cut, DatasetInfo
from sentviz.data.datasets import content, info, load_file, missing_parts, verify
from sentviz.data.fetch import hub as hubdata
from sentviz.data.fetch.download import Stopped
from sentviz.errors import DataMissingError, InputError
from tests.fakehub import ROWS, Hub, put, recipe

HUB_PARTS = [(name, part) for name in datasets.datasets()["name"] for part in info(name).hub.files]


# ---- conversion


def test_columns_and_labels() -> None:
    theirs = pd.DataFrame({"guid": [7, 8, 9], "premise": [" a\r\n", "NS", None], "hypothesis": ["x", "y", "z "], "gold": ["0", "1", "2"]})
    file = recipe(text="premise", text_pair="hypothesis", label="gold", labels=(2, 1, 0), id="guid", strip=True, without="NS")
    converted = hubdata.ours(theirs, file)
    assert converted.to_dict("list") == {"id": ["7", "9"], "text": ["a", ""], "text_pair": ["x", "z"], "label": [2, 0]}
    file = recipe(text="premise", label="gold", id="dev-{row}", labels=(1, 0))
    assert hubdata.ours(theirs, file).to_dict("list") == {
        "id": ["dev-0", "dev-1", "dev-2"],
        "text": [" a\r\n", "NS", ""],
        "label": [1, 0, -1],
    }


def test_content_is_what_it_says() -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "text": ["é\n", '"'], "label": [0, 1]})
    lines = '["a", "é\\n", 0]\n["b", "\\"", 1]\n'
    assert content(frame) == hashlib.sha256(lines.encode()).hexdigest()
    assert content(frame.assign(more=1)[["label", "more", "text", "id"]]) == content(frame)
    assert content(frame[::-1]) != content(frame) != content(frame.assign(id=["a", "c"]))
    scores = frame.assign(label=np.array([3.8, 5.0], dtype=np.float32))
    assert content(scores.astype({"label": "float64"})) == content(scores.assign(label=[3.8, 5.0]))


# ---- a data set


def litter() -> list[str]:
    """Return the files that no finished or failed download should leave in the cache."""
    files = [path for path in datasets.folders()[-1].rglob("*") if path.is_file()]
    return [path.name for path in files if path.name.startswith(".") or path.suffix != ".parquet"]


def test_a_data_set_arrives(hub: Hub, toy: DatasetInfo) -> None:
    seen: list[tuple[int, int]] = []
    assert hubdata.lacking("toy") == ("train", "test") and missing_parts(toy)
    got = hubdata.get("toy", progress=lambda done, total: seen.append((done, total)))
    assert [(part.part, part.rows, part.exact, part.remark) for part in got] == [("train", 41, True, ""), ("test", 10, True, "")]
    assert not missing_parts(toy) and hubdata.lacking("toy") == () and not litter()
    assert seen[-1][0] == seen[-1][1] == sum(map(len, hub.files.values())) and len({total for _, total in seen}) == 1
    assert load_file("toy", "train")["id"].tolist()[:2] == ["train-0", "train-1"]
    assert len(datasets.load_split("toy", "train")) == 40
    verify("toy")  # not the known bytes, but the known rows
    requests_before = len(hub.requests)
    assert hubdata.get("toy") == [] and len(hub.requests) == requests_before
    assert len(hubdata.get("toy", again=True)) == 2


def test_rows_in_another_order_are_put_in_ours(hub: Hub, toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    rank = ROWS.sort_values(["label", "text"], kind="stable").index.to_numpy()
    order = np.empty(len(ROWS), np.uint16)
    order[rank] = np.arange(len(ROWS))
    monkeypatch.setattr(hubdata, "_orders", lambda: {"toy/train": order})
    put(hub, ROWS.sample(frac=1, random_state=1), ROWS[:10])
    assert all(got.exact for got in hubdata.get("toy"))
    verify("toy")


def test_a_different_copy_is_said_and_marked(hub: Hub, toy: DatasetInfo) -> None:
    put(hub, ROWS.assign(text=ROWS["text"].str.upper()), ROWS[:10].assign(label=0))
    train, test = hubdata.get("toy")
    assert not train.exact and "its texts or their order differ; its row ids begin with “hub.”" in train.remark
    assert not test.exact and "its label counts are [10, 0], not [5, 5]" in test.remark
    assert load_file("toy", "test")["id"].tolist()[:2] == ["test-hub-0", "test-hub-1"]
    with pytest.raises(DataMissingError, match=r"train\.parquet is not the known file"):
        verify("toy")


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (ROWS[:30], "a/b, a/train.parquet has 30 rows, not 41, and was not stored"),
        (ROWS.assign(label=3), "has labels other than 0 to 1 and was not stored"),
        (ROWS.drop(columns="label"), "a/b, a/train.parquet has an unexpected layout .KeyError"),
        (None, "has an unexpected layout"),
    ],
)
def test_what_cannot_be_used_is_not_kept(hub: Hub, toy: DatasetInfo, train: pd.DataFrame | None, message: str) -> None:
    put(hub, ROWS if train is None else train, ROWS[:10])
    if train is None:
        hub.files["/datasets/a/b/resolve/main/a/train.parquet"] = b"<html>sign in</html>"
    with pytest.raises(DataMissingError, match=message):
        hubdata.get("toy")
    assert hubdata.lacking("toy") == ("train", "test") and not litter()


def test_two_at_once(hub: Hub, toy: DatasetInfo) -> None:
    got: list[int] = []
    hub.trouble = [None] * 4 + [("stall", 0.3)]
    both = [threading.Thread(target=lambda: got.append(len(hubdata.get("toy")))) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(20)
    assert sorted(got) == [0, 2] and sum(method == "HEAD" for method, _, _ in hub.requests) == 2 and not litter()


@pytest.mark.parametrize("address", ["ftp://somewhere", "http://[x", "https://grüße.de"])
def test_an_address_that_is_none(address: str, toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)
    failed = CliRunner().invoke(main, ["data", "get", "toy"])
    assert failed.exit_code == 1 and "HF_ENDPOINT must be the address of a server" in failed.stderr


def test_what_the_hub_does_not_have(hub: Hub) -> None:
    with pytest.raises(InputError, match=r"no data set 'sst3'; similar names: sst5, sst2"):
        hubdata.get("sst3")
    with pytest.raises(
        DataMissingError, match=r"yelp_full is not on the hub: .* make it from RWooters.*yelp_full/train\.parquet.*text, label"
    ):
        hubdata.get("yelp_full")
    with pytest.raises(DataMissingError, match=r"columns term and polarity"):
        hubdata.get("lexicon_en_vader")
    assert hubdata.get("templates") == []  # sentviz makes them


@pytest.fixture
def mixed(toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> DatasetInfo:
    """Register a mixture: train of rows that the hub lacks, test of toy's, and templates, which need no file."""
    cuts = [Cut((part,), {split: rows}) for part, split, rows in (("yelp_full/train", "train", 9), ("toy/test", "test", 10))]
    item = replace(
        toy, name="mixed", parts={}, hub=dataset_info.Hub({}, "it is made of others"), cuts=(*cuts, Cut(("templates/train",), {}))
    )
    registry = datasets._registry() | {"mixed": item}
    monkeypatch.setattr(datasets, "_registry", lambda: registry)
    return item


def test_a_mixture_gets_the_parts_of_others(hub: Hub, mixed: DatasetInfo) -> None:
    assert missing_parts(mixed) == ("yelp_full/train", "toy/test") and missing_parts(mixed, "test") == ("toy/test",)
    assert hubdata.lacking("mixed") == ("toy/test",)
    done = CliRunner().invoke(main, ["data", "get", "mixed"])
    assert done.exit_code == 0 and "10 rows" in done.stdout
    assert "Not installed: yelp_full/train; yelp_full: it is put together from smaller extracts" in done.stderr
    assert hubdata.lacking("mixed") == () and len(datasets.load_split("mixed", "test")) == 10
    assert hubdata.lacking("toy") == ("train",)
    with pytest.raises(DataMissingError, match=r"yelp_full is not on this machine"):
        datasets.load_split("mixed", "train")


def test_recipes_are_complete() -> None:
    for item in map(info, datasets.datasets()["name"]):
        hub = item.hub
        assert hub.why or set(hub.files) == set(item.parts)
        assert not hub.files or hub.megabytes > 0
        for part, file in hub.files.items():
            known = item.parts[part]
            assert len(known.content) == 64 and sum(known.counts) == known.rows and len(known.counts) == len(item.labels)
            assert bool(file.text_pair) == item.pair and "/" in file.repo and Path(file.path).suffix in (".parquet", ".csv", ".jsonl")
            assert hubdata.url(file).startswith("http") and " " not in hubdata.url(file)
    assert "refs%2Fconvert%2Fparquet" in hubdata.url(info("nsmc").hub.files["test"])


@pytest.mark.exhaustive
@pytest.mark.data
@pytest.mark.parametrize(("name", "part"), HUB_PARTS, ids=str)
def test_digests_of_the_real_rows(name: str, part: str) -> None:
    known, frame = info(name).parts[part], load_file(name, part)
    assert content(frame) == known.content
    assert np.bincount(frame["label"]).tolist() == list(known.counts)


# ---- command and page


def test_commands(hub: Hub, toy: DatasetInfo) -> None:
    run = CliRunner().invoke
    first = run(main, ["data", "get", "toy"])
    assert first.exit_code == 0 and "41 rows" in first.stdout and "Not installed: meta; meta is ours alone." in first.stderr
    assert "already installed; --again" in run(main, ["data", "get", "toy"]).stdout
    assert "The files of toy are as expected" in run(main, ["data", "verify", "toy"]).stdout
    assert "data: toy" in run(main, ["data", "where"]).stdout
    hub.trouble = [404]
    failed = run(main, ["data", "get", "toy", "--again", "--quiet"])
    assert failed.exit_code == 1 and "has no train.parquet" in failed.stderr and "Traceback" not in failed.output
    assert "no data set 'nothing'" in run(main, ["data", "verify", "nothing"]).stderr


def job_ends() -> None:
    """Wait for the download that the page has started."""
    for thread in [thread for thread in threading.enumerate() if thread.name == info("sst2").title]:
        thread.join(10)


def page(name: str = "toy", split: str = "") -> None:
    import streamlit as st

    from app.blocks.get_data import offer

    st.write("here" if offer(name, split) else "not here")


def test_the_button_fetches_stops_and_says_what_failed(hub: Hub, toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_ALLOW_DOWNLOAD", "1")  # the harness gives a visitor no address

    def until_stopped(*_: object, stop: threading.Event, **__: object) -> None:
        assert stop.wait(10)
        raise Stopped("Stopped; the same download goes on from here.")

    app = AppTest.from_function(page, default_timeout=20)
    with monkeypatch.context() as patch:
        patch.setattr(hubdata, "get", until_stopped)
        assert app.run().markdown[-1].value == "not here" and "About 1 MB" in app.caption[0].value
        app.button(key="again-toy").click().run()
        app.button(key="stop-toy").click().run()
        job_ends()
    app.run()
    assert "goes on from here" in app.info[0].value.replace("\\", "")
    hub.trouble = [404]
    app.button(key="again-toy").click().run()
    job_ends()
    assert "withdrawn" in app.run().warning[0].value
    app.button(key="again-toy").click().run()
    job_ends()
    app.run()
    assert app.markdown[-1].value == "here" and not app.exception and not app.button


def test_much_more_than_is_known_is_not_taken(hub: Hub, toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubdata, "SLACK", -0.999_999)
    hub.sent = 0
    with pytest.raises(DataMissingError, match=r"toy has about 1 MB, but its server sends .* was not downloaded"):
        hubdata.get("toy")
    assert hub.sent == 0 and not litter()


@pytest.mark.parametrize("variable", ["SENTVIZ_NO_DOWNLOAD", ""])
def test_an_operator_can_switch_it_off(toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    if variable:
        monkeypatch.setenv("SENTVIZ_ALLOW_DOWNLOAD", "1")
        monkeypatch.setenv(variable, "1")
    app = AppTest.from_function(page, default_timeout=20).run()
    assert not app.button and "switched off" in app.caption[-1].value

"""The registry, the papers' splits on the real data if they are available, and damaged folders."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentviz.data.dataset_info import Cut, DatasetInfo, origin
from sentviz.data.datasets import (
    LEFT_OUT,
    MIDDLE,
    datasets,
    digest,
    folders,
    info,
    load_file,
    load_split,
    missing_parts,
    stratified,
    verify,
)
from sentviz.errors import DataMissingError, InputError, SentvizError
from tests.kit import refused
from tests.shipped import often

REGISTRY: list[DatasetInfo] = [info(name) for name in datasets()["name"]]


@pytest.mark.parametrize("item", REGISTRY, ids=lambda item: item.name)
def test_registry_is_consistent(item: DatasetInfo) -> None:
    assert item.language in ("en", "ko") and item.name.isidentifier()
    assert (item.kind == "classification") == (len(item.labels) >= 2)
    assert (item.kind == "lexicon") == (not item.cuts)
    assert item.maker or all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", source) for source in item.source.split("; "))
    assert all(re.fullmatch("[0-9a-f]{64}", part.content if item.maker else part.sha256) and part.rows > 0 for part in item.parts.values())
    assert all((item.title, item.licence, item.citation, item.remark))
    for cut in item.cuts:  # no row is lost but the empty ones of nsmc, those that cleaning empties, and those whose label is left out
        whole = sum(info(source_set).parts[part].rows for source_set, part in (origin(item.name, part) for part in cut.parts))
        assert not cut.relabel or set(cut.relabel) - {LEFT_OUT, MIDDLE} == set(range(len(item.labels)))
        assert MIDDLE not in cut.relabel or set(cut.into) - {""} == {"train"}
        if LEFT_OUT in cut.relabel or cut.even:
            assert whole >= sum(cut.into.values())
            continue
        empty = whole - sum(cut.into.values())
        if item.cleaning:
            assert 0 <= empty < whole / 300
            continue
        blank = {("nsmc", "train"): 5, ("nsmc", "test"): 3}
        assert empty == sum(blank.get(origin(item.name, part), 0) for part in cut.parts)


def test_unknown_names_are_refused() -> None:
    refused(InputError, r"no data set 'sst3'; similar names: sst5, sst2; `sentviz data list` lists all \d+\.$", info, "sst3")
    refused(InputError, "no part 'meta'; its parts are: train, dev, test", load_file, "sst2", "meta")
    refused(InputError, "no split 'train'; it has validation, test", load_split, "kornli_xnli", "train")
    refused(InputError, "it has none", load_split, "lexicon_en_vader", "train")


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.data())
def test_stratified_parts_are_exact(counts: list[int], data: st.DataObject) -> None:
    labels = np.repeat(np.arange(len(counts)), counts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(labels)), min_size=1, max_size=3)))
    sizes = np.diff([0, *cuts, len(labels)]).tolist()
    parts = stratified(labels, sizes, np.random.default_rng(1))
    assert [len(part) for part in parts] == sizes
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))
    for k, part in enumerate(parts, 1):
        assert (np.diff(part) > 0).all()
        share = np.bincount(labels, minlength=len(counts)) * len(part) / len(labels)
        assert (abs(np.bincount(labels[part], minlength=len(counts)) - share) < k + 1e-9).all()
    refused(SentvizError, "9 rows in total, but there are 10 rows", stratified, np.zeros(10, dtype=np.int64), [4, 5], None)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    return tmp_path / "data"


def write(root: Path, name: str, part: str, frame: pd.DataFrame) -> Path:
    path = root / name / f"{part}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(path, index=False)
    return path


def made_up(rows: int, labels: int = 2) -> pd.DataFrame:
    return pd.DataFrame({"id": range(rows), "text": [f"text {i}" for i in range(rows)], "label": [i % labels for i in range(rows)]})


def test_missing_data_is_said_and_folders_are_searched_in_order(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_parts(info("sst2"))
    assert set(datasets().query("available")["name"]) == {"templates", "template_halves", "korean_halves"}
    for call in (lambda: load_split("sst2", "official_test"), lambda: load_file("sst2", "test"), lambda: digest("sst2", "test")):
        refused(DataMissingError, r"set SENTVIZ_DATA .* sst2/test\.parquet .*awake020/pytorch_Bert_sst2@", call)
    refused(DataMissingError, "sst2", verify, "sst2")
    cache = tmp_path / "home" / "data"
    assert folders()[0] == root
    write(cache, "sst2", "test", made_up(1821))
    assert len(load_split("sst2", "official_test")) == 1821
    write(root, "sst2", "test", made_up(3))
    assert len(load_file("sst2", "test")) == 3
    monkeypatch.delenv("SENTVIZ_DATA")
    assert folders()[0] == cache and len(load_file("sst2", "test")) == 1821
    if sys.platform == "linux":
        monkeypatch.delenv("SENTVIZ_HOME")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert folders()[0] == tmp_path / ".cache" / "sentviz" / "data"


def test_damaged_files_are_named(root: Path) -> None:
    path = write(root, "sst2", "test", made_up(1821))
    whole = path.read_bytes()
    for content in (b"", b"no parquet at all", whole[: len(whole) // 2], whole[:300] + bytes(200) + whole[500:]):
        path.write_bytes(content)
        refused(DataMissingError, r"sst2/test\.parquet is damaged or incomplete; set SENTVIZ_DATA", load_split, "sst2", "official_test")
    bad = made_up(1821)
    for frame in (bad.drop(columns="text"), bad.assign(label="good"), bad.assign(text=[None, *["a"] * 1820])):
        write(root, "sst2", "test", frame)
        refused(DataMissingError, "damaged or incomplete", load_file, "sst2", "test")
    cases = {
        "should hold 1,821 texts, not 1,820": made_up(1820),
        "should hold 1,821 texts, not 1,819": made_up(1821).replace({"text": {"text 5": " ", "text 6": "\u200b"}}),
        "labels other than 0 to 1": made_up(1821, labels=3),
        "same id twice": made_up(1821).assign(id=7),
    }
    for message, frame in cases.items():
        write(root, "sst2", "test", frame)
        refused(SentvizError, message, load_split, "sst2", "official_test")
    write(root, "sst2", "train", made_up(3))
    refused(DataMissingError, r"sst2/train\.parquet is not the known file", verify, "sst2")


def test_ids_splits_and_cleaned_rows_are_made(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "sst2", "test", made_up(3))
    assert load_file("sst2", "test")["id"].tolist() == ["test-0", "test-1", "test-2"]
    write(root, "sst2", "test", made_up(3).assign(id=["test-a", "dev-1", "tests"]))
    assert load_file("sst2", "test")["id"].tolist() == ["test-a", "test-dev-1", "test-tests"]
    write(root, "twitter_financial", "validation", made_up(2388, labels=3))
    halves = [load_split("twitter_financial", split) for split in ("validation", "test")]
    assert [np.bincount(half.frame["label"]).tolist() for half in halves] == [[398] * 3, [398] * 3]
    assert not set(halves[0].frame["id"]) & set(halves[1].frame["id"])
    for half in halves:  # what has no reason to be shuffled is not
        assert half.frame["text"].str.split().str[1].astype(int).is_monotonic_increasing
    refused(DataMissingError, r"yelp_full is not on this machine: .*yelp_full/test\.parquet", load_split, "yelp_polarity", "test")
    frame = made_up(5, 5)
    write(root, "yelp_full", "test", frame)
    refused(SentvizError, r"^yelp_full/test\.parquet should hold 4,455 texts, not 4", load_split, "yelp_polarity", "test")
    texts = ["@you :)", "fine", "http://a.b/c 24/7", "@me ok", "!!!"]
    write(root, "sentiment140", "test", pd.DataFrame({"id": range(5), "text": texts, "label": [0, 1, 0, 0, 1]}))
    cut = Cut(("test",), {"official_test": 2})
    monkeypatch.setattr("sentviz.data.datasets.info", lambda name: replace(info(name), cuts=(cut,)))
    split = load_split("sentiment140", "official_test")
    assert split.frame["text"].tolist() == ["fine", "@me ok"] and split.dropped == 3


DIGESTS = {"sst2/train": "a356adba30c1", "sst2/test": "8e76eab183c7", "twitter_financial/test": "65b702466abb"}  # these splits never change


@pytest.mark.data
@pytest.mark.parametrize(
    "item", often([item for item in REGISTRY if item.cuts], info("sst2"), info("twitter_financial")), ids=lambda item: item.name
)
def test_splits(item: DatasetInfo) -> None:
    verify(item.name)
    splits = {split: load_split(item.name, split) for split in item.splits}
    assert {name: len(split) for name, split in splits.items()} == item.splits
    assert pd.concat([split.frame["id"] for split in splits.values()]).is_unique
    for name, split in splits.items():
        frame = split.frame
        assert split.digest == DIGESTS.get(f"{item.name}/{name}", split.digest)
        assert list(frame) == ["id", "text", *(["text_pair"] if item.pair else []), "label"]
        assert isinstance(frame.index, pd.RangeIndex) and (frame["text"].str.strip() != "").all()
        if item.kind == "classification":
            between = {MIDDLE} if any(MIDDLE in cut.relabel and split.split in cut.into for cut in item.cuts) else set()
            assert frame["label"].dtype == np.int64 and set(frame["label"]) == set(range(len(item.labels))) | between

"""A file from a server that breaks off, lies, stalls or refuses, and a data set from the hub: conversion, digests, command and button."""

import hashlib
import threading
import time
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
from sentviz.data.fetch.download import RemoteFile, Stopped, fetch, look
from sentviz.errors import DataMissingError, InputError, SentvizError
from tests.fakehub import BODY, ROWS, Hub, Server, handler, put, recipe
from tests.kit import refused


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
    refused(DataMissingError, r"train\.parquet is not the known file", verify, "toy")


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
    refused(DataMissingError, message, hubdata.get, "toy")
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


@pytest.mark.parametrize("address", ["ftp://somewhere", "http://[x"])
def test_an_address_that_is_none(address: str, toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)
    failed = CliRunner().invoke(main, ["data", "get", "toy"])
    assert failed.exit_code == 1 and "HF_ENDPOINT must be the address of a server" in failed.stderr


def test_what_the_hub_does_not_have(hub: Hub) -> None:
    refused(InputError, r"no data set 'sst3'; similar names: sst5, sst2", hubdata.get, "sst3")
    refused(DataMissingError, r"yelp_full is not on the hub: .* make it from RWooters.*yelp_full/train\.parquet", hubdata.get, "yelp_full")
    refused(DataMissingError, r"columns term and polarity", hubdata.get, "lexicon_en_vader")
    assert hubdata.get("templates") == []  # sentviz makes them
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
    theirs = pd.DataFrame({"guid": [7, 8, 9], "premise": [" a\r\n", "NS", None], "hypothesis": ["x", "y", "z "], "gold": ["0", "1", "2"]})
    file = recipe(text="premise", text_pair="hypothesis", label="gold", labels=(2, 1, 0), id="guid", strip=True, without="NS")
    converted = hubdata.ours(theirs, file)
    assert converted.to_dict("list") == {"id": ["7", "9"], "text": ["a", ""], "text_pair": ["x", "z"], "label": [2, 0]}
    file = recipe(text="premise", label="gold", id="dev-{row}", labels=(1, 0))
    converted = hubdata.ours(theirs, file)
    assert converted.to_dict("list") == {"id": ["dev-0", "dev-1", "dev-2"], "text": [" a\r\n", "NS", ""], "label": [1, 0, -1]}
    frame = pd.DataFrame({"id": ["a", "b"], "text": ["é\n", '"'], "label": [0, 1]})
    lines = '["a", "é\\n", 0]\n["b", "\\"", 1]\n'
    assert content(frame) == hashlib.sha256(lines.encode()).hexdigest()
    assert content(frame.assign(more=1)[["label", "more", "text", "id"]]) == content(frame)
    assert content(frame[::-1]) != content(frame) != content(frame.assign(id=["a", "c"]))
    scores = frame.assign(label=np.array([3.8, 5.0], dtype=np.float32))
    assert content(scores.astype({"label": "float64"})) == content(scores.assign(label=[3.8, 5.0]))


def test_a_mixture_gets_the_parts_of_others(hub: Hub, toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = [Cut((part,), {split: rows}) for part, split, rows in (("yelp_full/train", "train", 9), ("toy/test", "test", 10))]
    of_others = dataset_info.Hub({}, "it is made of others")
    mixed = replace(toy, name="mixed", parts={}, hub=of_others, cuts=(*cuts, Cut(("templates/train",), {})))
    registry = datasets._registry() | {"mixed": mixed}
    monkeypatch.setattr(datasets, "_registry", lambda: registry)
    assert missing_parts(mixed) == ("yelp_full/train", "toy/test") and missing_parts(mixed, "test") == ("toy/test",)
    assert hubdata.lacking("mixed") == ("toy/test",)
    done = CliRunner().invoke(main, ["data", "get", "mixed"])
    assert done.exit_code == 0 and "10 rows" in done.stdout
    assert "Not installed: yelp_full/train; yelp_full: it is put together from smaller extracts" in done.stderr
    assert hubdata.lacking("mixed") == () and len(datasets.load_split("mixed", "test")) == 10
    assert hubdata.lacking("toy") == ("train",)
    refused(DataMissingError, r"yelp_full is not on this machine", datasets.load_split, "mixed", "train")


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
    refused(DataMissingError, r"toy has about 1 MB, but its server sends .* was not downloaded", hubdata.get, "toy")
    assert hub.sent == 0 and not litter()


def test_an_operator_can_switch_it_off(toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_ALLOW_DOWNLOAD", "1")
    monkeypatch.setenv("SENTVIZ_NO_DOWNLOAD", "1")
    app = AppTest.from_function(page, default_timeout=20).run()
    assert not app.button and "switched off" in app.caption[-1].value


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*.part"))


@pytest.mark.parametrize("linked", [True, False], ids=["large", "small"])
def test_a_file_arrives_whole(hub: Hub, file: str, tmp_path: Path, linked: bool) -> None:
    hub.linked, seen, target = linked, [], tmp_path / "x" / "big"
    remote = look(file)
    assert remote.size == len(BODY) and len(remote.etag) == (64 if linked else 40)
    fetch(remote, target, progress=lambda done, total: seen.append((done, total)))
    assert target.read_bytes() == BODY and not parts(target.parent)
    for _ in range(200):  # the server counts a block after it has left
        if hub.sent == len(BODY):
            break
        time.sleep(0.01)
    assert hub.sent == len(BODY)
    assert seen[0] == (0, len(BODY)) and seen[-1] == (len(BODY), len(BODY)) and seen == sorted(seen)


@pytest.mark.parametrize("how", [Stopped, KeyboardInterrupt])
def test_an_interrupted_download_goes_on(hub: Hub, file: str, tmp_path: Path, how: type[BaseException]) -> None:
    target, stop = tmp_path / "big", threading.Event()

    def progress(done: int, _: int) -> None:
        if done and how is KeyboardInterrupt:
            raise KeyboardInterrupt
        if done:
            stop.set()

    with pytest.raises(how):
        fetch(look(file), target, progress=progress, stop=stop)
    (part,) = parts(tmp_path)
    have = part.stat().st_size
    assert 0 < have < len(BODY) and not target.exists()
    fetch(look(file), target)
    assert hub.requests[-1][2] == f"bytes={have}-" and target.read_bytes() == BODY and not parts(tmp_path)


def test_a_broken_connection_is_taken_up_again(hub: Hub, file: str, tmp_path: Path) -> None:
    remote = look(file)
    hub.trouble = [("cut", 300_000), 500, ("cut", 1)]
    fetch(remote, tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == BODY and hub.sent == len(BODY)
    assert {requested_range for _, _, requested_range in hub.requests} >= {"bytes=300000-", "bytes=300001-"}
    remote, hub.ranges, hub.trouble = look(file), False, [("cut", 100_000)]
    fetch(remote, tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == BODY
    hub.trouble = [("cut", 100_000)] * 99  # never gets further: given up in the end
    refused(DataMissingError, "the connection broke", fetch, remote, tmp_path / "small")


def test_changed_content_starts_anew(hub: Hub, file: str, tmp_path: Path) -> None:
    stop = threading.Event()
    with pytest.raises(Stopped):
        fetch(look(file), tmp_path / "big", progress=lambda done, _: done and stop.set(), stop=stop)
    hub.files["/datasets/a/b/resolve/main/big.parquet"] = new = BODY[::-1]
    fetch(look(file), tmp_path / "big")
    assert hub.requests[-1][2] == "" and (tmp_path / "big").read_bytes() == new and not parts(tmp_path)


@pytest.mark.parametrize("linked", [True, False], ids=["large", "small"])
def test_wrong_digest_leaves_nothing(hub: Hub, file: str, tmp_path: Path, linked: bool) -> None:
    hub.linked = linked
    remote = look(file)
    hub.trouble = [("lie", BODY[::-1])]
    refused(DataMissingError, r"big\.parquet is not the announced file .* was removed", fetch, remote, tmp_path / "big")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (403, r"users with access .403.\. Set HF_TOKEN"),
        (404, "has no big.parquet .404."),
        (418, "does not give big.parquet: it answered with status 418"),
        (("after", 3600), "it answered 429; try again in 3600 seconds"),
    ],
)
def test_refusals_are_said_at_once(hub: Hub, file: str, trouble: object, message: str) -> None:
    hub.trouble = [trouble] * 9
    refused(DataMissingError, message, look, file)
    assert len(hub.requests) == 1


def test_a_redirect_to_nowhere_is_one_sentence(hub: Hub, file: str, tmp_path: Path) -> None:
    remote = look(file)
    hub.trouble = [("astray", "http://[::1")] * 99
    refused(DataMissingError, r"^[^\n]*\.$", fetch, remote, tmp_path / "big")
    assert not list(tmp_path.iterdir())


def test_no_network(hub: Hub, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(DataMissingError, "the connection is refused", look, "http://127.0.0.1:9/datasets/a/b/resolve/main/c")
    stop = threading.Event()
    stop.set()
    refused(Stopped, ".", look, "http://127.0.0.1:9/x", stop=stop)
    monkeypatch.setenv("NO_PROXY", "*")
    away = "http://nowhere.invalid/datasets/a/b/resolve/main/c"
    refused(DataMissingError, r"there is no network or no such server \(.+\)", look, away)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    refused(DataMissingError, "HF_HUB_OFFLINE is set, so nothing is downloaded", look, file)
    assert not hub.requests


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_no_space(file: str, tmp_path: Path) -> None:
    stop = threading.Event()
    with pytest.raises(Stopped):
        fetch(look(file), tmp_path / "big", progress=lambda done, _: done and stop.set(), stop=stop)
    (part,) = parts(tmp_path)
    part.unlink()
    part.symlink_to("/dev/full")
    refused(SentvizError, r"There is no space left in .*\. Incomplete files were removed", fetch, look(file), tmp_path / "big")
    assert not list(tmp_path.iterdir())
    larger = replace(look(file), size=10**18)
    refused(SentvizError, r"no space left in .* \(1,000,000,000,000 MB are needed\)", fetch, larger, tmp_path / "big")


def test_the_token_stays_at_home(hub: Hub, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    elsewhere = Server(("127.0.0.1", 0), handler(hub))
    thread = threading.Thread(target=elsewhere.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    hub.network = f"http://127.0.0.1:{elsewhere.server_port}"
    try:
        fetch(look(file), tmp_path / "big")
    finally:
        elsewhere.shutdown()
        elsewhere.server_close()
        thread.join(60)
    requests = [(path[:4], token) for (_, path, _), token in zip(hub.requests, hub.tokens, strict=True)]
    assert requests == [*[("/dat", "Bearer secret")] * 2, ("/cdn", "")]
    (tmp_path / "x").write_bytes(b"abc")
    assert RemoteFile("u", 0, "").same(tmp_path / "x") and RemoteFile("u", 3, "opaque").same(tmp_path / "x")
    assert not RemoteFile("u", 4, "").same(tmp_path / "x")

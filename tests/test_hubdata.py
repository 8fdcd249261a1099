"""Downloads against a server on this machine that speaks the hub's protocol, conversion, and the digests of rows."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

from sentviz import datasets, download, hubdata
from sentviz.cli import main
from sentviz.datasets import DatasetInfo, HubFile, Part, content, info, load_file, named, verify
from sentviz.download import Remote, Stopped, fetch, look
from sentviz.errors import DataMissingError, InputError, SentvizError

needs_data = pytest.mark.skipif(not os.environ.get("SENTVIZ_DATA"), reason="SENTVIZ_DATA names no folder with the data sets")
FOLDER = os.environ.get("SENTVIZ_DATA", "")
HUB_PARTS = [(name, part) for name in datasets.datasets()["name"] for part in info(name).hub.files]


# ---- the server


@dataclass
class Hub:
    """Files by path, what goes wrong with the next requests, and what was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    trouble: list[Any] = field(default_factory=list)  # a status, ("after", s), ("cut", n), ("stall", s), ("lie", bytes); None: none
    asked: list[tuple[str, str, str]] = field(default_factory=list)  # method, path, range
    tokens: list[str] = field(default_factory=list)
    sent: int = 0
    ranges: bool = True
    linked: bool = True  # large file: redirect to the content network with the digest beside it
    url: str = ""
    network: str = ""  # of the content, where it is another server
    lock: threading.Lock = field(default_factory=threading.Lock)

    def at(self, path: str) -> str:
        return f"{self.url}/datasets/{path}"


def handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def answer(self, status: int, **headers: str) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": "0", **{k.replace("_", "-"): v for k, v in headers.items()}}.items():
                self.send_header(key, value)
            self.end_headers()

        def do_HEAD(self) -> None:
            self.respond()

        def do_GET(self) -> None:
            self.respond()

        def respond(self) -> None:
            with hub.lock:
                hub.asked.append((self.command, self.path, self.headers.get("Range", "")))
                hub.tokens.append(self.headers.get("Authorization", ""))
                wrong = hub.trouble.pop(0) if hub.trouble and not self.path.startswith("/moved") else None
            if wrong == "drop":
                self.close_connection = True
                return
            if isinstance(wrong, int):
                return self.answer(wrong)
            if isinstance(wrong, tuple) and wrong[0] == "after":
                return self.answer(429, Retry_After=str(wrong[1]))
            body = hub.files.get(self.path.removeprefix("/cdn").removeprefix("/moved"))
            if self.path.startswith("/moved"):
                return self.answer(307, Location=self.path.removeprefix("/moved"))
            if body is None:
                return self.answer(404)
            if not self.path.startswith("/cdn") and hub.linked:
                digest = hashlib.sha256(body).hexdigest()
                if wrong:
                    hub.trouble.insert(0, wrong)
                return self.answer(
                    302,
                    Location=f"{hub.network or hub.url}/cdn{self.path}",
                    X_Linked_ETag=f'"{digest}"',
                    X_Linked_Size=str(len(body)),
                    ETag='"other"',
                )
            self.body(body, wrong)

        def body(self, body: bytes, wrong: Any) -> None:
            etag = hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
            asked, headers, start = self.headers.get("Range"), {"ETag": f'W/"{etag}"'}, 0
            if asked and hub.ranges:
                start = int(asked.removeprefix("bytes=").rstrip("-"))
                if start >= len(body):
                    return self.answer(416)
                headers["Content_Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            rest = body[start:]
            kind, value = wrong if isinstance(wrong, tuple) else ("", b"")
            if kind == "lie":
                rest = value
            self.answer(206 if "Content_Range" in headers else 200, Content_Length=str(len(rest)), **headers)
            if self.command == "HEAD":
                return
            if kind == "cut":
                rest, self.close_connection = rest[:value], True
            if kind == "stall":
                time.sleep(value)
            try:
                for at in range(0, len(rest), 1 << 14):
                    self.wfile.write(rest[at : at + (1 << 14)])
                    hub.sent += len(rest[at : at + (1 << 14)])
            except OSError:
                self.close_connection = True

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None: ...


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    hub = Hub()
    server = Server(("127.0.0.1", 0), handler(hub))
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SENTVIZ_DATA", raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(download, "PAUSE", 0.01)
    monkeypatch.setattr(download, "TIMEOUT", 5.0)
    yield hub
    server.shutdown()
    server.server_close()
    thread.join()


BODY = bytes(range(256)) * 4000  # about a megabyte


@pytest.fixture
def file(hub: Hub) -> str:
    hub.files["/datasets/a/b/resolve/main/big.parquet"] = BODY
    return hub.at("a/b/resolve/main/big.parquet")


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*.part"))


# ---- one file


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


def test_a_moved_repository_is_followed(hub: Hub, file: str, tmp_path: Path) -> None:
    fetch(look(file.replace("/datasets", "/moved/datasets")), tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == BODY


def test_an_interrupted_download_goes_on(hub: Hub, file: str, tmp_path: Path) -> None:
    """Stopped after the first block, started again: the second request asks for the rest only."""
    target, stop = tmp_path / "big", threading.Event()
    with pytest.raises(Stopped, match="goes on from here"):
        fetch(look(file), target, progress=lambda done, _: done and stop.set(), stop=stop)
    (part,) = parts(tmp_path)
    have = part.stat().st_size
    assert 0 < have < len(BODY) and not target.exists()
    fetch(look(file), target)
    assert hub.asked[-1][2] == f"bytes={have}-" and target.read_bytes() == BODY and not parts(tmp_path)


def test_ctrl_c_keeps_what_came(file: str, tmp_path: Path) -> None:
    def interrupt(done: int, _: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(look(file), tmp_path / "big", progress=interrupt)
    assert parts(tmp_path)[0].stat().st_size > 0
    fetch(look(file), tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == BODY


def test_a_broken_connection_is_taken_up_again(hub: Hub, file: str, tmp_path: Path) -> None:
    remote = look(file)
    hub.trouble = [("cut", 300_000), 500, ("cut", 1)]
    fetch(remote, tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == BODY and hub.sent == len(BODY)
    assert {asked for _, _, asked in hub.asked} >= {"bytes=300000-", "bytes=300001-"}


def test_a_server_without_ranges_starts_anew(hub: Hub, file: str, tmp_path: Path) -> None:
    remote, hub.ranges, hub.trouble = look(file), False, [("cut", 100_000)]
    fetch(remote, tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == BODY
    hub.trouble = [("cut", 100_000)] * 99  # never gets further: given up in the end
    with pytest.raises(DataMissingError, match="the connection ended early"):
        fetch(remote, tmp_path / "small")


def test_changed_content_starts_anew(hub: Hub, file: str, tmp_path: Path) -> None:
    stop = threading.Event()
    with pytest.raises(Stopped):
        fetch(look(file), tmp_path / "big", progress=lambda done, _: done and stop.set(), stop=stop)
    hub.files["/datasets/a/b/resolve/main/big.parquet"] = new = BODY[::-1]
    fetch(look(file), tmp_path / "big")
    assert hub.asked[-1][2] == "" and (tmp_path / "big").read_bytes() == new and not parts(tmp_path)


def test_waiting_as_told(hub: Hub, file: str, tmp_path: Path) -> None:
    hub.trouble = [("after", 1), None]
    start = time.monotonic()
    fetch(look(file), tmp_path / "big")
    assert 1 <= time.monotonic() - start < 5 and (tmp_path / "big").read_bytes() == BODY
    hub.trouble = [("after", 3600)]
    with pytest.raises(DataMissingError, match="it answered 429; try again in 3600 seconds"):
        look(file)


@pytest.mark.parametrize("linked", [True, False], ids=["large", "small"])
def test_wrong_digest_leaves_nothing(hub: Hub, file: str, tmp_path: Path, linked: bool) -> None:
    hub.linked = linked
    remote = look(file)
    hub.trouble = [("lie", BODY[::-1])]
    with pytest.raises(DataMissingError, match=r"big\.parquet did not arrive as announced .* was removed"):
        fetch(remote, tmp_path / "big")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "granted access .401.; set HF_TOKEN"),
        (403, "granted access .403.; set HF_TOKEN"),
        (404, "has no big.parquet .404.: it was moved or withdrawn"),
        (418, "does not give big.parquet: it answered 418"),
    ],
)
def test_refusals_are_said_at_once(hub: Hub, file: str, status: int, said: str) -> None:
    hub.trouble = [status] * 9
    with pytest.raises(DataMissingError, match=said):
        look(file)
    assert len(hub.asked) == 1


def test_troubled_servers_are_left_after_a_while(hub: Hub, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for trouble, said in ((503, "it answered 503"), ("drop", "the connection broke")):
        hub.trouble, hub.asked = [trouble] * 9, []
        with pytest.raises(DataMissingError, match=f"cannot be used now, {said}; the same command goes on"):
            look(file)
        assert len(hub.asked) == download.ATTEMPTS
    hub.trouble = []
    remote = look(file)
    hub.trouble = [("stall", 1.0)] * 9
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    with pytest.raises(DataMissingError, match="it does not answer in time"):
        fetch(remote, tmp_path / "big")


def test_no_network(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="the connection is refused"):
        look("http://127.0.0.1:9/datasets/a/b/resolve/main/c")
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        look("http://127.0.0.1:9/x", stop=stop)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_no_space(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def full(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(download, "_write", full)
    with pytest.raises(SentvizError, match=r"There is no space left in .*; nothing half-written was kept"):
        fetch(look(file), tmp_path / "big")
    assert not list(tmp_path.iterdir())


def test_no_space_is_seen_before(file: str, tmp_path: Path) -> None:
    with pytest.raises(SentvizError, match=r"no space left in .* \(1,000,000,000,000 MB are needed\)"):
        fetch(replace(look(file), size=10**18), tmp_path / "big")


def test_a_folder_that_cannot_be_written(file: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(SentvizError, match="cannot be written"):
        fetch(look(file), tmp_path / "taken" / "big")


def test_the_token_stays_at_home(hub: Hub, file: str, tmp_path: Path) -> None:
    elsewhere = Server(("127.0.0.1", 0), handler(hub))
    thread = threading.Thread(target=elsewhere.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    hub.network = f"http://127.0.0.1:{elsewhere.server_port}"
    try:
        fetch(look(file, token="secret"), tmp_path / "big", token="secret")
    finally:
        elsewhere.shutdown()
        elsewhere.server_close()
        thread.join()
    assert [(path[:4], token) for (_, path, _), token in zip(hub.asked, hub.tokens, strict=True)] == [
        ("/dat", "Bearer secret"),
        ("/dat", "Bearer secret"),
        ("/cdn", ""),
    ]


def test_unknown_sizes_and_digests(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert Remote("u", 0, "").same(tmp_path / "x") and Remote("u", 3, "opaque").same(tmp_path / "x")
    assert not Remote("u", 4, "").same(tmp_path / "x")


# ---- conversion


def recipe(**changes: Any) -> HubFile:
    return HubFile(**({"path": "p.jsonl", "repo": "a/b", "revision": "main"} | changes))


def test_columns_and_labels() -> None:
    theirs = pd.DataFrame({"guid": [7, 8, 9], "premise": [" a\r\n", "NS", None], "hypothesis": ["x", "y", "z "], "gold": ["0", "1", "2"]})
    file = recipe(text="premise", text_pair="hypothesis", label="gold", labels=(2, 1, 0), id="guid", strip=True, without="NS")
    made = hubdata.ours(theirs, file)
    assert made.to_dict("list") == {"id": ["7", "9"], "text": ["a", ""], "text_pair": ["x", "z"], "label": [2, 0]}
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


ROWS = pd.DataFrame({"text": [f"text {i}" for i in range(40)] + [" "], "label": [0, 1] * 20 + [0]})


@pytest.fixture
def toy(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> DatasetInfo:
    """A data set whose train is a parquet file, whose test is JSON lines, and whose meta the hub does not have."""
    rows = {"train": ROWS, "test": ROWS[:10]}
    known = {}
    for part, frame in rows.items():
        ids = named(frame.assign(id=[str(i) for i in range(len(frame))]), part)
        known[part] = Part(len(frame), "0" * 64, content(ids), tuple(np.bincount(frame["label"], minlength=2).tolist()))
    files = {"train": recipe(path="a/train.parquet", text="sentence"), "test": recipe(path="test.jsonl")}
    item = replace(
        info("sst2"),
        name="toy",
        parts=known | {"meta": Part(1, "0" * 64)},
        cuts=(datasets.Cut(("train",), {"train": 40}), datasets.Cut(("test",), {"test": 10})),
        hub=datasets.Hub(files, "meta is ours alone", 1.0),
    )
    registry = datasets._registry() | {"toy": item}
    monkeypatch.setattr(datasets, "_registry", lambda: registry)
    put(hub, ROWS, ROWS[:10])
    return item


def put(hub: Hub, train: pd.DataFrame, test: pd.DataFrame) -> None:
    buffer = io.BytesIO()
    train.rename(columns={"text": "sentence"}).to_parquet(buffer)
    hub.files["/datasets/a/b/resolve/main/a/train.parquet"] = buffer.getvalue()
    lines = "".join(json.dumps(row) + "\n" for row in test.to_dict("records"))
    hub.files["/datasets/a/b/resolve/main/test.jsonl"] = lines.encode()


def litter() -> list[str]:
    """What no finished or failed download should leave in the cache."""
    kept = [path for path in datasets.folders()[-1].rglob("*") if path.is_file() and path.suffix != ".lock"]
    return [path.name for path in kept if path.name.startswith(".") or path.suffix != ".parquet"]


def test_a_data_set_arrives(hub: Hub, toy: DatasetInfo) -> None:
    seen: list[tuple[int, int]] = []
    assert hubdata.lacking("toy") == ("train", "test") and not toy.available
    got = hubdata.get("toy", progress=lambda done, total: seen.append((done, total)))
    assert [(one.part, one.rows, one.exact, one.remark) for one in got] == [("train", 41, True, ""), ("test", 10, True, "")]
    assert toy.available and hubdata.lacking("toy") == () and not litter()
    assert seen[-1][0] == seen[-1][1] == sum(map(len, hub.files.values())) and len({total for _, total in seen}) == 1
    assert load_file("toy", "train")["id"].tolist()[:2] == ["train-0", "train-1"]
    assert len(datasets.load_split("toy", "train")) == 40
    verify("toy")  # not the known bytes, but the known rows
    asked = len(hub.asked)
    assert hubdata.get("toy") == [] and len(hub.asked) == asked
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
    assert not train.exact and "its texts or their order differ; its row ids begin with hub" in train.remark
    assert not test.exact and "its labels are counted [10, 0], not [5, 5]" in test.remark
    assert load_file("toy", "test")["id"].tolist()[:2] == ["test-hub-0", "test-hub-1"]
    with pytest.raises(DataMissingError, match=r"train\.parquet is not the known file"):
        verify("toy")


@pytest.mark.parametrize(
    ("train", "said"),
    [
        (ROWS[:30], "a/b, a/train.parquet holds 30 rows, not 41, and was not kept"),
        (ROWS.assign(label=3), "holds labels other than 0 to 1 and was not kept"),
        (ROWS.drop(columns="label"), "a/b, a/train.parquet is not laid out as expected .KeyError"),
    ],
)
def test_what_cannot_be_used_is_not_kept(hub: Hub, toy: DatasetInfo, train: pd.DataFrame, said: str) -> None:
    put(hub, train, ROWS[:10])
    with pytest.raises(DataMissingError, match=said):
        hubdata.get("toy")
    assert hubdata.lacking("toy") == ("train", "test") and not litter()


def test_no_parquet_at_all(hub: Hub, toy: DatasetInfo) -> None:
    hub.files["/datasets/a/b/resolve/main/a/train.parquet"] = b"<html>sign in</html>"
    with pytest.raises(DataMissingError, match="is not laid out as expected"):
        hubdata.get("toy")
    assert not litter()


def test_two_at_once(hub: Hub, toy: DatasetInfo) -> None:
    """The second waits, then finds everything there."""
    got: list[int] = []
    hub.trouble = [None] * 4 + [("stall", 0.3)]
    both = [threading.Thread(target=lambda: got.append(len(hubdata.get("toy")))) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(20)
    assert sorted(got) == [0, 2] and sum(method == "HEAD" for method, _, _ in hub.asked) == 2 and not litter()


def test_what_the_hub_does_not_have() -> None:
    with pytest.raises(InputError, match="no data set 'sst3'; known are"):
        hubdata.get("sst3")
    with pytest.raises(
        DataMissingError, match=r"yelp_full is not on the hub: .* make it from RWooters.*yelp_full/train\.parquet.*text, label"
    ):
        hubdata.get("yelp_full")
    with pytest.raises(DataMissingError, match=r"columns term and polarity"):
        hubdata.get("lexicon_en_vader")


@pytest.mark.parametrize("item", [info(name) for name in datasets.datasets()["name"]], ids=lambda item: item.name)
def test_recipes_are_complete(item: DatasetInfo) -> None:
    hub = item.hub
    assert hub.why or set(hub.files) == set(item.parts)
    assert not hub.files or hub.megabytes > 0
    for part, file in hub.files.items():
        known = item.parts[part]
        assert len(known.content) == 64 and sum(known.counts) == known.rows and len(known.counts) == len(item.labels)
        assert bool(file.text_pair) == item.pair and "/" in file.repo and Path(file.path).suffix in (".parquet", ".csv", ".jsonl")
        assert hubdata.url(file).startswith("http") and " " not in hubdata.url(file)
    assert "refs%2Fconvert%2Fparquet" in hubdata.url(info("nsmc").hub.files["test"])


@needs_data
@pytest.mark.parametrize(("name", "part"), HUB_PARTS, ids=str)
def test_digests_of_the_real_rows(name: str, part: str) -> None:
    known, frame = info(name).parts[part], load_file(name, part)
    assert content(frame) == known.content
    assert np.bincount(frame["label"]).tolist() == list(known.counts)


@needs_data
@pytest.mark.parametrize(("name", "part"), [("imdb", "test"), ("sst2", "dev"), ("sst2", "test")])
def test_real_rows_come_back_from_any_order(tmp_path: Path, name: str, part: str) -> None:
    item, file = info(name), info(name).hub.files[part]
    shuffled = load_file(name, part).sample(frac=1, random_state=0).rename(columns={"text": file.text})
    source = tmp_path / Path(file.path).name
    if source.suffix == ".parquet":
        shuffled.to_parquet(source)
    else:
        source.write_text("".join(json.dumps(row) + "\n" for row in shuffled[["text", "label"]].to_dict("records")))
    frame, exact, remark = hubdata.convert(item, part, source)
    assert exact and not remark and frame["id"].tolist()[:3] == ["0", "1", "2"]


# ---- command and page


def test_commands(hub: Hub, toy: DatasetInfo) -> None:
    run = CliRunner().invoke
    first = run(main, ["data", "get", "toy"])
    assert first.exit_code == 0 and "41 rows" in first.stdout and "Not here: meta; meta is ours alone." in first.stderr
    assert "here already; --again" in run(main, ["data", "get", "toy"]).stdout
    assert "toy is what it should be" in run(main, ["data", "verify", "toy"]).stdout
    assert "data: toy" in run(main, ["data", "where"]).stdout
    hub.trouble = [404]
    failed = run(main, ["data", "get", "toy", "--again", "--quiet"])
    assert failed.exit_code == 1 and "has no train.parquet" in failed.stderr and "Traceback" not in failed.output
    assert "no data set 'nothing'" in run(main, ["data", "verify", "nothing"]).stderr


def test_ctrl_c_says_how_to_go_on(toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hubdata, "get", interrupted)
    ended = CliRunner().invoke(main, ["data", "get", "toy"])
    assert ended.exit_code == 130 and "`sentviz data get toy` goes on from here" in ended.stderr


def page() -> None:
    import streamlit as st

    from app.views.getdata_part import offer

    st.write("here" if offer("toy") else "not here")


def test_the_button_fetches(hub: Hub, toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    app = AppTest.from_function(page, default_timeout=20).run()
    assert app.markdown[-1].value == "not here" and "About 1 MB" in app.caption[0].value
    remote_get, going = hubdata.get, threading.Event()
    monkeypatch.setattr(hubdata, "get", lambda *args, **rest: going.wait(10) and remote_get(*args, **rest))
    app.button(key="get-toy").click().run()
    assert app.button(key="stop-toy") and not app.exception
    going.set()
    for thread in [thread for thread in threading.enumerate() if thread.name == "get-toy"]:
        thread.join(10)
    app.run()
    assert app.markdown[-1].value == "here" and not app.exception and not app.button


def test_the_button_stops_and_says_what_failed(hub: Hub, toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    def until_stopped(*_: object, stop: threading.Event, **__: object) -> None:
        assert stop.wait(10)
        raise Stopped("Stopped; the same download goes on from here.")

    def thread_ends() -> None:
        for thread in [thread for thread in threading.enumerate() if thread.name == "get-toy"]:
            thread.join(10)

    with monkeypatch.context() as patch:
        patch.setattr(hubdata, "get", until_stopped)
        app = AppTest.from_function(page, default_timeout=20).run()
        app.button(key="get-toy").click().run()
        app.button(key="stop-toy").click().run()
        thread_ends()
    app.run()
    assert "goes on from here" in app.info[0].value.replace("\\", "")
    hub.trouble = [404]
    app.button(key="get-toy").click().run()
    thread_ends()
    app.run()
    assert "withdrawn" in app.error[0].value and app.button(key="get-toy")


def test_an_operator_can_switch_it_off(toy: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_NO_DOWNLOAD", "1")
    app = AppTest.from_function(page, default_timeout=20).run()
    assert not app.button and "switched off" in app.caption[-1].value

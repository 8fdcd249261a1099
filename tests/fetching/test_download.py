"""One file from a server that breaks off, lies, stalls or refuses."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sentviz.data.fetch.download import RemoteFile, Stopped, fetch, look
from sentviz.errors import DataMissingError, SentvizError
from tests.fakehub import BODY, Hub, Server, handler


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
    """A download stopped after the first block requests only the rest when it is started again."""
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


def test_a_server_without_ranges_starts_anew(hub: Hub, file: str, tmp_path: Path) -> None:
    remote, hub.ranges, hub.trouble = look(file), False, [("cut", 100_000)]
    fetch(remote, tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == BODY
    hub.trouble = [("cut", 100_000)] * 99  # never gets further: given up in the end
    with pytest.raises(DataMissingError, match="the connection broke"):
        fetch(remote, tmp_path / "small")


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
    with pytest.raises(DataMissingError, match=r"big\.parquet is not the announced file .* was removed"):
        fetch(remote, tmp_path / "big")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (401, r"users with access .401.\. Set HF_TOKEN"),
        (403, r"users with access .403.\. Set HF_TOKEN"),
        (404, "has no big.parquet .404."),
        (418, "does not give big.parquet: it answered with status 418"),
        (("after", 3600), "it answered 429; try again in 3600 seconds"),
    ],
)
def test_refusals_are_said_at_once(hub: Hub, file: str, trouble: object, message: str) -> None:
    hub.trouble = [trouble] * 9
    with pytest.raises(DataMissingError, match=message):
        look(file)
    assert len(hub.requests) == 1


@pytest.mark.parametrize("address", ["http://[::1", "\xff\xfe"])
def test_a_redirect_to_nowhere_is_one_sentence(hub: Hub, file: str, tmp_path: Path, address: str) -> None:
    remote = look(file)
    hub.trouble = [("astray", address)] * 99
    with pytest.raises(DataMissingError) as caught:
        fetch(remote, tmp_path / "big")
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_no_network(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataMissingError, match="the connection is refused"):
        look("http://127.0.0.1:9/datasets/a/b/resolve/main/c")
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        look("http://127.0.0.1:9/x", stop=stop)
    monkeypatch.setenv("NO_PROXY", "*")
    with pytest.raises(DataMissingError, match=r"there is no network or no such server \(.+\)"):
        look("http://nowhere.invalid/datasets/a/b/resolve/main/c")


def test_the_hubs_own_switch_is_respected(hub: Hub, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(DataMissingError, match="HF_HUB_OFFLINE is set, so nothing is downloaded"):
        look(file)
    assert not hub.requests


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_no_space(file: str, tmp_path: Path) -> None:
    stop = threading.Event()
    with pytest.raises(Stopped):
        fetch(look(file), tmp_path / "big", progress=lambda done, _: done and stop.set(), stop=stop)
    (part,) = parts(tmp_path)
    part.unlink()
    part.symlink_to("/dev/full")
    with pytest.raises(SentvizError, match=r"There is no space left in .*\. Incomplete files were removed"):
        fetch(look(file), tmp_path / "big")
    assert not list(tmp_path.iterdir())


def test_no_space_is_seen_before(file: str, tmp_path: Path) -> None:
    with pytest.raises(SentvizError, match=r"no space left in .* \(1,000,000,000,000 MB are needed\)"):
        fetch(replace(look(file), size=10**18), tmp_path / "big")


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
    assert [(path[:4], token) for (_, path, _), token in zip(hub.requests, hub.tokens, strict=True)] == [
        ("/dat", "Bearer secret"),
        ("/dat", "Bearer secret"),
        ("/cdn", ""),
    ]


def test_unknown_sizes_and_digests(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert RemoteFile("u", 0, "").same(tmp_path / "x") and RemoteFile("u", 3, "opaque").same(tmp_path / "x")
    assert not RemoteFile("u", 4, "").same(tmp_path / "x")

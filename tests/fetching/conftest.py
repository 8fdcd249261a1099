"""Fixtures: the hub on this machine, one file of it, one data set of it."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import close_session

from sentviz.data import dataset_info, datasets
from sentviz.data.dataset_info import Cut, DatasetInfo, Part
from sentviz.data.datasets import content, info, with_row_names
from sentviz.data.fetch import download
from tests.fakehub import BODY, ROWS, Hub, Server, handler, put, recipe


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    hub = Hub()
    server = Server(("127.0.0.1", 0), handler(hub))
    hub.url, hub.network = (f"http://{host}:{server.server_port}" for host in ("127.0.0.1", "localhost"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SENTVIZ_DATA", raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(download, "PAUSE", 0.01)
    monkeypatch.setattr(download, "TIMEOUT", 5.0)
    close_session()  # which may know another proxy
    yield hub
    close_session()
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.fixture
def file(hub: Hub) -> str:
    hub.files["/datasets/a/b/resolve/main/big.parquet"] = BODY
    return hub.at("a/b/resolve/main/big.parquet")


@pytest.fixture
def toy(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> DatasetInfo:
    """Register a data set with a parquet file for train, JSON lines for test, and a part that the hub does not have."""
    rows = {"train": ROWS, "test": ROWS[:10]}
    known = {}
    for part, frame in rows.items():
        ids = with_row_names(frame.assign(id=[str(i) for i in range(len(frame))]), part)
        known[part] = Part(len(frame), "0" * 64, content(ids), tuple(np.bincount(frame["label"], minlength=2).tolist()))
    files = {"train": recipe(path="a/train.parquet", text="sentence"), "test": recipe(path="test.jsonl")}
    item = replace(
        info("sst2"),
        name="toy",
        parts=known | {"meta": Part(1, "0" * 64)},
        cuts=(Cut(("train",), {"train": 40}), Cut(("test",), {"test": 10})),
        hub=dataset_info.Hub(files, "meta is ours alone", 1.0),
    )
    registry = datasets._registry() | {"toy": item}
    monkeypatch.setattr(datasets, "_registry", lambda: registry)
    put(hub, ROWS, ROWS[:10])
    return item

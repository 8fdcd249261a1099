"""The world of a newcomer: no data set, an empty cache that cannot be written, no network, another working folder."""

import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FAULTS = ("error in sentviz", "This part failed", "Traceback", "[Errno")  # what no page and no command may say

KEPT = ("SENTVIZ_TEST_",)  # variables of the tests themselves


@pytest.fixture
def nothing_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing but the checkout; the working folder, which is empty.

    Folders of home and cache lie below a file, so that no user can make them, whoever runs the tests.
    """
    leave(monkeypatch.setenv, monkeypatch.delenv, tmp_path)
    empty = tmp_path / "elsewhere"
    empty.mkdir()
    monkeypatch.chdir(empty)
    connect = socket.socket.connect

    def refused(own: socket.socket, address: Any) -> None:
        if own.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(errno.ENETUNREACH, "Network is unreachable")
        connect(own, address)

    def unknown(host: Any, *rest: Any, **options: Any) -> Any:
        if host not in ("127.0.0.1", "::1", "localhost", None):
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return resolve(host, *rest, **options)

    resolve = socket.getaddrinfo
    monkeypatch.setattr("sentviz.data.fetch.download.PAUSE", 0.001)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    return empty


@pytest.fixture
def newcomer(nothing_at_hand: Path) -> Iterator[Path]:
    """Provide an empty machine, with the caches of other tests cleared."""
    import streamlit as st

    st.cache_resource.clear()
    st.cache_data.clear()
    yield nothing_at_hand
    st.cache_resource.clear()
    st.cache_data.clear()


def leave(put: Callable[[str, str], object], drop: Callable[[str], object], folder: Path) -> None:
    """Set the variables of an empty machine: none of sentviz or of a proxy, and folders that cannot be made."""
    wall = folder / "a-file"
    wall.touch()
    for name in list(os.environ):
        if (name.startswith(("SENTVIZ_", "HF_", "XDG_")) and not name.startswith(KEPT)) or name.lower().endswith("_proxy"):
            drop(name)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        put(name, str(wall / name.lower()))

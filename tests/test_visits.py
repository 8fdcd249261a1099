"""Files and memory after a visit, on a server without other visitors."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

from tests.browser.conftest import ROOT

PAGE = """
import weakref
import streamlit as st

@st.cache_resource
def visits():
    return []

class Held:
    pass

if "held" not in st.session_state:
    st.session_state["held"] = Held()
    visits().append(weakref.ref(st.session_state["held"]))
st.markdown(str(sum(held() is not None for held in visits())))
st.download_button("File", b"of one visit", f"{len(visits())}.txt")
"""
MAIN = """
import streamlit as st
from app.server.process import sweeping

app = st.App("page.py", lifespan=sweeping)
"""
SETTINGS = ("server.headless=true", "server.address=127.0.0.1", "server.fileWatcherType=none", "browser.gatherUsageStats=false")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Start a server of one page, where a closed visit can continue within two seconds; yield its address."""
    (folder / "page.py").write_text(PAGE)
    (folder / "main.py").write_text(MAIN)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    port = f"server.port={address.rpartition(':')[2]}"
    settings = [f"--{setting}" for setting in (*SETTINGS, port, "server.disconnectedSessionTTL=2")]
    command = [sys.executable, "-m", "streamlit", "run", "main.py", *settings]
    process = subprocess.Popen(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
    try:
        while status(f"http://{address}/_stcore/health") != 200:
            assert process.poll() is None, "the server did not start"
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def status(address: str) -> int:
    """Return the status of an answer; 0 if no server answers."""
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


async def visited(address: str) -> tuple[str, int]:
    """One visit: the address of the file that it is given, and how many visits hold something, itself included."""
    async with connect(f"ws://{address}/_stcore/stream", subprotocols=["streamlit"]) as visit:  # type: ignore[list-item]
        message, file, open_files = BackMsg(), "", 0
        message.rerun_script.query_string = ""
        await visit.send(message.SerializeToString())
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(await visit.recv())  # type: ignore[arg-type]
            element = answer.delta.new_element
            file, open_files = element.download_button.url or file, int(element.markdown.body or open_files)
            if answer.WhichOneof("type") == "script_finished":
                assert status(f"http://{address}{file}") == 200
                return f"http://{address}{file}", open_files


@pytest.mark.exhaustive
def test_a_visit_and_its_files_go_though_nobody_comes_after(tmp_path: Path) -> None:
    """The files of a closed visit are deleted without another visit, and a later visit is alone."""
    with serving(tmp_path) as address:
        (file, open_files), end = asyncio.run(visited(address)), time.monotonic() + 60
        assert open_files == 1
        while status(file) != 404:
            assert time.monotonic() < end, "the file is still there"
            time.sleep(0.2)
        time.sleep(1)
        while asyncio.run(visited(address))[1] > 1:
            assert time.monotonic() < end, "what a visit held is still there"
            time.sleep(5)  # a busy machine is late; the visit that just asked goes, too


PRIVATE = {"_session_mgr", "_storage_lock", "_session_storage", "_cache"}


def test_the_private_attributes_of_streamlit_are_there(tmp_path: Path) -> None:
    """The attributes that the app uses of Streamlit are those listed here, and the installed version has them."""
    from streamlit.runtime import Runtime
    from streamlit.runtime.memory_session_storage import MemorySessionStorage
    from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

    pages = Path(__file__).parents[1] / "app"
    used = {name for path in pages.rglob("*.py") for name in re.findall(r"(?<!self)(?<!cls)\._[a-z]\w*", path.read_text(encoding="utf-8"))}
    assert {name[1:] for name in used} == PRIVATE
    storage = MemorySessionStorage()
    assert hasattr(storage._cache, "expire")
    names = {*WebsocketSessionManager.__init__.__code__.co_names, *Runtime.__init__.__code__.co_names}
    assert {"_session_mgr", "_session_storage", "_storage_lock"} <= names
    bound = next(
        line for line in tomllib.loads((pages.parent / "pyproject.toml").read_text())["project"]["dependencies"] if "streamlit" in line
    )
    assert Version(version("streamlit")) in Requirement(bound).specifier and "<" in bound

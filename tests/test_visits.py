"""The app as it is served, alone and behind a proxy: who is answered, what every answer has, and what a visit leaves."""

from __future__ import annotations

import asyncio
import base64
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.testclient import TestClient
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from websockets.asyncio.client import connect

from app.fields import LONGEST
from app.focus import Focus
from app.server.headers import HEAD, HEADERS, SCRIPT, Rooted, SecurityHeaders, own_machine
from sentviz.analysis.explain import SCORES
from tests.browser.conftest import ROOT, serving

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
PRIVATE = {"_session_mgr", "_storage_lock", "_session_storage", "_cache"}


@contextmanager
def one_page(folder: Path) -> Iterator[str]:
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
    with one_page(tmp_path) as address:
        (file, open_files), end = asyncio.run(visited(address)), time.monotonic() + 60
        assert open_files == 1
        while status(file) != 404:
            assert time.monotonic() < end, "the file is still there"
            time.sleep(0.2)
        time.sleep(1)
        while asyncio.run(visited(address))[1] > 1:
            assert time.monotonic() < end, "what a visit held is still there"
            time.sleep(5)  # a busy machine is late; the visit that just asked goes, too


def test_the_private_attributes_of_streamlit_are_there() -> None:
    used = {
        name
        for path in (ROOT / "app").rglob("*.py")
        for name in re.findall(r"(?<!self)(?<!cls)\._[a-z]\w*", path.read_text(encoding="utf-8"))
    }
    assert {name[1:] for name in used} == PRIVATE
    storage = MemorySessionStorage()
    assert hasattr(storage._cache, "expire")
    names = {*WebsocketSessionManager.__init__.__code__.co_names, *Runtime.__init__.__code__.co_names}
    assert {"_session_mgr", "_session_storage", "_storage_lock"} <= names
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    bound = next(line for line in needed if "streamlit" in line)
    assert Version(version("streamlit")) in Requirement(bound).specifier and "<" in bound


SERVER = tomllib.loads((ROOT / "app" / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
HOST = "sentviz.example.org"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def test_only_this_machine_and_its_names_are_served_with_headers() -> None:
    assert SERVER["address"] == "127.0.0.1" and SERVER["enableCORS"] and SERVER["enableXsrfProtection"]
    assert SERVER["allowedHosts"] and "*" not in SERVER["allowedHosts"]
    for host, status in [("localhost:8501", 200), ("127.0.0.1", 200), ("evil.example", 400), ("localhost.evil.example", 400)]:
        app = SecurityHeaders(TrustedHostMiddleware(PlainTextResponse("here"), allowed_hosts=SERVER["allowedHosts"]))
        answer = TestClient(app).get("/", headers={"host": host})
        assert answer.status_code == status and HEADERS.items() <= dict(answer.headers).items()
        assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
        own = SecurityHeaders(PlainTextResponse("here", headers={"Referrer-Policy": "no-referrer"}))
        assert TestClient(own).get("/").headers.get_list("referrer-policy") == ["no-referrer"]
    cases = [(None, {}, True), ("127.0.0.1", {"Host": "127.0.0.1:8501"}, True), (None, {"Host": "localhost:8501"}, True)]
    cases += [(None, {"Host": HOST}, False), (None, {"Host": "127.0.0.1:8501", "X-Forwarded-For": "10.0.0.7"}, False)]
    cases += [("10.0.0.7", {"Host": "localhost"}, False)]
    for address, headers, own in cases:
        assert own_machine(address, headers) == own


def test_a_page_is_told_where_its_server_is_and_texts_have_a_stated_length() -> None:
    page = "<html><head><title>x</title></head></html>"
    opened, read = {"accept": "text/html,*/*"}, {"accept": "*/*"}
    answer = TestClient(Rooted(HTMLResponse(page))).get("/", headers=opened)
    assert answer.content == page.encode().replace(HEAD, HEAD + SCRIPT) and int(answer.headers["content-length"]) == len(answer.content)
    assert TestClient(Rooted(HTMLResponse(page))).get("/", headers=read).text == page
    assert TestClient(Rooted(PlainTextResponse(page))).get("/", headers=opened).text == page
    long = "a" * (LONGEST + 1)
    assert len(Focus().with_(text=long, pair=long).pair) == len(Focus().with_(text=long).text) == LONGEST
    linked, _ = Focus.parse({"text": long, "pair": long, "row": long}, [], SCORES)
    assert len(linked.text) == len(linked.pair) == LONGEST > len(linked.row)


@pytest.mark.exhaustive
def test_the_metrics_are_for_this_machine_alone() -> None:
    with serving(STREAMLIT_SERVER_ALLOWED_HOSTS=f"{HOST} localhost") as address:
        port = int(address.rpartition(":")[2])
        for path in ("/_stcore/metrics", "/_stcore/metrics?families=active_sessions", "//_stcore/metrics", "/%5Fstcore/metrics"):
            assert get(port, path, Host=HOST)[0] != 200 and get(port, path, Host="localhost", X_Forwarded_For="10.0.0.7")[0] != 200
        assert get(port, "/_stcore/metrics", Host="localhost")[0] == get(port, "/_stcore/health", Host=HOST)[0] == 200


def get(port: int, path: str, address: str = "127.0.0.1", **headers: str) -> tuple[int, str]:
    """Return status and content security policy of an answer; 0 if no server answers."""
    with closing(http.client.HTTPConnection(address, port, timeout=30)) as connection, suppress(OSError):
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        with connection.getresponse() as answer:
            return answer.status, answer.headers.get("content-security-policy", "")
    return 0, ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.exhaustive
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="127.0.0.2 is an address of this machine on Linux")
@pytest.mark.parametrize(("options", "listens"), [([], "127.0.0.1"), (["--server.address=127.0.0.2"], "127.0.0.2")])
def test_the_command_keeps_its_settings_wherever_it_is_started(options: list[str], listens: str, tmp_path: Path) -> None:
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text('[server]\naddress = "0.0.0.0"\nallowedHosts = ["*"]\n', encoding="utf-8")
    variables, port = {name: value for name, value in os.environ.items() if not name.startswith("STREAMLIT_")}, free_port()
    command = [sys.executable, "-m", "sentviz", "app", "--no-browser", f"--port={port}", *options]
    environment = variables | {"PYTHONPATH": str(ROOT), "HOME": "/proc/nobody", "XDG_CACHE_HOME": "/proc/nobody/cache"}
    heard = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, **heard)
    try:
        for _ in range(300):
            if get(port, "/", listens, Host="localhost")[0]:
                break
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.1)
        answers = {address: get(port, "/", address, Host="localhost")[0] for address in ("127.0.0.1", "127.0.0.2")}
        assert answers == {"127.0.0.1": 0, "127.0.0.2": 0} | {listens: 200}
        assert get(port, "/", listens, Host="evil.example")[0] == 400
    finally:
        process.terminate()
        output = process.communicate(timeout=30)[0]
    assert "usage statistics" not in output and "can now view" in output


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_the_proxy_of_the_docs_passes_pages_and_sockets_of_its_host_alone(tmp_path: Path) -> None:
    block = re.search(r"```nginx\n(.*?)```", (ROOT / "docs" / "SERVING.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block and NGINX
    port, key = free_port(), base64.b64encode(os.urandom(16)).decode()
    with serving(STREAMLIT_SERVER_ALLOWED_HOSTS=HOST) as address:
        text = block[1].replace("listen 443 ssl", f"listen 127.0.0.1:{port}").replace("http://127.0.0.1:8501", address)
        paths = "".join(f"{name}_temp_path {tmp_path}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        head = f"daemon off; pid {tmp_path}/pid; error_log stderr; events {{}}"
        (tmp_path / "nginx.conf").write_text(f"{head} http {{ access_log off; {paths} {text} }}", encoding="utf-8")
        nginx = subprocess.Popen([NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")], stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                if get(port, "/", Host=HOST)[0]:
                    break
                assert nginx.poll() is None, "nginx did not start"
                time.sleep(0.1)
            assert get(port, "/", Host=HOST) == (200, HEADERS["content-security-policy"])
            upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Key": key, "Sec_WebSocket_Version": "13"}
            for origin, status in ((f"http://{HOST}", 101), ("https://evil.example", 403)):
                assert get(port, "/_stcore/stream", Host=HOST, Origin=origin, **upgrade)[0] == status
            assert get(port, "/", Host="evil.example")[0] == 400
        finally:
            nginx.terminate()
            nginx.wait(30)

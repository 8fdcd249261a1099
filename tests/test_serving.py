"""docs/SERVING.md: its proxy before the app, and who counts as the machine's own user."""

from __future__ import annotations

import base64
import http.client
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.server.headers import HEADERS, own_machine
from tests.browser.conftest import ROOT, serving

HOST = "sentviz.example.org"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


@pytest.mark.parametrize(
    ("address", "headers", "own"),
    [
        (None, {}, True),
        ("127.0.0.1", {"Host": "127.0.0.1:8501"}, True),
        (None, {"Host": "localhost:8501"}, True),
        (None, {"Host": HOST}, False),
        (None, {"Host": "127.0.0.1:8501", "X-Forwarded-For": "10.0.0.7"}, False),
        ("10.0.0.7", {"Host": "localhost"}, False),
    ],
)
def test_only_who_sits_at_the_machine_is_its_own_user(address: str | None, headers: dict[str, str], own: bool) -> None:
    assert own_machine(address, headers) == own


@pytest.mark.exhaustive
def test_the_metrics_are_for_this_machine_alone() -> None:
    """Requests through a proxy or by another host name get the answer of a missing page."""
    with serving(STREAMLIT_SERVER_ALLOWED_HOSTS=f"{HOST} localhost") as address:
        port = int(address.rpartition(":")[2])
        for path in ("/_stcore/metrics", "/_stcore/metrics?families=active_sessions", "//_stcore/metrics", "/%5Fstcore/metrics"):
            assert get(port, path, Host=HOST)[0] != 200 and get(port, path, Host="localhost", X_Forwarded_For="10.0.0.7")[0] != 200
        assert get(port, "/_stcore/metrics", Host="localhost")[0] == get(port, "/_stcore/health", Host=HOST)[0] == 200


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[int]:
    """Start nginx with the documented block, without TLS, before the app; yield its port."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    block = re.search(r"```nginx\n(.*?)```", (ROOT / "docs" / "SERVING.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with serving(STREAMLIT_SERVER_ALLOWED_HOSTS=HOST) as address:
        text = block[1].replace("listen 443 ssl", f"listen 127.0.0.1:{port}").replace("http://127.0.0.1:8501", address)
        paths = "".join(f"{name}_temp_path {tmp_path}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        head = f"daemon off; pid {tmp_path}/pid; error_log stderr; events {{}}"
        (tmp_path / "nginx.conf").write_text(f"{head} http {{ access_log off; {paths} {text} }}", encoding="utf-8")
        nginx = subprocess.Popen([NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")], stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                with socket.socket() as knock:
                    if knock.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert nginx.poll() is None, "nginx did not start"
                time.sleep(0.1)
            yield port
        finally:
            nginx.terminate()
            nginx.wait(30)


def get(port: int, path: str, **headers: str) -> tuple[int, str]:
    """Return status and content security policy of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with closing(connection):
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        with connection.getresponse() as answer:
            return answer.status, answer.headers.get("content-security-policy", "")


@pytest.mark.slow
def test_the_proxy_of_the_docs_passes_pages_and_sockets_of_its_host_alone(proxy: int) -> None:
    """The proxy passes the page and a socket of its host, and refuses other sites and other names."""
    assert get(proxy, "/", Host=HOST) == (200, HEADERS["content-security-policy"])
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = {"Host": HOST, "Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Key": key, "Sec_WebSocket_Version": "13"}
    assert get(proxy, "/_stcore/stream", **upgrade, Origin=f"http://{HOST}")[0] == 101
    assert get(proxy, "/_stcore/stream", **upgrade, Origin="https://evil.example")[0] == 403
    assert get(proxy, "/", Host="evil.example")[0] == 400

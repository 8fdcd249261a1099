"""The app as it is served, alone and behind the proxy of docs/SERVING.md: who is answered, what every answer has, who is at the machine."""

from __future__ import annotations

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
from contextlib import closing, suppress
from pathlib import Path

import pytest
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.testclient import TestClient

from app.fields import LONGEST
from app.focus import Focus
from app.server.headers import HEAD, HEADERS, SCRIPT, Rooted, SecurityHeaders, own_machine
from sentviz.analysis.explain import SCORES
from tests.browser.conftest import ROOT, serving

SERVER = tomllib.loads((ROOT / "app" / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
HOST = "sentviz.example.org"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def test_only_this_machine_is_served_unless_told_otherwise() -> None:
    assert SERVER["address"] == "127.0.0.1" and SERVER["enableCORS"] and SERVER["enableXsrfProtection"]
    assert SERVER["allowedHosts"] and "*" not in SERVER["allowedHosts"]


@pytest.mark.parametrize(
    ("host", "status"), [("localhost:8501", 200), ("127.0.0.1", 200), ("evil.example", 400), ("localhost.evil.example", 400)]
)
def test_a_name_that_is_not_ours_is_refused(host: str, status: int) -> None:
    """A request with another site's name (DNS rebinding) is refused, with security headers."""
    app = SecurityHeaders(TrustedHostMiddleware(PlainTextResponse("here"), allowed_hosts=SERVER["allowedHosts"]))
    answer = TestClient(app).get("/", headers={"host": host})
    assert answer.status_code == status
    assert HEADERS.items() <= dict(answer.headers).items()
    assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
    own = SecurityHeaders(PlainTextResponse("here", headers={"Referrer-Policy": "no-referrer"}))
    assert TestClient(own).get("/").headers.get_list("referrer-policy") == ["no-referrer"]


def test_a_page_is_told_where_its_server_is() -> None:
    """A page that a browser opens gets the server's path, with its length; other answers, and pages that a program reads, do not."""
    page = "<html><head><title>x</title></head></html>"
    opened, read = {"accept": "text/html,*/*"}, {"accept": "*/*"}
    answer = TestClient(Rooted(HTMLResponse(page))).get("/", headers=opened)
    assert answer.content == page.encode().replace(HEAD, HEAD + SCRIPT) and int(answer.headers["content-length"]) == len(answer.content)
    assert TestClient(Rooted(HTMLResponse(page))).get("/", headers=read).text == page
    assert TestClient(Rooted(PlainTextResponse(page))).get("/", headers=opened).text == page


def test_a_text_has_a_stated_length_typed_or_linked() -> None:
    """A text in the focus or a link is cut at a stated length, because a program may send more characters than a browser's box allows."""
    long = "a" * (LONGEST + 1)
    assert len(Focus().with_(text=long, pair=long).pair) == len(Focus().with_(text=long).text) == LONGEST
    linked, _ = Focus.parse({"text": long, "pair": long, "row": long}, [], SCORES)
    assert len(linked.text) == len(linked.pair) == LONGEST > len(linked.row)


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
    """The app keeps one address, its names and no statistics, without a home folder and in a Streamlit project that listens everywhere."""
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text('[server]\naddress = "0.0.0.0"\nallowedHosts = ["*"]\n', encoding="utf-8")
    variables, port = {name: value for name, value in os.environ.items() if not name.startswith("STREAMLIT_")}, free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "sentviz", "app", "--no-browser", f"--port={port}", *options],
        cwd=tmp_path,
        env=variables | {"PYTHONPATH": str(ROOT), "HOME": "/proc/nobody", "XDG_CACHE_HOME": "/proc/nobody/cache"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
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


@pytest.mark.slow
@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_the_proxy_of_the_docs_passes_pages_and_sockets_of_its_host_alone(tmp_path: Path) -> None:
    """nginx with the documented block, without TLS, passes the page and a socket of its host, and refuses other sites and other names."""
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

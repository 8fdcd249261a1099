"""The app as it is served: who is answered, what every answer carries, how long a text may be."""

from __future__ import annotations

import http.client
import os
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
from app.server.headers import HEAD, HEADERS, SCRIPT, Rooted, SecurityHeaders
from sentviz.analysis.explain import SCORES

ROOT = Path(__file__).parents[1]
SERVER = tomllib.loads((ROOT / "app" / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]


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


def status(address: str, port: int, host: str = "localhost") -> int:
    """Return the status of an answer; 0 if no server answers."""
    with closing(http.client.HTTPConnection(address, port, timeout=30)) as connection, suppress(OSError):
        connection.request("GET", "/", headers={"Host": host})
        return connection.getresponse().status
    return 0


@pytest.mark.exhaustive
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="127.0.0.2 is an address of this machine on Linux")
@pytest.mark.parametrize(("options", "listens"), [([], "127.0.0.1"), (["--server.address=127.0.0.2"], "127.0.0.2")])
def test_the_command_keeps_its_settings_wherever_it_is_started(options: list[str], listens: str, tmp_path: Path) -> None:
    """The app keeps one address, its names and no statistics, without a home folder and in a Streamlit project that listens everywhere."""
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text('[server]\naddress = "0.0.0.0"\nallowedHosts = ["*"]\n', encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("STREAMLIT_")}
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
            if status(listens, port):
                break
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.1)
        answers = {address: status(address, port) for address in ("127.0.0.1", "127.0.0.2")}
        assert answers == {"127.0.0.1": 0, "127.0.0.2": 0} | {listens: 200}
        assert status(listens, port, "evil.example") == 400
    finally:
        process.terminate()
        output = process.communicate(timeout=30)[0]
    assert "usage statistics" not in output and "can now view" in output

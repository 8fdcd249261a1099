"""The app as it is served: who is answered, what every answer carries, how long a text may be."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from app.fields import LONGEST
from app.focus import Focus
from app.headers import HEADERS, Signed
from sentviz.explain import SCORES

ROOT = Path(__file__).parents[1]
SERVER = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]


def test_only_this_machine_is_served_unless_told_otherwise() -> None:
    assert SERVER["address"] == "127.0.0.1" and SERVER["enableCORS"] and SERVER["enableXsrfProtection"]
    assert SERVER["allowedHosts"] and "*" not in SERVER["allowedHosts"]


@pytest.mark.parametrize(
    ("host", "status"), [("localhost:8501", 200), ("127.0.0.1", 200), ("evil.example", 400), ("localhost.evil.example", 400)]
)
def test_a_name_that_is_not_ours_is_refused(host: str, status: int) -> None:
    """DNS rebinding: the address is this machine's, the name another site's. Refusals are signed, too."""
    app = Signed(TrustedHostMiddleware(PlainTextResponse("here"), allowed_hosts=SERVER["allowedHosts"]))
    answer = TestClient(app).get("/", headers={"host": host})
    assert answer.status_code == status
    assert HEADERS.items() <= dict(answer.headers).items()
    assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]


def test_an_answer_keeps_headers_of_its_own() -> None:
    app = Signed(PlainTextResponse("here", headers={"Referrer-Policy": "no-referrer"}))
    assert TestClient(app).get("/").headers.get_list("referrer-policy") == ["no-referrer"]


def test_a_text_has_a_stated_length_typed_or_linked() -> None:
    """Twenty million characters were taken once; a browser's box is no bound for who speaks to the socket."""
    long = "a" * (LONGEST + 1)
    assert len(Focus().with_(text=long, pair=long).pair) == len(Focus().with_(text=long).text) == LONGEST
    linked, _ = Focus.parse({"text": long, "pair": long, "find": long}, [], SCORES)
    assert len(linked.text) == len(linked.pair) == LONGEST > len(linked.find)

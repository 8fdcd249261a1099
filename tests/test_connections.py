"""`sentviz serve` on a real socket: slow clients, clients that leave, and work that takes too long."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sentviz.doors import asking
from sentviz.doors import http as serve
from sentviz.errors import Stopped
from sentviz.models.model import Model

pytest.importorskip("fastapi", reason="the extra serve is not installed")
import uvicorn

from sentviz.doors.connections import SETTINGS

pytestmark = pytest.mark.slow
RUN = "toy/ndt-unit-2"
GOOD = {"run": RUN, "texts": ["a warm song"]}
LONG = {"run": RUN, "text": "a warm, clever song " * 12}
PATIENCE = 20.0  # seconds, after which a test fails
HEAD = b"POST /explain HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda **some: monkeypatch.setattr(asking, "LIMITS", replace(asking.LIMITS, **some))


@pytest.fixture
def start(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """Start a server of `tiny_runs`, or of another application, on a free port of this machine; return the port."""
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    started: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(app: Any = None) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app or serve.application([RUN]), log_config=None, **SETTINGS))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        started.append((server, thread))
        return int(listener.getsockname()[1])

    yield start
    for server, thread in started:
        server.should_exit = server.force_exit = True
        thread.join(PATIENCE)


def ask(port: int, path: str, body: Any = None) -> tuple[int, Any]:
    """Return the status and the content of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with closing(connection):
        connection.request("GET" if body is None else "POST", path, json.dumps(body), {"content-type": "application/json"})
        with connection.getresponse() as answer:
            return answer.status, json.loads(answer.read())


def sent(port: int, some: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
    connection.sendall(some)
    return connection


def explain(port: int) -> socket.socket:
    """Open a connection and send a long text to be explained."""
    body = json.dumps(LONG).encode()
    return sent(port, HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)


def rest(connection: socket.socket) -> bytes:
    """Return the bytes that arrive until the server closes the connection."""
    parts = []
    with connection:
        try:
            while part := connection.recv(1 << 16):
                parts.append(part)
        except ConnectionResetError:
            pass
    return b"".join(parts)


class Batches:
    """Watches the batches of every model: the first one after `hold` lasts until its work is to stop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        self.held, self.stopped, self.given_up = threading.Event(), threading.Event(), threading.Event()
        self._holds = False
        outputs = Model.outputs

        def watched(model: Model, rows: Any, change: Any) -> Any:
            self.log.append("batch")
            if self._holds:
                self._holds = False
                self.held.set()
                self._until_stopped(model)
            return outputs(model, rows, change)

        monkeypatch.setattr(Model, "outputs", watched)

    def hold(self) -> None:
        """Hold the next batch."""
        self._holds = True

    def _until_stopped(self, model: Model) -> None:
        for _ in range(int(PATIENCE / 0.01)):
            try:
                model.check()
            except Stopped:
                self.log.append("stopped")
                self.stopped.set()
                return
            self.given_up.wait(0.01)


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Batches:
    return Batches(monkeypatch)


def test_work_for_clients_that_left_stops_and_cheap_answers_never_wait(
    start: Callable[..., int], limits: Callable[..., None], batches: Batches
) -> None:
    limits(at_once=1, waiting=3)
    port = start()
    assert ask(port, "/predict", GOOD)[0] == 200
    batches.log.clear()
    batches.hold()
    visitors = [explain(port)]
    assert batches.held.wait(PATIENCE)
    visitors += [explain(port) for _ in range(3)]
    assert ask(port, "/runs")[0] == 200
    for visitor in reversed(visitors):
        visitor.close()
    assert batches.stopped.wait(PATIENCE)
    assert ask(port, "/runs")[0] == 200
    assert ask(port, "/predict", GOOD)[0] == 200
    assert batches.log == ["batch", "stopped", "batch"]


def test_slow_clients_make_room_for_others(start: Callable[..., int], limits: Callable[..., None]) -> None:
    limits(connections=8)
    port = start()
    slow = [sent(port, HEAD + (b"content-length: 9\r\n\r\n{" if i % 2 else b"")) for i in range(30)]
    assert (ask(port, "/runs")[0], ask(port, "/predict", GOOD)[0]) == (200, 200)
    assert [rest(client) for client in slow[:22]] == [b""] * 22
    for client in slow:
        client.close()


@pytest.mark.exhaustive
def test_headers_and_bodies_have_a_time(start: Callable[..., int], limits: Callable[..., None]) -> None:
    limits(head=0.3, seconds=0.3)
    port = start()
    assert rest(sent(port, b"")) == b""
    response = rest(sent(port, HEAD))
    assert response.startswith(b"HTTP/1.1 408 ") and json.loads(response.partition(b"\r\n\r\n")[2])["error"].startswith("The headers")
    response = rest(sent(port, HEAD + b"content-length: 9\r\n\r\n{"))
    assert response.startswith(b"HTTP/1.1 408 ") and b"too long to arrive" in response
    assert rest(sent(port, b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" + HEAD)).startswith(b"HTTP/1.1 200 ")


def test_an_answer_that_nobody_takes_is_dropped(start: Callable[..., int], limits: Callable[..., None]) -> None:
    limits(seconds=0.3)
    ended = threading.Semaphore(0)

    async def large(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % (64 << 20))]})
            await send({"type": "http.response.body", "body": bytes(64 << 20)})
            ended.release()

    with sent(start(large), b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n" * 2) as unread:
        assert ended.acquire(timeout=PATIENCE) and ended.acquire(timeout=PATIENCE)
        assert len(rest(unread)) < 64 << 20

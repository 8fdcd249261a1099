"""Attacks on `sentviz serve`."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tools.attack.case import Attack, Case, Made, never, nothing, says
from tools.attack.folders import CONFIGS
from tools.attack.served import RUN, Ask, Target
from tools.soak import SENTENCES

LONG = "good film " * 2_000  # 20,000 characters, the most that a text may have
SLOW = 70  # connections
PATIENCE = 40.0  # seconds that slow connections go on, and that another client asks again
BUSY = 503


class Server(Target):
    """`sentviz serve` of one run."""

    health = "/runs"

    def command(self) -> list[str]:
        """Return the command of the server, on a free port of this machine."""
        return ["-m", "sentviz", "serve", "--port", str(self.port)]

    @asynccontextmanager
    async def visitor(self) -> AsyncIterator[Ask]:
        """A client who requests a prediction and the list of runs, again while the server is busy; that time counts as waiting."""

        def once() -> None:
            end = time.monotonic() + PATIENCE
            for path, body in (("/predict", {"run": RUN, "texts": [SENTENCES[0]]}), ("/runs", None)):
                data = None if body is None else json.dumps(body).encode()
                request = urllib.request.Request(self.address + path, data, {"content-type": "application/json"})
                while True:
                    try:
                        urllib.request.urlopen(request, timeout=60).read()
                        break
                    except urllib.error.HTTPError as error:
                        if error.code != BUSY or time.monotonic() > end:
                            raise RuntimeError(f"{path} is {error.code}") from None
                        time.sleep(0.2)

        async def ask(answered: Callable[[], None]) -> None:
            await asyncio.to_thread(once)
            answered()

        yield ask


def _request(path: str, **body: object) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


async def _sent(server: Server, data: bytes, wait: float = 30.0) -> str:
    """Send bytes and leave after a while; return the received text."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(data)
        await writer.drain()
        return (await asyncio.wait_for(reader.read(2000), wait)).decode("utf-8", "replace")
    except TimeoutError:
        return "nothing came"
    finally:
        writer.close()


def leaving(path: str, **more: object) -> Attack:
    """Twenty clients that ask for much and leave after half a second."""

    async def run(server: Server, inputs: Made) -> str:
        data = _request(path, run=RUN, text=LONG, **more)
        responses = await asyncio.gather(*(_sent(server, data, 0.5) for _ in range(20)))
        await asyncio.sleep(15)
        return responses[0]

    return run


def slow(head: bytes, drop: bytes) -> Attack:
    """Connections that send a few bytes a second and never end."""

    async def one(server: Server) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        end = time.monotonic() + PATIENCE
        try:
            writer.write(head)
            while time.monotonic() < end:
                writer.write(drop)
                await writer.drain()
                try:
                    return (await asyncio.wait_for(reader.read(2000), 1)).decode("utf-8", "replace") or "closed"
                except TimeoutError:
                    continue
            return f"held for {PATIENCE:g} s"
        except OSError:
            return "closed"
        finally:
            writer.close()

    async def run(server: Server, inputs: Made) -> str:
        responses = await asyncio.gather(*(one(server) for _ in range(SLOW)))
        first_lines = Counter(answer.splitlines()[0] for answer in responses)
        return "; ".join(f"{count} {line}" for line, count in first_lines.items())

    return run


async def deep(server: Server, inputs: Made) -> str:
    """A body of two hundred thousand lists in each other."""
    data = b'{"run": ' + b"[" * 200_000
    head = f"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    return await _sent(server, head.encode() + data)


async def listed(server: Server, inputs: Made) -> str:
    """The runs."""
    return await _sent(server, b"GET /runs HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")


NEVER = never(r"Traceback|HTTP/1.1 500")
SERVER = (
    Case("20 /explain whose clients leave", "server", nothing, leaving("/explain"), lambda output: ""),
    Case("20 /trace whose clients leave", "server", nothing, leaving("/trace", maps=True), lambda output: ""),
    Case("20 /explain by gradients", "server", nothing, leaving("/explain", score="integrated-gradients"), lambda output: ""),
    Case("70 slow connections: headers", "server", nothing, slow(b"POST /predict HTTP/1.1\r\nhost: localhost\r\n", b"x: y\r\n"), NEVER),
    Case(
        "70 slow connections: body",
        "server",
        nothing,
        slow(b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n", b" "),
        NEVER,
    ),
    Case("70 silent connections", "server", nothing, slow(b"", b""), NEVER),
    Case("deep JSON", "server", nothing, deep, says("HTTP/1.1 400")),
    *(
        Case(f"run beside: {name}", "server", CONFIGS[name], listed, says(f"HTTP/1.1 200.*|{RUN}"))
        for name in ("1e12 layers", "config of 200 MB", "config a pipe")
    ),
)

"""A server on this machine that speaks the hub's protocol, and the made-up data set that it serves."""

import hashlib
import io
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pandas as pd

from sentviz.data.dataset_info import HubFile

BODY = bytes(range(256)) * 4000  # about a megabyte


@dataclass
class Hub:
    """A server with files by path, faults for the next requests, and a log of the requests."""

    files: dict[str, bytes] = field(default_factory=dict)
    trouble: list[Any] = field(default_factory=list)  # a status, ("after", s), ("cut", n), ("stall", s), ("lie", bytes),
    # ("astray", address); None: none
    requests: list[tuple[str, str, str]] = field(default_factory=list)  # method, path, range
    tokens: list[str] = field(default_factory=list)
    sent: int = 0
    ranges: bool = True
    linked: bool = True  # large file: redirect to the content network with the digest beside it
    url: str = ""
    network: str = ""  # address of the content network; a separate host, as for the real hub
    lock: threading.Lock = field(default_factory=threading.Lock)

    def at(self, path: str) -> str:
        return f"{self.url}/datasets/{path}"


def handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def answer(self, status: int, **headers: str) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": "0", **{k.replace("_", "-"): v for k, v in headers.items()}}.items():
                self.send_header(key, value)
            self.end_headers()

        def do_HEAD(self) -> None:
            self.respond()

        def do_GET(self) -> None:
            self.respond()

        def respond(self) -> None:
            with hub.lock:
                hub.requests.append((self.command, self.path, self.headers.get("Range", "")))
                hub.tokens.append(self.headers.get("Authorization", ""))
                wrong = hub.trouble.pop(0) if hub.trouble and not self.path.startswith("/moved") else None
            if wrong == "drop":
                self.close_connection = True
                return
            if isinstance(wrong, int):
                return self.answer(wrong)
            if isinstance(wrong, tuple) and wrong[0] == "after":
                return self.answer(429, Retry_After=str(wrong[1]))
            body = hub.files.get(self.path.removeprefix("/cdn").removeprefix("/moved"))
            if isinstance(wrong, tuple) and wrong[0] == "astray":
                return self.answer(302, Location=wrong[1])
            if self.path.startswith("/moved"):
                return self.answer(307, Location=self.path.removeprefix("/moved"))
            if body is None:
                return self.answer(404)
            if not self.path.startswith("/cdn") and hub.linked:
                digest = hashlib.sha256(body).hexdigest()
                if wrong:
                    hub.trouble.insert(0, wrong)
                return self.answer(
                    302, Location=f"{hub.network}/cdn{self.path}", X_Linked_ETag=f'"{digest}"', X_Linked_Size=str(len(body)), ETag='"other"'
                )
            self.body(body, wrong)

        def body(self, body: bytes, wrong: Any) -> None:
            etag = hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
            requested_range, headers, start = self.headers.get("Range"), {"ETag": f'W/"{etag}"'}, 0
            if requested_range and hub.ranges:
                start = int(requested_range.removeprefix("bytes=").rstrip("-"))
                if start >= len(body):
                    return self.answer(416)
                headers["Content_Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            rest = body[start:]
            kind, value = wrong if isinstance(wrong, tuple) else ("", b"")
            if kind == "lie":
                rest = value
            self.answer(206 if "Content_Range" in headers else 200, Content_Length=str(len(rest)), **headers)
            if self.command == "HEAD":
                return
            if kind == "cut":
                rest, self.close_connection = rest[:value], True
            if kind == "stall":
                time.sleep(value)
            try:
                for at in range(0, len(rest), 1 << 14):
                    hub.sent += len(rest[at : at + (1 << 14)])  # counted first: who reads it may look before this thread goes on
                    self.wfile.write(rest[at : at + (1 << 14)])
            except OSError:
                self.close_connection = True

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None: ...


def recipe(**changes: Any) -> HubFile:
    return HubFile(**({"path": "p.jsonl", "repo": "a/b", "revision": "main"} | changes))


ROWS = pd.DataFrame({"text": [f"text {i}" for i in range(40)] + [" "], "label": [0, 1] * 20 + [0]})


def put(hub: Hub, train: pd.DataFrame, test: pd.DataFrame) -> None:
    buffer = io.BytesIO()
    train.rename(columns={"text": "sentence"}).to_parquet(buffer)
    hub.files["/datasets/a/b/resolve/main/a/train.parquet"] = buffer.getvalue()
    lines = "".join(json.dumps(row) + "\n" for row in test.to_dict("records"))
    hub.files["/datasets/a/b/resolve/main/test.jsonl"] = lines.encode()

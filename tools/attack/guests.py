"""The app, served to visitors who speak as browsers do."""

from __future__ import annotations

import asyncio
import re
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState, UploadedFileInfo
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import connect

from tools.attack.served import RUN, Ask, Target
from tools.soak import SENTENCES, Seen, Visitor


class Guest(Visitor):
    """A visitor of the app by the protocol that browsers speak, who can send files and leave."""

    app: App
    patience = 3_600.0  # the processor seconds of the case end an attack earlier

    @property
    def faults(self) -> str:
        """Exceptions that pages showed."""
        return "".join(f"Traceback (most recent call last):\n{name}\n" for name in self.seen.errors)

    async def open(self, page: str = "", query: str = "") -> str:
        """Open a page anew; all it says."""
        if not self.pages:
            await self.run()
        self.query, self.page = query, self.pages[page]
        return "\n".join(await self.run())

    async def type(self, sentence: str, answered: Callable[[], None] = lambda: None) -> None:
        """A sentence into the box of Explore, until the answer is there, which `answered` is told, and the page is read to its end.

        Raises:
            RuntimeError: the page has no box, or gives no answer.
        """
        if "Sentence" not in self.ids:
            raise RuntimeError("the page is down")
        texts = await self.run(WidgetState(id=self.ids["Sentence"], string_value=sentence), until="### ")
        if not texts or not texts[-1].startswith("### "):
            raise RuntimeError("the page gives no answer")
        answered()
        await self.rest()

    async def upload(self, name: str, data: bytes) -> list[str]:
        """A file into the page's uploader; all that the page says then, part by part."""
        message = BackMsg()
        message.file_urls_request.request_id = "1"
        message.file_urls_request.file_names.append(name)
        message.file_urls_request.session_id = self.session
        await self.socket.send(message.SerializeToString())
        answer = ForwardMsg()
        while answer.WhichOneof("type") != "file_urls_response":
            answer.ParseFromString(await self.socket.recv())
        urls = answer.file_urls_response.file_urls[0]
        status = await asyncio.to_thread(self.app.put, urls.upload_url, name, data)
        if status >= 300:
            return [f"The upload of {name} is refused with status {status}."]
        info = UploadedFileInfo(file_id=urls.file_id, name=name, size=len(data), file_urls=urls)
        state = FileUploaderState(uploaded_file_info=[info])
        return await self.run(WidgetState(id=self.ids["File"], file_uploader_state_value=state))


class App(Target):
    """The app as the README starts it."""

    health = "/_stcore/health"

    def command(self) -> list[str]:
        """Return the README's command, on a free port of this machine."""
        settings = {"headless": "true", "port": self.port, "address": "127.0.0.1", "disconnectedSessionTTL": 4}
        return ["-m", "streamlit", "run", "app/main.py", *(f"--server.{name}={value}" for name, value in settings.items())]

    @asynccontextmanager
    async def guest(self) -> AsyncIterator[Guest]:
        """A visit, which ends with the context."""
        address = f"ws://127.0.0.1:{self.port}/_stcore/stream"
        async with connect(address, max_size=None, subprotocols=["streamlit"], ping_interval=None, close_timeout=1) as socket:
            guest = Guest(socket, Seen())
            guest.app = self
            yield guest

    @asynccontextmanager
    async def visitor(self) -> AsyncIterator[Ask]:
        """A visitor who types sentences on Explore."""
        async with self.guest() as guest:
            await guest.open(query=f"run={RUN}")
            number = time.monotonic_ns()

            async def ask(answered: Callable[[], None]) -> None:
                nonlocal number
                number += 1
                await guest.type(f"{SENTENCES[number % len(SENTENCES)]} {number % 1000}", answered)

            yield ask

    def put(self, url: str, name: str, data: bytes) -> int:
        """Send a file to the address of an upload, as a browser does; the status."""
        with urllib.request.urlopen(self.address + "/_stcore/health", timeout=60) as answer:
            cookies = answer.headers.get_all("set-cookie") or []
        token = next((match[1] for cookie in cookies if (match := re.match(r"_streamlit_xsrf=([^;]*)", cookie))), "")
        edge = "----attack"
        head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n'
        return self.get(
            url,
            "PUT",
            head.encode() + data + f"\r\n--{edge}--\r\n".encode(),
            {"Content-Type": f"multipart/form-data; boundary={edge}", "X-Xsrftoken": token, "Cookie": f"_streamlit_xsrf={token}"},
        )[0]

    def get(self, url: str, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] = {}) -> tuple[int, str]:
        """A request without the socket: status and words."""
        request = urllib.request.Request(self.address + "/" + url.lstrip("/"), body, dict(headers), method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read(4000).decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read(4000).decode("utf-8", "replace")

"""Errors as one sentence for the visitor, in place of a page or as a response, never as a traceback."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING

import streamlit as st
from starlette.responses import PlainTextResponse

from app import cache, visit
from app.blocks.run_choice import pick_run
from app.text import md
from sentviz.errors import SentvizError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def sentence(error: BaseException) -> str:
    """Return the message for a visitor: the library's sentence, that the disk is full, or that sentviz failed (see the log)."""
    log = logging.getLogger(__name__)
    if isinstance(error, SentvizError):
        return str(error)
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        log.warning("A page cannot write to the disk: %s", error)
        return f"The disk of this server cannot be written ({error.strerror}), so nothing was stored."
    log.error("Unexpected error in a page", exc_info=error)
    return f"This part failed ({type(error).__name__}). The cause is an error in sentviz; its log has the details."


def show_error(error: Exception) -> bool:
    """Show what went wrong in place of the rest of a page; `st.App` calls this function for each error of a page or a callback."""
    st.error(md(sentence(error)), icon=":material/report:")
    st.caption("Other pages and runs still work. Library › Runs shows the errors of each run.")
    available = [name for name, run in cache.runs().items() if run.has_weights and name != visit.focus().run]
    if available:
        pick_run("Model", available, index=None, placeholder="another model", key="boundary", on_change=_go, width=480)
    return True


def _go() -> None:
    visit.go(run=st.session_state["boundary"])


class WriteErrors:
    """Answers 507 to a request that the disk has no room for, as an upload; see the ASGI specification."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        begun = False

        async def begin(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, begin)
        except OSError as error:
            if error.errno not in UNWRITABLE or begun or scope["type"] != "http":
                raise
            await PlainTextResponse(sentence(error), 507)(scope, receive, send)

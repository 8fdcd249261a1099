"""Visits that are over: what they held, and the files they were given, go when their time is up, also where nobody comes after them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st


@asynccontextmanager
async def sweeping(app: Any) -> AsyncIterator[None]:
    """Sweep beside the server while it runs, three times in the time that a closed visit can be taken up again."""
    every = max(0.5, st.get_option("server.disconnectedSessionTTL") / 3)
    task = asyncio.create_task(_on(every))
    try:
        yield
    finally:
        task.cancel()


async def _on(every: float) -> None:
    known, gone = set[str](), set[str]()
    while True:
        await asyncio.sleep(every)
        if gone:  # their threads have ended since the last look; a visit holds itself
            await asyncio.to_thread(gc.collect)
        open_visits = _sweep()
        known, gone = open_visits, known - open_visits


def _sweep() -> set[str]:
    """Let go of what is over; the visits that are not.

    Streamlit drops a closed visit when the next one is closed, and its files when it looks at them twice after that: never, where nobody
    comes after it.
    """
    from streamlit.runtime import get_instance

    runtime: Any = get_instance()
    visits = runtime._session_mgr
    with visits._storage_lock:
        over = visits._session_storage._cache.expire()
    for _, visit in over:
        visit.session.shutdown()
    if not over:  # a visit's end looks at files, too; whoever was given one a moment ago has until the next look to fetch it
        runtime.media_file_mgr.remove_orphaned_files()
    return {visit.session.id for visit in visits.list_sessions()}

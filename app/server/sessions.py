"""End closed visits: their state and files are deleted when their time is over, even if no further visitor comes."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st


@asynccontextmanager
async def sweeping(app: Any) -> AsyncIterator[None]:
    """Sweep in the background while the server runs, three times within the time in which a closed visit can be resumed."""
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
        if gone:  # Their threads have ended since the last sweep, and a visit has references to itself.
            await asyncio.to_thread(gc.collect)
        open_visits = _sweep()
        known, gone = open_visits, known - open_visits


def _sweep() -> set[str]:
    """End the visits whose time is over; return the ids of the others.

    Streamlit deletes a closed visit when the next one is closed, and its files when it checks them twice after that. Without a further
    visitor it never does.
    """
    from streamlit.runtime import get_instance

    runtime: Any = get_instance()
    visits = runtime._session_mgr
    with visits._storage_lock:
        over = visits._session_storage._cache.expire()
    for _, visit in over:
        visit.session.shutdown()
    if not over:  # The end of a visit checks files, too. A visitor who just got a file has until the next sweep to fetch it.
        runtime.media_file_mgr.remove_orphaned_files()
    return {visit.session.id for visit in visits.list_sessions()}

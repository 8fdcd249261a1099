"""Set up the server process: limit its memory, keep visitors' files apart, and end closed visits."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import hashlib
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import streamlit as st
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

M_ARENA_MAX = -8  # constant from glibc's malloc.h


def limit_arenas(arenas: int = 2) -> None:
    """Let all threads share `arenas` arenas of glibc instead of eight per processor; do nothing with another C library.

    Each page runs in a separate thread. Without the limit, twenty visitors left 200 MB in arenas that no later page used.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, arenas)


def part_tokenizers() -> None:
    """Let each tokenizer work in the thread that calls it.

    Otherwise all tokenizers share one thread per processor, and two texts on which a pattern backtracks would stop those of all visitors.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def return_memory() -> None:
    """Return freed memory to the system; do nothing with another C library than glibc.

    To load MPNet, its codes are expanded tensor by tensor; 130 MB of what was freed in between would stay with the process.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def guard_files() -> None:
    """Change how Streamlit stores the files of visitors in this process. Call it before the first file is stored.

    Streamlit's address of an exported file is a hash of its content: whoever knows the content could find out whether somebody exported it.
    This function gives the hash a secret key. Streamlit also stores any number of uploads until the page runs again; after this call a
    visit's new upload replaces its last one.
    """
    key, add = secrets.token_bytes(32), MemoryUploadedFileManager.add_file

    def hasher() -> Any:
        return hashlib.blake2b(digest_size=16, key=key)

    def replace(uploads: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
        uploads.remove_session_files(session_id)
        add(uploads, session_id, file)

    memory_media_file_storage.create_fast_hasher = hasher  # type: ignore[attr-defined]
    MemoryUploadedFileManager.add_file = replace  # type: ignore[assignment, method-assign]


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
            await asyncio.to_thread(return_memory)
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

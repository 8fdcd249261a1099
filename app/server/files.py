"""Files of visitors in memory: one upload for each visit, and addresses of exported files that nobody can compute."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec


def guard() -> None:
    """Change how Streamlit keeps files in this process; to be called before the first of them.

    Streamlit's address of an exported file is a hash of its content: whoever knows the content could find out whether somebody exported it.
    Here the hash has a secret key. Streamlit keeps each upload until the page runs again, as many as are sent; here a new one of a visit
    takes the place of the last.
    """
    key, add = secrets.token_bytes(32), MemoryUploadedFileManager.add_file

    def hasher() -> Any:
        return hashlib.blake2b(digest_size=16, key=key)

    def replace(uploads: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
        uploads.remove_session_files(session_id)
        add(uploads, session_id, file)

    memory_media_file_storage.create_fast_hasher = hasher  # type: ignore[attr-defined]
    MemoryUploadedFileManager.add_file = replace  # type: ignore[assignment, method-assign]

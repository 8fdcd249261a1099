"""The app as it is served. Start with: streamlit run app/main.py"""

from __future__ import annotations

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from app.blocks.error import show_error
from app.server import files, memory
from app.server.errors import WriteErrors
from app.server.headers import Private, Rooted, SecurityHeaders
from app.server.sessions import sweeping

memory.limit_arenas()
files.guard()
known = st.get_option("server.allowedHosts")
app = st.App(
    "navigation.py",
    middleware=[
        Middleware(SecurityHeaders),
        Middleware(TrustedHostMiddleware, allowed_hosts=known or ["*"], www_redirect=False),
        Middleware(Private),
        Middleware(Rooted),
        Middleware(WriteErrors),
    ],
    on_script_error=show_error,
    lifespan=sweeping,
)

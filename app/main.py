"""The app as it is served. Start with: streamlit run app/main.py"""

from __future__ import annotations

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import Route

from app.errors import WriteErrors, show_error
from app.live import Live
from app.server.headers import Private, Rooted, SecurityHeaders
from app.server.process import guard_files, limit_arenas, part_tokenizers, sweeping

limit_arenas()
part_tokenizers()
guard_files()
known = st.get_option("server.allowedHosts")
base = str(st.get_option("server.baseUrlPath")).strip("/")
app = st.App(
    "navigation.py",
    routes=[Route(f"/{base}/live" if base else "/live", Live().answer, methods=["POST"])],
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

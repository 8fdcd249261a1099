"""A page in one file. Its policy forbids all requests and all scripts except its own, whatever text the page has."""

from __future__ import annotations

import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sentviz.browser.kit import front
from sentviz.charts.colours import Theme, palette
from sentviz.charts.text import visible

_OPENING = re.compile(r"<(?=/script|!--)", re.IGNORECASE)
_MARKUP = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&"})


_AROUND = """
body { margin: 0; padding: 16px; }
main { max-width: WIDTHpx; margin: 0 auto; }
h1 { margin: 0 0 10px; font-size: 19px; font-weight: 600; overflow-wrap: anywhere; }
.about { margin-top: 10px; color: var(--muted); font-size: 13px; overflow-wrap: anywhere; }
.recorded { height: 100vh; box-sizing: border-box; padding: 8px 12px; overflow: hidden; }
.recorded main { max-width: none; }
.recorded .about { display: none; }
.recorded :is(h1, .readout) { min-height: 0; margin: 0; font-size: 14px; line-height: 20px; }
.recorded :is(h1, .readout) { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
"""


def page(
    title: str,
    body: str,
    *,
    theme: Theme | None = "light",
    style: str = "",
    scripts: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
    asks: bool = False,
    computes: bool = False,
) -> str:
    """Return an HTML document.

    Args:
        title: plain text.
        body: markup, with escaped texts of users.
        theme: its colours, also for `style`; None = those that the reader's system prefers.
        style: CSS.
        scripts: JavaScript, run after the body in this order. The policy names their digests, so no other script runs.
        asks: True if its scripts may send requests to the server of the page.
        computes: True if its scripts may compile WebAssembly.
        data: id -> data that a script reads with ``JSON.parse(document.getElementById(id).textContent)``.
    """
    codes = [_script(code) for code in scripts]
    allowed = [*map(_digest, codes), *["'wasm-unsafe-eval'"] * computes]
    policy = "; ".join(
        (
            "default-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            f"script-src {' '.join(allowed) or repr('none')}",
            *(["connect-src 'self'"] if asks else []),
        )
    )
    parts = [f'<script type="application/json" id="{name}">{inert_json(value)}</script>' for name, value in (data or {}).items()]
    parts += [f"<script>{code}</script>" for code in codes]
    look = theme_variables(theme or "light")
    if theme is None:
        look += f"@media (prefers-color-scheme: dark) {{\n{theme_variables('dark')}}}\n"
    markup = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>
{look}body {{ background: var(--paper); color: var(--ink); font: 14px/1.5 "Source Sans Pro", "Helvetica Neue", Arial, sans-serif; }}
{style}
</style>
</head>
<body>
{body}
"""
    return _utf8("\n".join([markup, *parts, "</body>\n</html>\n"]))


def standalone(
    folder: Path,
    name: str,
    data: Mapping[str, Any],
    *,
    data_id: str,
    title: str,
    about: str,
    width: int,
    theme: Theme,
    heading: bool = True,
) -> str:
    """Return a view of the browser as one page that needs no network; the same bytes for the same data.

    Args:
        folder, name: where the view's files are, as `sentviz.browser.kit.front` takes them.
        data, data_id: what the view draws, and the id of the element that its script reads.
        title: title of the document, also above the view unless `heading` is False. about: a line below the view. Both are plain text.
        width: largest width of the page in pixels.
    """
    markup, style, script = front(folder, name, page=data_id)
    above = f'<h1 dir="auto">{html.escape(visible(title))}</h1>\n' if heading else ""
    look = f"{style}\n{_AROUND.replace('WIDTH', str(width))}"
    body = f'<main>\n{above}{markup}<p class="about" dir="auto">{html.escape(about)}</p>\n</main>'
    return page(title, body, theme=theme, style=look, scripts=(script,), data={data_id: data})


def theme_variables(theme: Theme) -> str:
    """Return the colours of a theme as CSS variables of the root."""
    colours = palette(theme)
    named = {
        "paper": colours.paper,
        "ink": colours.ink,
        "muted": colours.muted,
        "line": colours.grid,
        "faint": colours.neutral,
        "accent": colours.accent,
    }
    return f":root {{ {' '.join(f'--{name}: {colour};' for name, colour in named.items())} color-scheme: {theme}; }}\n"


def inert_json(value: Any) -> str:
    """Return JSON in ASCII that cannot end a script element, open a comment or be markup anywhere."""
    return json.dumps(value, separators=(",", ":")).translate(_MARKUP)


def _script(code: str) -> str:
    """Return code as a browser reads it from a script element: with one kind of line end, and without anything that ends the element."""
    return _OPENING.sub(r"<\\", re.sub(r"\r\n?", "\n", _utf8(code)))


def _digest(code: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()

"""`python -m tools.accessible`: check every page and sub-view, in light and dark, by WCAG 2.2 AA with axe-core in a real Chromium.

    python -m tools.accessible [WORD ...] [--theme light dark] [--width 1440] [--zoom]

Words keep the views that have one of them in their addresses. It prints a line for each finding, by view, with the elements it is about,
and exits with 1 if one is serious or critical. With ``--zoom`` the window is as wide as at 200 %, 720 of 1440 pixels, and must not scroll
sideways (WCAG 1.4.10). What is Streamlit's own, whose markup is not ours to change, is listed in `FOREIGN` with its reason, and counted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.browser.conftest import QUIET, serving
from tools.benchmarks.pages import views

TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
GRAVE = ("serious", "critical")
FOREIGN = {
    "scrollable-region-focusable katex": "a formula wider than its column scrolls; browsers of today bring it into the focus themselves",
    "scrollable-region-focusable st-key-plot-": "a picture wider than a phone scrolls, and is brought into the focus like a formula",
    "list stSidebarNavItems": "Streamlit's list of pages on a narrow screen has its sections between the items",
    'listitem <li class="st-emotion': "the same list",
}
"""Rules that Streamlit's own elements break: "rule selector" by a part of the element's markup -> why it is left."""
SHOWN = 4  # elements of a finding
PATIENCE = 120_000  # milliseconds for a page to stand


@dataclass(frozen=True)
class Finding:
    """A rule that elements of a page break."""

    rule: str
    impact: str  # minor, moderate, serious, critical
    says: str
    where: tuple[str, ...]  # markup of the elements

    @property
    def grave(self) -> bool:
        """Return whether the impact is serious or critical."""
        return self.impact in GRAVE


def findings(page: Any) -> list[Finding]:
    """Return what axe-core reports for a page of Playwright, without the faults of Streamlit itself."""
    import axe_playwright_python

    script = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    page.evaluate(script)
    report = page.evaluate("tags => axe.run(document, { runOnly: tags, resultTypes: ['violations'] })", list(TAGS))
    result = []
    for violation in report["violations"]:
        where = tuple(f"{node['html']} {_why(node)}" for node in violation["nodes"] if not _foreign(violation["id"], node["html"]))
        if where:
            result.append(Finding(violation["id"], violation["impact"] or "minor", violation["help"], where))
    return result


def _why(node: dict[str, Any]) -> str:
    """The contrast that was measured, where it is one that is too low."""
    seen = (node["any"] or [{}])[0].get("data") or {}
    return (
        f"({seen['contrastRatio']} : 1, {seen['fgColor']} on {seen['bgColor']})"
        if isinstance(seen, dict) and "contrastRatio" in seen
        else ""
    )


def _foreign(rule: str, markup: str) -> bool:
    return any(rule == known.partition(" ")[0] and known.partition(" ")[2] in markup for known in FOREIGN)


def overflowing(page: Any) -> list[str]:
    """Elements that make the page scroll sideways; what scrolls within itself may."""
    wide: list[str] = page.evaluate(
        """() => {
          const main = document.querySelector('[data-testid="stMain"]') || document.scrollingElement
          if (main.scrollWidth <= main.clientWidth + 1) return []
          const edge = main.getBoundingClientRect().right
          const beyond = [...main.querySelectorAll('*')].filter(node => node.getBoundingClientRect().right > edge + 1)
          return beyond.slice(-5).map(node => node.outerHTML.slice(0, 120))
        }"""
    )
    return wide


def settled_at(page: Any, address: str) -> None:
    """A page opened, and drawn to its end."""
    page.goto(address, timeout=PATIENCE)
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for(state="attached", timeout=PATIENCE)
    page.wait_for_function("() => !document.querySelector('[data-testid=\"stSpinner\"]')", timeout=PATIENCE)
    page.wait_for_timeout(600)


@contextmanager
def browsing(theme: str, width: int) -> Iterator[Any]:
    """A page of a fresh Chromium."""
    from playwright.sync_api import sync_playwright

    from sentviz.export.chromium import find_browser

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=find_browser(),
            args=QUIET.split(),
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            reduced_motion="reduce",
        )
        yield context.new_page()
        context.close()


def main(arguments: Sequence[str]) -> int:
    """Print what is found; 1 where something is serious."""
    from playwright.sync_api import TimeoutError

    parser = argparse.ArgumentParser(prog="python -m tools.accessible")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--theme", nargs="+", choices=("light", "dark"), default=("light", "dark"))
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--zoom", action="store_true")
    options = parser.parse_args(arguments)
    wanted = [view for view in views() if not options.words or any(word in view for word in options.words)]
    grave, visited = 0, 0
    with serving() as server:
        for theme in options.theme:
            with browsing(theme, 720 if options.zoom else options.width) as page:
                for view in wanted:
                    try:
                        settled_at(page, f"{server}/{view}")
                    except TimeoutError:
                        grave += 1
                        print(f"{theme:<6}{view:<40} does not stand after {PATIENCE // 1000} s", flush=True)  # noqa: T201
                        continue
                    visited += 1
                    if options.zoom and (wide := overflowing(page)):
                        grave += 1
                        print(f"{theme:<6}{view:<40} scrolls sideways: {wide[-1]}", flush=True)  # noqa: T201
                    for finding in findings(page):
                        grave += finding.grave
                        print(f"{theme:<6}{view:<40} {finding.impact:<9} {finding.rule:<28} {len(finding.where)} elements", flush=True)  # noqa: T201
                        for markup in finding.where[:SHOWN]:
                            print(f"{'':<12}{markup[:70]} .. {markup[-70:]}")  # noqa: T201
    print(f"{visited} pages, {grave} grave findings")  # noqa: T201
    return int(grave > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

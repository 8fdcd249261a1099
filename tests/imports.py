"""Every import of the library and the app as a graph: imports that go upward, and modules that import each other in a circle.

Counts imports at the top, inside functions and under `TYPE_CHECKING`, and strings that name a module, in Python and in TOML, as in
``"sentviz.papers.ndt.claims:CLAIMS"``. `python -m tests.imports` prints what is wrong.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tools.syntax import nodes

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = (
    *("errors", "io", "data", "runs", "models", "analysis", "charts"),
    *("browser", "export", "training", "papers", "serving", "verbs", "doors", "api", "cli"),
)
"""The entries of the library: each imports those before it. The app imports all of them; `sentviz/__init__.py` stands above all."""
EARLIER = ("figures", "gallery")  # earlier names, kept for one version
GROUP = "sentviz.papers"
"""The group of entry points by which other packages register papers: a name, not a module."""
NAMED = re.compile(r"(?:sentviz|app)(?:\.\w+)+(?::[\w.]+)?")
Graph = dict[str, set[str]]


def module_name(path: Path) -> str:
    """Return the dotted name of a file below the root."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, Path]:
    """Return the modules of the library and the app by name."""
    return {module_name(path): path for package in ("sentviz", "app") for path in sorted((ROOT / package).rglob("*.py"))}


def resolved(name: str) -> str:
    """Return the longest beginning of a dotted name that is a module; "" if there is none."""
    parts = name.replace(":", ".").split(".")
    return next((module for end in range(len(parts), 0, -1) if (module := ".".join(parts[:end])) in modules()), "")


def _names_a_module(text: str) -> bool:
    return text != GROUP and NAMED.fullmatch(text) is not None


def _in_python(module: str, path: Path) -> Iterator[str]:
    """Yield the names that a module imports, or that stand in its strings outside docstrings."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    docstrings = set[ast.AST]()
    for node in nodes(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Expr):
            docstrings.add(node.value)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings and _names_a_module(node.value):
            yield node.value


def _in_toml(path: Path) -> Iterator[str]:
    """Yield the names of modules in the quoted strings of a TOML file, and those that a page of a paper names."""
    text = path.read_text(encoding="utf-8")
    yield from (name for name in re.findall(r'"([^"\n]+)"', text) if _names_a_module(name))
    package = ".".join(path.relative_to(ROOT).parts[:-1])
    yield from (f"{package}{name}" for name in re.findall(r'(?:"|=|:::\w+ )(\.[a-z]\w*(?::\w+)?)(?="|\s|\})', text))


@cache
def graph() -> Graph:
    """Return the modules that each module imports or names. A TOML file counts as a part of its folder's module of the same name."""
    edges: Graph = {module: set() for module in modules()}
    for module, path in modules().items():
        edges[module] |= {target for name in _in_python(module, path) if (target := resolved(name)) not in ("", "sentviz", "app", module)}
    for path in sorted([*(ROOT / "sentviz").rglob("*.toml"), *(ROOT / "sentviz").rglob("page.md")]):
        module = resolved(module_name(path))
        edges[module] |= {target for name in _in_toml(path) if (target := resolved(name)) not in ("", module)}
    return edges


def rank(module: str) -> int:
    """Return the place of a module's entry, counted from the bottom."""
    package, _, rest = module.partition(".")
    entry = rest.partition(".")[0]
    return len(ENTRIES) if package == "app" or not rest or entry in ("__main__", *EARLIER) else ENTRIES.index(entry)


def upward() -> list[str]:
    """Return a line for each import of an entry from one above it."""
    return [
        f"{module} imports {target}" for module, targets in graph().items() for target in sorted(targets) if rank(target) > rank(module)
    ]


def circle(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """Return one circle of a graph, the first node again at its end; empty if there is none."""
    try:
        TopologicalSorter({node: sorted(targets) for node, targets in sorted(edges.items())}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def parts() -> Graph:
    """Return the graph of parts: a package or module directly inside an entry, or inside the app."""

    def part(module: str) -> str:
        return ".".join(module.split(".")[: 2 if module.startswith("app") else 3])

    edges: Graph = {}
    for module, targets in graph().items():
        edges.setdefault(part(module), set()).update(part(target) for target in targets if part(target) != part(module))
    return edges


if __name__ == "__main__":
    lines = upward() or ["No import goes upward."]
    for title, edges in {"modules": graph(), "parts": parts()}.items():
        lines.append(" imports ".join(circle(edges)) or f"No circle of {title}.")
    sys.stdout.write("\n".join(lines) + "\n")

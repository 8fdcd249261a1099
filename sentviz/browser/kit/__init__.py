"""Shared code of the browser views (cameras, pointers, colours, formats, as ES modules), and the function that bundles a view and its
imports.

A view is a folder with markup, style and modules that import others by relative path; node runs the same files in the tests.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["bundle", "front"]

KIT = Path(__file__).parent
_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)"$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function|class|const) (\w+))", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


@cache
def front(folder: Path, name: str, page: str | None = None) -> tuple[str, str, str]:
    """Return markup, style and script of the view that `name`.js of a folder mounts, with the modules of the kit that it imports.

    Args:
        page: id of the element that holds the data in a file of its own; without it the script exports what Streamlit calls.
    """
    script = bundle(KIT / "host.js", folder / f"{name}.js")
    call = f'inPage(mount, "{page}")' if page else "export default inApp(mount)"
    return _text(folder / f"{name}.html"), _text(KIT / "kit.css") + _text(folder / f"{name}.css"), f"{script}{call}\n"


def bundle(*entries: Path) -> str:
    """Join modules and all their imports to one script, each in a separate scope; the exports of `entries` are available after it.

    Imports are ``import { a, b } from "./x.js"``; functions, classes and single constants are exported where they are declared.

    Raises:
        ValueError: for modules that import each other in a circle, a name that is not exported, and other ways to import or export.
    """
    scopes: dict[Path, tuple[str, list[str]]] = {}
    code: list[str] = []

    def scope(path: Path, above: tuple[Path, ...]) -> tuple[str, list[str]]:
        """Return the name of a module's scope and its exports, after adding its code behind that of its imports."""
        if path in above:
            raise ValueError(f"{above[-1].name} and {path.name} import each other")
        if path not in scopes:
            text = _IMPORT.sub(lambda match: names_from(match[1], _meant(path.parent, match[2]), (*above, path)), _text(path))
            exported, text = sorted(_EXPORT.findall(text)), _EXPORT.sub("", text)
            if left := _LEFT.search(text):
                raise ValueError(f"{path.name} cannot be bundled for this line: {left[0]}")
            scopes[path] = f"{path.stem}_{len(scopes)}", exported
            code.append(f"const {scopes[path][0]} = (() => {{\n{text}return {{ {', '.join(exported)} }}\n}})()\n")
        return scopes[path]

    def names_from(names: str, path: Path, above: tuple[Path, ...]) -> str:
        wanted = [name.strip() for name in names.split(",") if name.strip()]
        name, exported = scope(path.resolve(), above)
        if missing := sorted(set(wanted) - set(exported)):
            raise ValueError(f"{above[-1].name} imports what {path.name} does not export: {', '.join(missing)}")
        return f"const {{ {', '.join(wanted)} }} = {name}"

    scopes_of_entries = [scope(entry.resolve(), ()) for entry in entries]
    return "".join(code) + "".join(f"const {{ {', '.join(exported)} }} = {name}\n" for name, exported in scopes_of_entries)


def _meant(folder: Path, imported: str) -> Path:
    """Return the file that an import of a module in `folder` means. A view names the kit by its path in a checkout, which node needs;
    the kit may be installed elsewhere.
    """
    _, kit, name = imported.partition("sentviz/browser/kit/")
    return KIT / name if kit else folder / imported


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")

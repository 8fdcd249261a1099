"""What the views in the browser share: cameras, hands, colours, formats (ES modules, each says what it is), and the one way to bundle them.

A view is a folder with markup, style and modules that import others by relative path; node runs the same files in the tests.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["bundle", "front"]

KIT = Path(__file__).parent
_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)"$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:function|class|const) (\w+))", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


@cache
def front(folder: Path, name: str, page: str | None = None) -> tuple[str, str, str]:
    """Markup, style and script of the view that `name`.js of a folder mounts, with what it takes from the kit.

    Args:
        page: id of the element that holds the data in a file of its own; without it the script exports what Streamlit calls.
    """
    script = bundle(KIT / "host.js", folder / f"{name}.js")
    call = f'inPage(mount, "{page}")' if page else "export default inApp(mount)"
    return _text(folder / f"{name}.html"), _text(KIT / "kit.css") + _text(folder / f"{name}.css"), f"{script}{call}\n"


def bundle(*entries: Path) -> str:
    """Modules and all that they import as one script, each in a scope of its own; what `entries` export is at hand after it.

    Imports are ``import { a, b } from "./x.js"``; functions, classes and single constants are exported where they are declared.

    Raises:
        ValueError: for modules that import each other in a circle, a name that is not exported, and other ways to import or export.
    """
    scopes: dict[Path, tuple[str, list[str]]] = {}
    code: list[str] = []

    def scope(path: Path, above: tuple[Path, ...]) -> tuple[str, list[str]]:
        """The name of a module's scope and what it exports; its code is there after that of what it imports."""
        if path in above:
            raise ValueError(f"{above[-1].name} and {path.name} import each other")
        if path not in scopes:
            text = _IMPORT.sub(lambda found: taken(found[1], _meant(path.parent, found[2]), (*above, path)), _text(path))
            exported, text = sorted(_EXPORT.findall(text)), _EXPORT.sub("", text)
            if left := _LEFT.search(text):
                raise ValueError(f"{path.name} cannot be bundled for this line: {left[0]}")
            scopes[path] = f"{path.stem}_{len(scopes)}", exported
            code.append(f"const {scopes[path][0]} = (() => {{\n{text}return {{ {', '.join(exported)} }}\n}})()\n")
        return scopes[path]

    def taken(names: str, path: Path, above: tuple[Path, ...]) -> str:
        wanted = [name.strip() for name in names.split(",") if name.strip()]
        name, exported = scope(path.resolve(), above)
        if missing := sorted(set(wanted) - set(exported)):
            raise ValueError(f"{above[-1].name} imports what {path.name} does not export: {', '.join(missing)}")
        return f"const {{ {', '.join(wanted)} }} = {name}"

    found = [scope(entry.resolve(), ()) for entry in entries]
    return "".join(code) + "".join(f"const {{ {', '.join(exported)} }} = {name}\n" for name, exported in found)


def _meant(folder: Path, said: str) -> Path:
    """The module that one in a folder imports; the kit is here wherever the view lies, which names it as a checkout has it, for node."""
    _, kit, name = said.partition("sentviz/browser/kit/")
    return KIT / name if kit else folder / said


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")

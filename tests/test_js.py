"""The browser code: its own tests under node, and the script that all of it becomes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sentviz.browser import film as through
from sentviz.browser import particles, points
from sentviz.browser.kit import bundle, front
from tests.kit import refused

ROOT = Path(__file__).parents[1]
MAP, LIST = ROOT / "app/components/attention_map", ROOT / "app/components/claim_list"
OLDEST = 20


def node() -> str:
    """Return the installed node if it can run tests."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("node is not installed: the browser code is tested without it only in a browser")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    if int(re.findall(r"\d+", version)[0]) < OLDEST:
        pytest.skip(f"node {version.strip()} is older than {OLDEST}")
    return path


@pytest.mark.exhaustive
def test_the_browser_code_passes_its_own_tests() -> None:
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests/js").glob("*.test.js"))
    assert files
    ran = subprocess.run([node(), "--test", *files], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"


@pytest.mark.parametrize("page", [None, "data"])
@pytest.mark.parametrize(
    ("folder", "name"),
    [(MAP, "map"), (LIST, "list"), (points.HERE, "points"), (particles.HERE, "particles"), (through.HERE, "through")],
)
def test_every_view_is_one_script(folder: Path, name: str, page: str | None, tmp_path: Path) -> None:
    _, style, script = front(folder, name, page)
    assert not re.search(r"^\s*import\b|@import|url\(", script + style, re.MULTILINE)
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|importScripts|https?://(?!www\.w3\.org/2000/svg)", script)
    assert re.findall(r"^export .*", script, re.MULTILINE) == ([] if page else ["export default inApp(mount)"])
    file = tmp_path / ("page.cjs" if page else "app.mjs")
    file.write_text(script, encoding="utf-8")
    ran = subprocess.run([node(), "--check", str(file)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def modules(folder: Path, **texts: str) -> Path:
    """Write JavaScript files into a folder; return the first one."""
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / f"{next(iter(texts))}.js"


def test_modules_keep_their_own_names(tmp_path: Path) -> None:
    entry = modules(
        tmp_path,
        top='import { left } from "./a.js"\nimport {\n  right,\n  twice,\n} from "./b.js"\nexport const all = [left, right(), twice(2)]\n',
        a='import { count } from "./shared.js"\nconst mine = "a"\nexport const left = mine + count()\n',
        b='import { count } from "./shared.js"\nconst mine = "b"\nexport function right() {\n  return mine + count()\n}\n'
        "export const twice = x => 2 * x\n",
        shared="let calls = 0\nexport const count = () => ++calls\n",
    )
    script = f"{bundle(entry)}console.log(JSON.stringify(all))\n"
    ran = subprocess.run([node(), "--input-type=module", "-"], input=script, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == '["a1","b2",4]'


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"a": 'import { b } from "./b.js"\n', "b": 'import { a } from "./a.js"\nexport const b = 1\n'}, "import each other"),
        ({"a": 'import { c } from "./b.js"\n', "b": "export const b = 1\n"}, "does not export: c"),
        ({"a": 'import * as b from "./b.js"\n', "b": "export const b = 1\n"}, "cannot be bundled"),
        ({"a": "export default 3\n"}, "cannot be bundled"),
        ({"a": "const x = 1\nexport { x }\n"}, "cannot be bundled"),
    ],
)
def test_what_cannot_be_bundled_is_one_sentence(texts: dict[str, str], message: str, tmp_path: Path) -> None:
    refused(ValueError, message, bundle, modules(tmp_path, **texts))

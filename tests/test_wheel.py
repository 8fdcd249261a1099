"""The wheel: all of the library and the app, some runs, and nothing that it does not declare."""

import ast
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sentviz.io.files import home
from sentviz.serving.live.pinned import RUNTIME, TOKENIZERS
from tests.docs import ROOT
from tools.syntax import nodes

pytestmark = pytest.mark.exhaustive
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BASE = {canonicalize_name(Requirement(requirement).name) for requirement in PROJECT["dependencies"]}
EXTRAS = {canonicalize_name(Requirement(requirement).name) for many in PROJECT["optional-dependencies"].values() for requirement in many}
LARGEST = 65e6  # bytes of the wheel
PAGE = """
import sys
from sentviz.io.files import place
from sentviz.runs.store import SHIPPED, runs
sys.path.insert(0, str(place("app").parent))
from streamlit.testing.v1 import AppTest
app = AppTest.from_file(str(place("app") / "navigation.py"), default_timeout=240).run()
app.text_input(key="sentence").set_value("A warm, funny and wonderful film.").run()
assert not app.exception and not app.error, app.exception
print(len(runs()), SHIPPED, *(line.value for line in app.markdown if line.value.startswith("###")), sys.modules["sentviz"].__file__)
app.switch_page("views/sentence/attention.py").run()  # whose view is in the app's folder, and takes from the library's
assert not app.exception and not app.error, app.exception
"""


def tops(name: str) -> set[str]:
    """Return the top-level entries that a distribution puts into site-packages."""
    record = distribution(name).read_text("RECORD") or ""
    return {line.partition(",")[0].partition("/")[0] for line in record.splitlines()} - {"..", "__pycache__"}


def test_what_is_imported_is_declared() -> None:
    declared, undeclared = set[str](), set[str]()
    for name in (BASE | EXTRAS) - {"sentviz"}:
        with suppress(PackageNotFoundError):  # an extra that nobody here has
            declared |= {top.partition(".")[0] for top in tops(name)}
    for path in (path for folder in ("sentviz", "app") for path in (ROOT / folder).rglob("*.py")):
        for node in nodes(path.read_text(encoding="utf-8")):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for top in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"sentviz", "app"}:
                if top not in declared and top.lower() not in BASE | EXTRAS:
                    undeclared.add(f"{path.relative_to(ROOT)}: {top}")
    assert not undeclared


def test_the_wheel_holds_all_that_runs_and_answers_a_sentence(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    if not (ROOT / "checkpoints" / "english").is_dir():
        pytest.skip("checkpoints/ is not here")
    from hatchling.builders.wheel import WheelBuilder

    (name,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("dist")), versions=["standard"])
    wheel = Path(name)
    with zipfile.ZipFile(wheel) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    assert wheel.stat().st_size < LARGEST
    assert {name.partition("/")[0] for name in sizes} == {"sentviz", f"sentviz-{PROJECT['version']}.dist-info"}
    tracked = subprocess.run(["git", "ls-files", "sentviz", "app"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    placed = {f"sentviz/_wheel/{name}" for name in tracked if name.startswith("app/")} | {n for n in tracked if n.startswith("sentviz/")}
    assert placed - sizes.keys() == set()
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    carried = {name for name in build["only-include"] if name.startswith("checkpoints/")}
    files = {
        path.relative_to(ROOT).as_posix(): path.stat().st_size for name in carried for path in (ROOT / name).rglob("*") if path.is_file()
    }
    assert len(carried) > 3 and len(files) > 5 * len(carried)
    assert {name.removeprefix("sentviz/_wheel/"): sizes[name] for name in sizes if "/_wheel/checkpoints/" in name} == files
    scripts = {f"sentviz/_wheel/{path}" for package in (RUNTIME, TOKENIZERS) for path in package.files.values()}
    assert scripts <= sizes.keys() or not all(package.archive(home()).is_file() for package in (RUNTIME, TOKENIZERS))
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    site = next((folder / "lib").glob("python*")) / "site-packages"
    wanted, linked = set(BASE), set[str]()
    while wanted - linked:
        name = (wanted - linked).pop()
        linked.add(name)
        package = distribution(name)
        for top in tops(name):
            with suppress(FileExistsError):
                (site / top).symlink_to(Path(str(package.locate_file(top))))
        needs = [Requirement(line) for line in package.requires or ()]
        wanted |= {canonicalize_name(line.name) for line in needs if line.marker is None or line.marker.evaluate({"extra": ""})}
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    installed = folder / "bin" / "python"
    done = subprocess.run([installed, "-c", PAGE], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    count, *messages = done.stdout.splitlines()[-1].split()
    assert int(count) == 8 and "Positive" in " ".join(messages)
    assert str(installed.parents[1]) in messages[0] and str(installed.parents[1]) in messages[-1]


def environment(home: Path) -> dict[str, str]:
    """Return variables without this checkout, with an empty home."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SENTVIZ_", "STREAMLIT_", "PYTHON"))}
    return variables | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}

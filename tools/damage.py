"""Effect of a damaged run on pages: every file, every kind of damage, every page, for the run itself and for another one.

`python -m tools.damage` runs the matrix whole, `--cells N` draws N damages and one page for each. Both print a table and exit with 1 if a
page shows a traceback or another run is down.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
INNOCENT = "sst2/vanilla-matched"
SHELF = (
    INNOCENT,
    "sst2/ndt-unit-2",
    "sst2/ndt-unit-2-s1",
    "sst2/diff",
    "imdb/hardmax-d2",
    "sst5_trees/sentiformer",
    "sst2/ndt-unit-2-epochs",
)
VICTIMS = {
    "leaders.parquet": "imdb/hardmax-d2",
    "gates.parquet": "sst5_trees/sentiformer",
    "tagger.json.gz": "sst5_trees/sentiformer",
    "epochs/1.measured.safetensors": "sst2/ndt-unit-2-epochs",
    "epochs/1.example.safetensors": "sst2/ndt-unit-2-epochs",
}
VICTIM = "sst2/ndt-unit-2"
OTHER: dict[type, Any] = {str: 7, int: "seven", float: "seven", bool: "yes", list: {"a": 1}, dict: [1], type(None): 7}

Write = Callable[[Path], None]


@dataclass(frozen=True)
class Damage:
    """One way to damage one file of a run; whoever wrote it so may have stored its digest, too."""

    run: str
    file: str
    kind: str
    write: Write
    sealed: bool = False

    def apply(self, root: Path) -> None:
        """Do it to the run below a root."""
        folder = root / self.run
        self.write(folder / self.file)
        if self.sealed and self.file != "config.json":
            config = json.loads((folder / "config.json").read_text())
            config["files"][self.file] = hashlib.sha256((folder / self.file).read_bytes()).hexdigest()
            (folder / "config.json").write_text(json.dumps(config))


# ---- damages


def _bytes(change: Callable[[bytes], bytes]) -> Write:
    return lambda path: path.write_bytes(change(path.read_bytes())) and None


def _garbage(data: bytes) -> bytes:
    return np.random.default_rng(0).bytes(max(64, len(data)))


BROKEN: dict[str, Write] = {
    "missing": lambda path: path.unlink(),
    "empty": _bytes(lambda data: b""),
    "truncated": _bytes(lambda data: data[: len(data) // 2]),
    "garbage": _bytes(_garbage),
}


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a JSON value, of lists the first one."""
    if at:
        yield at
    inner: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, each in inner:
        yield from paths(each, (*at, key))


def _json(change: Callable[[Any], None]) -> Write:
    def write(path: Path) -> None:
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))

    return write


def _put(at: tuple[Any, ...], value: Any) -> None:
    *inner, last = at
    for key in inner:
        value = value[key]
    if isinstance(value, dict):
        value.pop(last)
    else:
        del value[last]


def _turn(at: tuple[Any, ...], value: Any) -> None:
    *inner, last = at
    for key in inner:
        value = value[key]
    value[last] = deepcopy(OTHER[type(value[last])])


def _frame(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Write:
    return lambda path: change(pd.read_parquet(path)).to_parquet(path, index=False)


def _retyped(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    number = pd.api.types.is_numeric_dtype(frame[name])
    return frame.assign(**{name: "x" if number else 1.5})


def _arrays(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Write:
    def write(path: Path) -> None:
        from safetensors import safe_open
        from safetensors.numpy import save_file

        with safe_open(path, framework="numpy") as file:
            meta, arrays = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        save_file({name: np.ascontiguousarray(array) for name, array in change(arrays).items()}, path, metadata=meta)

    return write


def damages(root: Path, victim: str = VICTIM, other_victims: Mapping[str, str] = VICTIMS) -> list[Damage]:
    """Every damage of the matrix: to each file of a run below a root, and to further files of others."""
    result = []
    named = json.loads((root / victim / "config.json").read_text())["files"]
    for file in ("config.json", *named, *other_victims):
        run = other_victims.get(file, victim)
        path = root / run / file
        add = partial(Damage, run, file)
        result += [add(kind, write) for kind, write in BROKEN.items()]
        if path.suffix == ".json" and file != "tokenizer.json":
            value = json.loads(path.read_text())
            places = [at for at in paths(value) if not (file == "config.json" and at[0] == "model" and len(at) > 2)]
            for at in places:
                place = ".".join(map(str, at))
                result.append(add(f"without {place}", _json(partial(_put, at)), True))
                result.append(add(f"type of {place}", _json(partial(_turn, at)), True))
            result.append(add("a list", lambda path: path.write_text("[1]") and None, True))
        elif path.suffix == ".parquet":
            for name in pd.read_parquet(path):
                result.append(add(f"without {name}", _frame(partial(pd.DataFrame.drop, columns=[name])), True))
                result.append(add(f"type of {name}", _frame(partial(_retyped, name)), True))
            result.append(add("no rows", _frame(lambda frame: frame.head(0)), True))
            result.append(add("one row", _frame(lambda frame: frame.head(1)), True))
        elif path.suffix == ".safetensors":
            from safetensors import safe_open

            with safe_open(path, framework="numpy") as arrays:
                names = list(arrays.keys())
            for name in names[:: max(1, len(names) // 16)]:
                result.append(add(f"without {name}", _arrays(lambda a, name=name: {k: v for k, v in a.items() if k != name}), True))
                result.append(add(f"length of {name}", _arrays(lambda a, name=name: a | {name: a[name].reshape(-1)[:1]}), True))
        else:
            result += [add(f"{kind}, sealed", write, True) for kind, write in BROKEN.items() if kind != "missing"]
    return result


# ---- pages


@contextmanager
def shelf(patch: pytest.MonkeyPatch, root: Path) -> Iterator[Path]:
    """A few shipped runs as all that there is."""
    from sentviz.runs import store

    ships = store.SHIPPED
    for name in SHELF:
        shutil.copytree(ships / name, root / name)
    patch.setattr(store, "SHIPPED", root)
    patch.delenv("SENTVIZ_RUNS", raising=False)
    (root.parent / "elsewhere").mkdir(exist_ok=True)
    patch.chdir(root.parent / "elsewhere")
    yield ships


class Faults(logging.Handler):
    """Log handler that collects unforeseen errors of pages."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep its kind and place."""
        error = record.exc_info[1] if record.exc_info else None
        self.seen.append(f"{type(error).__name__}: {error}" if error else record.getMessage())


class Visitor:
    """Opens pages of the app as it is served."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        from streamlit.testing.v1 import AppTest

        self.script = next(path for name in ("navigation.py", "main.py") if (path := ROOT / "app" / name).is_file())
        self.new = partial(AppTest.from_file, str(self.script), default_timeout=240)
        if self.script.name == "navigation.py":
            from streamlit.testing.v1 import local_script_runner

            from app.errors import show_error

            original = local_script_runner.LocalScriptRunner.__init__

            def served(runner: Any, *args: Any, **named: Any) -> None:
                original(runner, *args, **named)
                runner._on_script_error = show_error

            patch.setattr(local_script_runner.LocalScriptRunner, "__init__", served)
        self.pages_there = self.new().run()._registered_pages
        self.pages = sorted(str(Path(page["script_path"]).relative_to(ROOT / "app")) for page in self.pages_there.values())

    def opens(self, page: str, run: str) -> tuple[str, bool]:
        """The traceback that a visitor meets, "" for none, and whether the page is down: without anything but a sentence."""
        app, faults = self.new(), Faults()
        app._registered_pages = self.pages_there
        app.query_params["run"] = run
        logger = logging.getLogger("app")
        logger.addHandler(faults)
        try:
            app.switch_page(page).run()
        finally:
            logger.removeHandler(faults)
        seen = [f"{error.stack_trace[-1].strip() if error.stack_trace else ''} {error.value}" for error in app.exception] + faults.seen
        return "; ".join(seen), bool(seen) or any("report" in (element.icon or "") for element in app.error)


def visited(cells: int = 0, seed: int = 0, say: Callable[[str], object] = print) -> pd.DataFrame:
    """One row a cell: run, file, damage, page, focus, error, down."""
    import streamlit as st

    rows = []
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "runs"
        with shelf(patch, root) as ships:
            visitor = Visitor(patch)
            every = damages(root)
            rng = np.random.default_rng(seed)
            drawn = [every[k] for k in rng.permutation(len(every))[: cells or len(every)]]
            for damage in drawn:
                shutil.rmtree(root / damage.run)
                shutil.copytree(ships / damage.run, root / damage.run)
                damage.apply(root)
                st.cache_resource.clear()
                st.cache_data.clear()
                pages = [visitor.pages[int(rng.integers(len(visitor.pages)))]] if cells else visitor.pages
                for page in pages:
                    for focus in (damage.run, INNOCENT):
                        error, down = visitor.opens(page, focus)
                        rows.append((damage.run, damage.file, damage.kind, page, focus, error, down))
                        if error or (down and focus != damage.run):
                            say(f"{damage.file}, {damage.kind}: {page} of {focus}: {error or 'down'}")
                shutil.rmtree(root / damage.run)
                shutil.copytree(ships / damage.run, root / damage.run)
            st.cache_resource.clear()
            st.cache_data.clear()
    return pd.DataFrame(rows, columns=["run", "file", "damage", "page", "focus", "error", "down"])


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """A row a file: damages and pages tried, tracebacks, pages of other runs that were down."""
    beside = frame["focus"] != frame["run"]
    counted = frame.assign(tracebacks=frame["error"] != "", innocent=frame["down"] & beside).groupby("file")
    summed = counted.agg(
        damages=("damage", "nunique"), cells=("page", "size"), tracebacks=("tracebacks", "sum"), innocent=("innocent", "sum")
    )
    return pd.concat([summed, summed.sum().to_frame("all").T])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=0, help="damages drawn, one page for each; 0 = all, on every page")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    summary = table(visited(options.cells, options.seed))
    print(summary.to_string())  # noqa: T201 - a command
    sys.exit(int(summary.loc["all", ["tracebacks", "innocent"]].any()))

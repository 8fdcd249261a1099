"""`python -m experiments PAPER NAME [arguments]` starts an experiment; `python -m experiments` lists all of them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from sentviz.errors import SentvizError

MODULES = {
    (path.parent.name, path.stem): path for path in sorted(Path(__file__).parent.glob("*/*.py"))
}  # (paper, name) of each experiment -> its file


def listed() -> str:
    """Return a line for each experiment, with the first line of its docstring. No experiment is imported."""
    about = {
        place: (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n") for place, path in MODULES.items()
    }
    return "".join(f"{paper:<12} {name:<16} {first}\n" for (paper, name), (first, *_) in about.items())


def main(arguments: Sequence[str]) -> None:
    """Start the experiment that the first two arguments name with the others, or list all experiments."""
    if not arguments:
        sys.stdout.write(listed())
    elif tuple(arguments[:2]) not in MODULES:
        sys.exit(f"There is no experiment {' '.join(arguments[:2])!r}: `python -m experiments` lists them.")
    else:
        try:
            import_module(f"experiments.{arguments[0]}.{arguments[1]}").main(arguments[2:])
        except SentvizError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])

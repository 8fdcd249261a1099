"""`python -m tools.attack`: hostile inputs against library, app and server of a checkout on this machine, as one table."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path

from tools.attack.case import Case, Outcome, sentence, table
from tools.attack.library import LIBRARY
from tools.attack.pages import APP
from tools.attack.runner import attacked
from tools.attack.server import SERVER

ROOT = Path(__file__).parents[2]
CASES: tuple[Case, ...] = (*LIBRARY, *SERVER, *APP)


def chosen(patterns: list[str]) -> list[Case]:
    """Cases by name or `against/name`, where * means any letters; all without a pattern."""
    return [
        case
        for case in CASES
        if not patterns or any(fnmatchcase(name, pattern) for name in (case.name, full(case)) for pattern in patterns)
    ]


def full(case: Case) -> str:
    """A name that no other case has."""
    return f"{case.against}/{case.name}"


def tell(outcome: Outcome) -> None:
    """A line as soon as a case is over."""
    measured = f"{outcome.seconds:.1f} s, {outcome.peak:,.0f} MB, another {outcome.rest or 0:.1f} to {outcome.felt or 0:.1f} s"
    line = f"{outcome.against}/{outcome.name}: {outcome.verdict} ({measured}) {sentence(outcome.output)}"
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command


def main() -> int:
    """The command; 1 if a case falls."""
    parser = argparse.ArgumentParser(prog="python -m tools.attack", description=__doc__)
    parser.add_argument("--list", action="store_true", help="the cases")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="as listed, * for any letters; several times")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="CHECKOUT", help="whose code is attacked; this one by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the outcomes are written, too")
    parser.add_argument("--fuzz", type=float, metavar="MINUTES", help="instead, inputs drawn by Hypothesis for so long in all")
    options = parser.parse_args()
    if options.fuzz is not None:
        from tools.attack.fuzz import fuzzed

        print(faults := fuzzed(options.root.resolve(), options.fuzz))  # noqa: T201 - a command
        return int("falls" in faults)
    cases = chosen(options.only)
    if options.list or not cases:
        print("\n".join(map(full, cases)) or "There is no such case; --list names them.")  # noqa: T201 - a command
        return int(not cases)
    outcomes = attacked(cases, options.root.resolve(), tell)
    print(table(outcomes))  # noqa: T201 - a command
    if options.json:
        options.json.write_text(
            json.dumps([asdict(outcome) | {"output": outcome.output[:2000], "verdict": outcome.verdict} for outcome in outcomes], indent=1),
            encoding="utf-8",
        )
    return int(any(outcome.falls for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())

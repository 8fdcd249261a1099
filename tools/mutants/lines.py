"""Choose the tests of a fault by the map that `tools.mutants.cover` stores."""

from __future__ import annotations

import ast
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import closing
from functools import cached_property
from pathlib import Path

from coverage.numbits import numbits_to_nums

from tools.mutants.faults import FUNCTIONS, Site

SLOW = "tests/slow.txt"


class Map:
    """Knows which tests execute each line, and how long they take."""

    def __init__(self, folder: Path, tree: Path, *, every: bool = False) -> None:
        """Read a map: of the fast tests, or of `every` test that it knows."""
        self.folder, self.tree = folder, tree
        self.seconds: dict[str, float] = {}
        self.wide: dict[str, list[str]] = {}
        self.fixtures: dict[str, float] = {}
        slow = set((tree / SLOW).read_text(encoding="utf-8").splitlines()) if (tree / SLOW).is_file() else set[str]()
        for place in sorted(folder.glob("tests*.json")):
            stored = json.loads(place.read_text(encoding="utf-8"))
            self.fixtures |= stored["fixtures"]
            for test, (seconds, wide) in stored["tests"].items():
                if every or not slow & {test, test.partition("[")[0]}:
                    self.seconds[test], self.wide[test] = seconds, wide
        self.users: dict[str, set[str]] = defaultdict(set)
        for test, wide in self.wide.items():
            self.users[test].add(test)
            for fixture in wide:
                self.users[fixture].add(test)

    @cached_property
    def lines(self) -> dict[str, dict[int, set[str]]]:
        """The tests and wide fixtures that execute each line of each file; "" for an import."""
        lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        query = "SELECT path, context, numbits FROM line_bits JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        for place in sorted(self.folder.glob("lines*")):
            with closing(sqlite3.connect(place)) as base:
                for path, context, bits in base.execute(query):
                    for line in numbits_to_nums(bits):
                        lines[path.removeprefix(f"{self.tree}/")][line].add(context)
        return lines

    @cached_property
    def totals(self) -> Counter[str]:
        """The number of lines that each test executes, without those of wide fixtures."""
        return Counter(context for lines in self.lines.values() for contexts in lines.values() for context in contexts)

    def tests(self, contexts: Iterable[str]) -> set[str]:
        """Return the tests that passed without a fault and use some contexts."""
        return {test for context in contexts for test in self.users.get(context, ())}

    def of_module(self, file: str) -> set[str]:
        """Return the tests that run a function of a module; if none does, those of the modules that import it."""
        if tests := self._in_functions(file):
            return tests
        package, _, name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".").rpartition(".")
        imports = re.compile(rf"\b{re.escape(package)}\.{name}\b|from {re.escape(package)} import [^#]*?\b{name}\b")
        importers = [each for each in self.lines if imports.search((self.tree / each).read_text(encoding="utf-8"))]
        return {test for each in importers for test in self._in_functions(each)}

    def _in_functions(self, file: str) -> set[str]:
        """Return the tests that execute a line inside a function of a module."""
        tree = ast.parse((self.tree / file).read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS) and not isinstance(node, ast.Lambda)]
        inside = {line for node in functions for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)}
        return self.tests({context for line, contexts in self.lines[file].items() if line in inside for context in contexts})

    def of_site(self, site: Site, file: str) -> set[str]:
        """Return the tests that execute the line of a site. Those of an import are the tests of the module, and the golden ones."""
        lines = self.lines[file]
        contexts = lines.get(site.line) or lines.get(site.statement) or set()
        tests = set() if site.at_import else self.tests(contexts)
        if site.at_import or "" in contexts:
            tests |= self.of_module(file) | {test for test in self.seconds if site.at_import and test.startswith("tests/golden/")}
        return tests

    def chosen(self, tests: set[str], file: str, most: int, budget: float) -> list[str]:
        """Return the tests to run: as many as allowed, first those with the largest share of their lines in the file; the quickest first.

        Tests of one file stay together, because they share its fixtures. The fixtures count towards the seconds, each once.
        """
        within = Counter(context for contexts in self.lines[file].values() for context in contexts)
        share = {test: within[test] / max(self.totals[test], 1) for test in tests}
        total, paid, groups = 0.0, set[str](), defaultdict[str, list[str]](list)
        for test in sorted(tests, key=lambda test: (-share[test], self.seconds[test], test)):
            new = set(self.wide[test]) - paid
            cost = self.seconds[test] + sum(self.fixtures.get(fixture, 0.0) for fixture in new)
            if sum(map(len, groups.values())) < most and total + cost <= budget:
                total, paid = total + cost, paid | new
                groups[test.partition("::")[0]].append(test)
        ordered = sorted(
            (sorted(group, key=self.seconds.__getitem__) for group in groups.values()), key=lambda group: self.seconds[group[0]]
        )
        return [test for group in ordered for test in group]

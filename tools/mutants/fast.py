"""Choose the fast tests: those that execute most code in each second.

A line counts again, but less, if up to five tests execute it, because several tests of a line see more of its faults than one.
Tests that take hardly any time are always chosen.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from tools.mutants.lines import SLOW, Map

WORTH = (1.0, 0.3, 0.15, 0.1, 0.05)
FREE = 0.05  # seconds of a test that is always chosen
Line = tuple[str, int]


def lines_of(chart: Map) -> dict[str, set[Line]]:
    """Return the lines that each test executes, also by its fixtures; lines that run at the import of a module are left out."""
    by_context: dict[str, set[Line]] = defaultdict(set)
    for file, lines in chart.lines.items():
        for line, contexts in lines.items():
            if "" not in contexts:
                for context in contexts:
                    by_context[context].add((file, line))
    return {test: by_context[test].union(*(by_context[each] for each in wide)) for test, wide in chart.wide.items()}


def chosen(lines: dict[str, set[Line]], seconds: dict[str, float], budget: float) -> set[str]:
    """Return the tests that fit into a number of seconds: always the one that adds most worth a second, then the tests that are free."""
    times: Counter[Line] = Counter()

    def gain(test: str) -> float:
        return sum(WORTH[times[line]] for line in lines[test] if times[line] < len(WORTH)) / max(seconds[test], 1e-3)

    fast = {test for test in lines if seconds[test] <= FREE}
    spent = sum(seconds[test] for test in fast)
    times.update(line for test in fast for line in lines[test])
    waiting = [(-gain(test), test) for test in sorted(lines.keys() - fast)]
    heapq.heapify(waiting)
    while waiting:
        _, test = heapq.heappop(waiting)
        if waiting and -(now := gain(test)) > waiting[0][0]:
            heapq.heappush(waiting, (-now, test))
        elif spent + seconds[test] <= budget:
            spent += seconds[test]
            fast.add(test)
            times.update(lines[test])
    return fast


def names(left_out: Iterable[str], every: Iterable[str]) -> list[str]:
    """Return the names of tests in order; a function of which all cases are left out is named once."""
    left, cases = set(left_out), defaultdict[str, set[str]](set)
    for test in every:
        cases[test.partition("[")[0]].add(test)
    whole = {function for function, each in cases.items() if each <= left}
    return sorted(whole | {test for test in left if test.partition("[")[0] not in whole})


def store(chart: Map, tree: Path, budget: float) -> tuple[int, int]:
    """Write the tests that are left out into `tests/slow.txt`; return how many tests are fast, and how many are left out."""
    fast = chosen(lines_of(chart), chart.seconds, budget)
    left = chart.seconds.keys() - fast
    (tree / SLOW).write_text("\n".join(names(left, chart.seconds)) + "\n", encoding="utf-8")
    return len(fast), len(left)

"""Plant faults in the code and see which of them make a test fail.

\b
    pip install coverage
    python -m tools.mutants cover --map MAP                        the lines of each test: about fifteen minutes
    python -m tools.mutants fast --map MAP --budget 120            tests/slow.txt: tests that are left out of the fast ones
    python -m tools.mutants run --map MAP --results RESULTS.jsonl  40 faults of each package: about two hours
    python -m tools.mutants table --results RESULTS.jsonl          the share of each package, and the survivors

A run that was stopped goes on. With --faults the faults are stored, or planted again if the file exists. Nothing is written into the tree.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Any

import click

from tools.mutants import fast as choice
from tools.mutants import faults as planting
from tools.mutants.children import Job, outcomes, prepare
from tools.mutants.faults import PACKAGES, Fault
from tools.mutants.lines import Map

ROOT = Path(__file__).resolve().parents[2]
CHECKS = 5
TREE = click.option("--tree", type=click.Path(path_type=Path, exists=True), default=ROOT, help="The checkout; by default this one.")
MAP = click.option("--map", "folder", type=click.Path(path_type=Path), required=True, help="The folder of the map.")
RESULTS = click.option("--results", type=click.Path(path_type=Path), required=True, help="The outcome of each fault, one JSON a line.")


def wilson(part: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Return the interval of a share by Wilson's formula, at 95 %."""
    share, size = part / total, 1 + z * z / total
    half = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / size
    middle = (share + z * z / (2 * total)) / size
    return middle - half, middle + half


def stored(results: Path) -> dict[Fault, dict[str, Any]]:
    """Return the last outcome of each fault so far."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.is_file() else []
    return {Fault(*(row[name] for name in Fault._fields)): row for row in map(json.loads, lines)}


def all_faults(tree: Path, place: Path | None, number: int, seed: int) -> list[Fault]:
    """Return the faults of a file, in turns of the packages; draw them if it is absent."""
    if place is not None and place.is_file():
        return [Fault(**each) for each in json.loads(place.read_text(encoding="utf-8"))]
    by_package = [planting.drawn(tree, package, number, seed) for package in PACKAGES]
    faults = [group[i] for i in range(number) for group in by_package if i < len(group)]
    if place is not None:
        place.write_text(json.dumps([fault._asdict() for fault in faults], indent=1), encoding="utf-8")
    return faults


@click.group(help=__doc__)
def main() -> None:
    """Run one of the commands."""


@main.command()
@TREE
@MAP
@click.option("--jobs", default=1, help="Processes that test at the same time.")
def cover(tree: Path, folder: Path, jobs: int) -> None:
    """Run the tests without a browser once, but not the exhaustive ones, and store which lines each of them executes."""
    folder.mkdir(parents=True)
    environment = os.environ | {"MUTANTS_MAP": str(folder.resolve()), "PYTHONPATH": f"{tree.resolve()}:{ROOT}", "OMP_NUM_THREADS": "1"}
    workers = ["-n", str(jobs)] if jobs > 1 else []
    command = [
        "pytest",
        "-p",
        "tools.mutants.cover",
        "-m",
        "not browser and not exhaustive",
        "-p",
        "no:cacheprovider",
        "--hypothesis-seed=0",
        *workers,
    ]
    subprocess.run([sys.executable, "-m", *command, "--hypothesis-seed=0"], cwd=tree, env=environment, check=False)


@main.command()
@TREE
@MAP
@click.option("--budget", type=float, required=True, help="The seconds of all fast tests, as the map counts them.")
def fast(tree: Path, folder: Path, budget: float) -> None:
    """Choose the fast tests anew; store the names of those that are left out."""
    click.echo("{} tests are fast, {} are left out.".format(*choice.store(Map(folder, tree.resolve(), every=True), tree, budget)))


@main.command()
@TREE
@MAP
@RESULTS
@click.option("--faults", "place", type=click.Path(path_type=Path), help="Where the faults are stored; they are drawn if it is absent.")
@click.option("--seed", default=0, help="Draws other faults.")
@click.option("--number", default=40, help="Faults of each package.")
@click.option("--jobs", default=1, help="Processes that test at the same time.")
@click.option("--most", default=60, help="The most tests of a fault.")
@click.option("--budget", default=40.0, help="The most seconds that the tests of a fault took without it.")
@click.option("--again", is_flag=True, help="Test survivors again if not all of their tests were run; raise --most and --budget.")
def run(
    tree: Path, folder: Path, results: Path, place: Path | None, seed: int, number: int, jobs: int, most: int, budget: float, again: bool
) -> None:
    """Plant the faults that have no outcome yet; print the table."""
    tree = tree.resolve()
    lines, faults = Map(folder, tree), all_faults(tree, place, number, seed)
    of_package = {package: [fault for fault in faults if fault.package == package][:number] for package in PACKAGES}
    done = {fault for fault, row in stored(results).items() if not (again and row["outcome"] == "survived" and row["tests"] < row["of"])}
    waiting = [fault for fault in faults if fault in of_package[fault.package] and fault not in done]
    prepare(Path(tempfile.gettempdir()) / f"mutants-caches-{os.getuid()}")

    def job(fault: Fault, planted: bool = True) -> tuple[Job, int] | None:
        source = (tree / fault.file).read_text(encoding="utf-8") if (tree / fault.file).is_file() else ""
        if (place_in_file := planting.number_of(fault, source)) is None:
            return None
        site = planting.planted(source, place_in_file)[1]
        every = lines.of_site(site, fault.file)
        tests = lines.chosen(every, fault.file, most, budget)
        code = planting.compiled(source, place_in_file, str(tree / fault.file)) if planted else None
        return Job(tree, fault.file, code, tests, 60 + 5 * sum(lines.seconds[test] for test in tests)), len(every)

    def write(fault: Fault, outcome: str, tests: int = 0, every: int = 0, by: str = "", seconds: float = 0.0) -> None:
        row = fault._asdict() | {"outcome": outcome, "by": by, "seconds": seconds, "tests": tests, "of": every}
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def jobs_of(faults: list[Fault]) -> Iterator[tuple[tuple[Fault, int, int], Job]]:
        for fault in faults:
            if (planned := job(fault)) is None:
                write(fault, "gone")
            elif not planned[1]:
                write(fault, "survived")
            else:
                yield (fault, len(planned[0].tests), planned[1]), planned[0]

    sample = waiting[:: max(1, len(waiting) // CHECKS)]
    checks = ((fault, planned[0]) for fault in sample if (planned := job(fault, planted=False)) and planned[1])
    for fault, outcome in outcomes(checks, jobs):
        if outcome.killed_by:
            raise SystemExit(f"{fault.file}:{fault.line}: its tests fail without a fault ({outcome.killed_by}), so they would kill all.")
    for (fault, tests, every), outcome in outcomes(jobs_of(waiting), jobs):
        write(fault, "killed" if outcome.killed_by else "survived", tests, every, *outcome)
    show(results)


@main.command()
@RESULTS
def table(results: Path) -> None:
    """Print the share of killed faults of each package with its 95 % interval, and the survivors."""
    show(results)


def show(results: Path) -> None:
    """Print the table of the outcomes so far."""
    every = list(stored(results).values())
    rows = [each for each in every if each["outcome"] != "gone"]
    click.echo(f"{'package':20} {'faults':>6} {'killed':>6} {'share':>6}  95 % interval")
    for package in [*PACKAGES, ""]:
        of_package = [each for each in rows if package in (each["package"], "")]
        if of_package:
            killed = sum(each["outcome"] == "killed" for each in of_package)
            low, high = wilson(killed, len(of_package))
            click.echo(f"{package or 'all':20} {len(of_package):6} {killed:6} {killed / len(of_package):6.0%}  {low:.0%} to {high:.0%}")
    click.echo(f"\n{len(every) - len(rows)} faults are gone, and these survived:")
    for each in rows:
        if each["outcome"] == "survived":
            before, after = (" ".join(each[name].split())[:120] for name in ("before", "after"))
            click.echo(f"{each['file']}:{each['line']}: {each['kind']} ({each['tests']} of {each['of']} tests): {before}  ->  {after}")


if __name__ == "__main__":
    main()

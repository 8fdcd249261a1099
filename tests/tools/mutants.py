"""Mutants of the code that gives verdicts: does a test fall when it is changed?

`python -m venv mutants && mutants/bin/pip install cosmic-ray`, then `python -m tests.tools.mutants --cosmic-ray mutants/bin`. Works on a
copy of the tree; each mutant is asked of the tests of its module only. A sample by default: `--sample 0` takes all, which takes hours.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = {  # module -> the tests that should fall with it
    "sentviz/analysis/claim.py": ("test_claim",),
    "sentviz/papers/ndt/claims.py": ("test_ndt_claims",),
    "sentviz/papers/ndt/printed_claims.py": ("test_claims", "test_ndt_claims"),
    "sentviz/papers/hardmax/claims.py": ("test_hardmax_claims",),
    "sentviz/papers/hardmax/study.py": ("test_hardmax_accuracies", "test_hardmax_claims"),
    "sentviz/papers/fused/claims.py": ("test_fused_claims", "test_fused_study"),
    "sentviz/papers/sentiformer/claims.py": ("test_sentiformer_claims",),
    "sentviz/papers/sevenessxin/claims.py": ("test_sevenessxin_claims",),
    "sentviz/papers/studies/compare_configurations.py": ("test_study_means", "test_ndt_claims"),
    "sentviz/analysis/seeds.py": ("test_seeds", "test_study_means", "test_comparison"),
    "sentviz/papers/studies/judging.py": ("test_judging",),
    "sentviz/papers/studies/results.py": ("test_judging",),
    "sentviz/papers/studies/stats.py": ("test_seeds", "test_study_means", "test_ndt_claims"),
}
LEFT_OUT = ("core/ReplaceBinaryOperator_BitOr_.*",)  # unions of types, which are never run
CONFIG = """[cosmic-ray]
module-path = "{module}"
timeout = {timeout}
excluded-modules = []
test-command = "{python} -m pytest -x -q -p no:cacheprovider {tests}"

[cosmic-ray.distributor]
name = "local"

[cosmic-ray.filters.operators-filter]
exclude-operators = {left_out}
"""


def mutants(module: str, tree: Path, tools: Path, sample: int, seed: int, timeout: float) -> list[tuple[str, str]]:
    """Return the outcome of each mutant of a module (killed, survived, incompetent ..), with its difference."""
    tests = " ".join(f"tests/{name}.py" for name in TESTS[module] if (tree / "tests" / f"{name}.py").is_file())
    config, session = tree / "mutants.toml", tree / f"{Path(module).as_posix().replace('/', '-')}.sqlite"
    config.write_text(CONFIG.format(module=module, timeout=timeout, python=sys.executable, tests=tests, left_out=list(LEFT_OUT)))
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*command: str | Path) -> None:
        subprocess.run([tools / command[0], *command[1:]], cwd=tree, env=environment, check=True)

    if subprocess.run([tools / "cosmic-ray", "baseline", config], cwd=tree, env=environment, check=False).returncode:
        raise SystemExit(f"{module}: its tests fail without any mutant, so that they would seem to kill every one.")
    run("cosmic-ray", "init", config, session)
    run("cr-filter-operators", session, config)
    with closing(sqlite3.connect(session)) as base, base:
        left = "SELECT job_id FROM work_items WHERE job_id NOT IN (SELECT job_id FROM work_results) ORDER BY job_id"
        places = "SELECT job_id FROM mutation_specs ORDER BY start_pos_row, start_pos_col, operator_name, occurrence"
        waiting = {job for (job,) in base.execute(left)}
        jobs = [job for (job,) in base.execute(places) if job in waiting]
        selected = set(jobs if not sample else random.Random(seed).sample(jobs, min(sample, len(jobs))))
        dropped = [(job,) for (job,) in base.execute("SELECT job_id FROM work_items") if job not in selected]
        for table in ("mutation_specs", "work_results", "work_items"):
            base.executemany(f"DELETE FROM {table} WHERE job_id = ?", dropped)
    run("cosmic-ray", "exec", config, session)
    with closing(sqlite3.connect(session)) as base:
        rows = base.execute("SELECT test_outcome, worker_outcome, diff FROM work_results").fetchall()
    return [(str(test or worker).rpartition(".")[2].lower(), diff or "") for test, worker, diff in rows]


def changed(diff: str) -> str:
    """The lines that a mutant takes out and puts in."""
    return "\n".join(line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---"))


def main(arguments: Iterable[str] | None = None) -> None:
    """Prints a table, and every survivor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cosmic-ray", type=Path, required=True, help="the folder of the cosmic-ray command")
    parser.add_argument("--sample", type=int, default=20, help="mutants of each module; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=240.0, help="seconds for the tests of one mutant")
    parser.add_argument("modules", nargs="*", help="; ".join(TESTS))
    options = parser.parse_args(list(arguments) if arguments is not None else None)
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in ("sentviz", "app", "experiments", "tests", "docs", "pyproject.toml", "README.md"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, tree / name)
        for module in options.modules or TESTS:
            outcomes = mutants(module, tree, options.cosmic_ray.resolve(), options.sample, options.seed, options.timeout)
            counts = Counter(outcome for outcome, _ in outcomes)
            summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
            print(f"{module}: {len(outcomes)} mutants, {summary}", flush=True)  # noqa: T201
            survivors += [(module, changed(diff)) for outcome, diff in outcomes if outcome == "survived"]
            for _, diff in survivors[-counts["survived"] :] if counts["survived"] else ():
                print(f"{diff}\n", flush=True)  # noqa: T201
    print(f"{len(survivors)} survived")  # noqa: T201


if __name__ == "__main__":
    main()

"""Stored claim verdicts for the shipped runs, keyed by everything that they read. A claims board opens without running the tests.

`python -m sentviz.papers.studies.verdicts` judges the built-in papers on the shipped runs and writes `measured/verdicts.json`. Claims on
other runs are judged when a board needs them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from sentviz.analysis.claim import Effect, Finding
from sentviz.errors import SentvizError
from sentviz.io.files import replacing
from sentviz.io.lazy import pd
from sentviz.papers.studies.claims import claims_of, findings, judged
from sentviz.papers.studies.results import of_metric
from sentviz.runs.registry import Paper, built_in, find_paper, papers
from sentviz.runs.store import SHIPPED, Run

FILE = Path(__file__).parent / "measured" / "verdicts.json"


def verdicts(runs: Iterable[Run], names: Iterable[str] | None = None, *, file: Path = FILE) -> pd.DataFrame:
    """Return `judged` for some papers; a paper whose stored verdicts are about the same runs is not judged again.

    Args:
        names: names of papers; default: all that have claims.
    """
    available = list(runs)
    stored = _stored(file, _stamp(file))
    frames = []
    for name in papers() if names is None else names:
        entry = stored.get(name, {})
        same = bool(entry) and entry["read"] == digest_of_sources(find_paper(name), available)
        known = {key: _from_json(finding) for key, finding in entry["found"].items()} if same else None
        frames.append(judged(available, [name], known))
    return pd.concat(frames, ignore_index=True)


def stored_findings(file: Path = FILE) -> dict[str, Finding]:
    """Return the stored findings on the shipped runs by claim key, in the order of papers and claims; empty if there are none."""
    entries = _stored(file, _stamp(file)).values()
    return {key: _from_json(finding) for entry in entries for key, finding in entry["found"].items()}


def runs_for_claims(paper: Paper, runs: Iterable[Run], data: Sequence[str] = ()) -> list[Run]:
    """Return the runs trained on `data`, by default on any data set that the paper's claims name; empty if the claims cannot be loaded."""
    try:
        datasets = set(data) or {name for claim in claims_of(paper) for name in claim.data}
    except SentvizError:
        return []
    return [run for run in runs if run.config["data"]["name"] in datasets]


def tested_runs(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the runs that have a test accuracy: run, seed, accuracy in %, n, digest."""
    every = list(runs)
    digests = {run.name: run.digest for run in every}
    frame = of_metric(every).assign(digest=lambda rows: rows["run"].map(digests), **{"accuracy, %": lambda rows: 100 * rows["value"]})
    return frame[["run", "seed", "accuracy, %", "n", "digest"]]


def digest_of_sources(paper: Paper, runs: Iterable[Run]) -> str:
    """Return twelve hex digits for all that a paper's claims may read: runs by name and digest, printed and measured tables by content.

    The digest of a run covers the digests of its files; `sentviz.runs.catalog.study_runs` leaves out runs with other files.
    """
    lines = sorted(f"{run.name} {run.digest}" for run in runs_for_claims(paper, runs))
    tables = sorted(path for kind in ("printed", "measured") for path in (paper.folder / kind).glob("*.csv"))
    lines += [f"{path.parent.name}/{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in tables]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def store_verdicts(runs: Sequence[Run], *, file: Path = FILE) -> None:
    """Judge the built-in papers on some runs, and store the findings."""
    stored: dict[str, Any] = {}
    for name, paper in built_in().items():
        by_key = {key: _to_json(finding) for key, _, finding in findings(paper, runs)}
        stored[name] = {"read": digest_of_sources(paper, runs), "found": by_key}
    with replacing(file) as part:
        part.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# ---- as files


@lru_cache(maxsize=4)
def _stored(file: Path, stamp: int) -> dict[str, Any]:
    """Return the stored verdicts by paper; empty if the file is missing or damaged, because all claims can be judged again."""
    try:
        stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stored


def _stamp(file: Path) -> int:
    """Return the time of the file's last change in nanoseconds; 0 if it is missing."""
    return file.stat().st_mtime_ns if file.is_file() else 0


def _to_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON values, numbers with eight significant digits."""
    stored: dict[str, Any] = {"verdict": finding.verdict, "evidence": finding.evidence}
    if finding.parts:
        stored["parts"] = {rows: _to_json(part) for rows, part in finding.parts}
    if finding.effect is not None:
        stored["effect"] = {
            name: value if isinstance(value, str) or value is None else float(f"{value:.8g}")
            for name, value in vars(finding.effect).items()
        }
    if finding.p is not None:
        stored["p"] = float(f"{finding.p:.8g}")
    return stored


def _from_json(stored: dict[str, Any]) -> Finding:
    """Return the finding that `_to_json` stored."""
    parts = tuple((rows, _from_json(part)) for rows, part in stored.get("parts", {}).items())
    effect = Effect(**stored["effect"]) if "effect" in stored else None
    return Finding(stored["verdict"], stored["evidence"], parts, effect, stored.get("p"))


if __name__ == "__main__":
    from sentviz.runs.catalog import study_runs

    store_verdicts([run for run in study_runs([SHIPPED]).runs if run.folder.is_relative_to(SHIPPED.resolve())])

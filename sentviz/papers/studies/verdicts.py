"""Stored verdicts: those on the runs that ship, keyed by the runs, so that a board is shown at once.

`python -m sentviz.papers.studies.verdicts` judges every paper of the house on the runs that ship and writes `measured/verdicts.json`.
Claims on other runs are judged when they are asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentviz.analysis.claim import Effect, Finding
from sentviz.errors import SentvizError
from sentviz.io.files import replacing
from sentviz.papers.studies.claims import claims_of, judged
from sentviz.runs.registry import BUILT_IN, Paper, find_paper, papers
from sentviz.runs.store import SHIPPED, Run

if TYPE_CHECKING:
    import pandas as pd

FILE = Path(__file__).parent / "measured" / "verdicts.json"


def verdicts(runs: Iterable[Run], names: Iterable[str] | None = None, *, file: Path = FILE) -> pd.DataFrame:
    """Every claim with its verdict as `judged` gives it, from the store where these runs were judged before.

    Args:
        names: of papers; all that have claims without.
    Raises:
        InputError: no such paper.
    """
    import pandas as pd

    here = list(runs)
    stored = _stored(file, _stamp(file))
    found = []
    for name in papers() if names is None else names:
        one = stored.get(name, {})
        same = bool(one) and one["runs"] == of_runs(find_paper(name), here)
        found.append(judged(here, [name], {key: _read(said) for key, said in one["found"].items()} if same else None))
    return pd.concat(found, ignore_index=True)


def behind(paper: Paper, runs: Iterable[Run], data: Sequence[str] = ()) -> list[Run]:
    """The runs that a paper's claims on data sets may read: all runs of studies on them; of all its data sets unless told."""
    try:
        wanted = set(data) or {name for claim in claims_of(paper) for name in claim.data}
    except SentvizError:
        return []
    return [run for run in runs if run.config["data"]["name"] in wanted]


def of_runs(paper: Paper, runs: Iterable[Run]) -> str:
    """Twelve hex digits of the runs that a paper's claims may read: others once one of them is another."""
    said = sorted(f"{run.name} {run.digest}" for run in behind(paper, runs))
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:12]


def measure(runs: Sequence[Run], *, file: Path = FILE) -> None:
    """Judge the papers of the house on runs, and store what came out."""
    kept = {}
    for name in BUILT_IN:
        frame = judged(runs, [name])
        found = {
            row["key"]: _written(Finding(row["verdict"], row["evidence"], row["parts"], row["effect"])) for row in frame.to_dict("records")
        }
        kept[name] = {"runs": of_runs(find_paper(name), runs), "found": found}
    with replacing(file) as part:
        part.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# ---- as files


@lru_cache(maxsize=4)
def _stored(file: Path, stamp: int) -> dict[str, Any]:
    """What is stored; nothing where it is missing or damaged, since all of it can be judged anew."""
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _stamp(file: Path) -> int:
    return file.stat().st_mtime_ns if file.is_file() else 0


def _written(one: Finding) -> dict[str, Any]:
    found: dict[str, Any] = {"verdict": one.verdict, "evidence": one.evidence}
    if one.parts:
        found["parts"] = {rows: _written(part) for rows, part in one.parts}
    if one.effect is not None:
        found["effect"] = {
            name: value if isinstance(value, str) or value is None else float(f"{value:.8g}") for name, value in vars(one.effect).items()
        }
    return found


def _read(said: dict[str, Any]) -> Finding:
    parts = tuple((rows, _read(part)) for rows, part in said.get("parts", {}).items())
    effect = Effect(**said["effect"]) if "effect" in said else None
    return Finding(said["verdict"], said["evidence"], parts, effect)


if __name__ == "__main__":
    from sentviz.runs.catalog import study_runs

    measure([run for run in study_runs([SHIPPED]).runs if run.folder.is_relative_to(SHIPPED.resolve())])

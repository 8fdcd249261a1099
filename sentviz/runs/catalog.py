"""Every run at hand: as a table of configurations and headline metrics, and as studies read them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentviz.errors import RunError
from sentviz.io.files import replacing
from sentviz.runs.presets import CONSTRAINT_SIGNS
from sentviz.runs.store import SHIPPED, Folders, Run, runs, stamp

if TYPE_CHECKING:
    import pandas as pd

STUDIED = ("metrics.json", "history.parquet", "test.parquet")  # what studies read of a run
READERS = 4  # files that are read at a time
# digests of runs that ship, whose files were all read as their readers do; `python -m sentviz.runs.catalog` reads them and writes it anew
WHOLE = Path(__file__).with_name("whole.txt")


@dataclass(frozen=True)
class StudyRuns:
    """The runs that studies read."""

    runs: list[Run]
    left_out: dict[str, str]  # name -> why it is not among them


def study_runs(folders: Folders = ()) -> StudyRuns:
    """Every readable run as the papers' tables and claims read them.

    Where a run ships, no other of its name stands for it. Runs with a study's name that were trained on other rows than the first of their
    data set, one that ships if any does, are left out: they could not be compared with it. So are damaged ones.
    """
    everywhere, here = runs(folders), runs(folders, shipped_first=True)
    kept: list[Run] = []
    opened = [run for run in here.values() if isinstance(run, Run)]
    wrong = {name: str(error) for name, error in here.items() if not isinstance(error, Run)} | faults(opened, STUDIED)
    left_out = {name: f"since {reason.removeprefix(f'{name}: ').rstrip('.')}" for name, reason in wrong.items()}
    first: dict[str, Run] = {}
    for run in opened:
        name = run.name
        if name in wrong:
            continue
        other = everywhere[name]
        if not isinstance(other, Run) or other.digest != run.digest:
            left_out[name] = "since another run ships under this name and is read"
        if not run.of_a_study or _same_rows(run, base := first.setdefault(run.config["data"]["name"], run)):
            kept.append(run)
        else:
            left_out[name] = f"trained on other rows than {base.name}"
    return StudyRuns(kept, left_out)


def faults(of: Sequence[Run], files: Sequence[str] = ()) -> dict[str, str]:
    """What is wrong with files of runs, with any or some, in a sentence by name of the run; nothing of those that can be read.

    A file is read once, and again when it has changed.
    """

    def fault(run: Run) -> str:
        try:
            asked = files or run.config["files"]
            return next(filter(None, (_fault(run, run.digest, file, stamp(run.folder / file)) for file in asked)), "")
        except RunError as error:  # config.json is gone since it was opened
            return str(error)

    with ThreadPoolExecutor(READERS) as pool:
        found = list(pool.map(fault, of))
        return {run.name: fault for run, fault in zip(of, found, strict=True) if fault}


@lru_cache(maxsize=16384)
def _fault(run: Run, digest: str, file: str, stamp: tuple[int, int]) -> str:
    try:
        if digest in _read_before():  # its config.json names the bytes of each file, and those bytes were read before
            run.path(file)
        else:
            run.check(file)
    except RunError as error:
        return str(error)
    except Exception as error:  # a fault of one run is that run's alone
        return f"{run.name}: {file} cannot be read ({type(error).__name__})."
    return ""


@cache
def _read_before() -> frozenset[str]:
    return frozenset(WHOLE.read_text(encoding="utf-8").split()) if WHOLE.is_file() else frozenset()


def _same_rows(one: Run, other: Run) -> bool:
    """Whether the splits that both name are the same; those trained on, where both recipes take as many rows of them."""
    a, b = (run.config["data"].get("splits", {}) for run in (one, other))
    taken = {run.config["recipe"].get("rows", 0) for run in (one, other)}
    return all(a[split]["digest"] == b[split]["digest"] for split in a.keys() & b.keys() if split != "train" or len(taken) == 1)


def catalog(folders: Folders = ()) -> pd.DataFrame:
    """Every run with its configuration and headline metrics, one row each; unreadable ones with their reason in `problem`."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for name, run in runs(folders).items():
        try:
            rows.append(_row(run) if isinstance(run, Run) else {"run": name, "problem": str(run)})
        except RunError as error:
            rows.append({"run": name, "problem": str(error)})
        except Exception as error:  # a fault of one run is that run's alone
            rows.append({"run": name, "problem": f"{name}: config.json or metrics.json was not written by sentviz ({error})."})
    columns = ["run", "weights", "data", "model", "constraint", "components", "accuracy", "low", "high", "n"]
    frame = pd.DataFrame(rows, columns=[*columns, *dict.fromkeys(k for row in rows for k in row if k not in columns)])
    return frame.sort_values("run", ignore_index=True)


def _row(run: Run) -> dict[str, Any]:
    config, metrics = run.config, run.metrics()
    test = metrics["test"]
    row = {
        "run": run.name,
        "weights": run.has_weights,
        "data": config["data"]["name"],
        "model": config["preset"],
        "constraint": CONSTRAINT_SIGNS.get(getattr(run.shape, "mixing", ""), ""),
        "components": run.capabilities.components,
        "accuracy": _real(test["accuracy"]["value"]),
        "low": _real(test["accuracy"]["low"]),
        "high": _real(test["accuracy"]["high"]),
        "n": _whole(test["n"]),
        "f1_macro": _real(test["f1_macro"]["value"]),
        "auc": _real(test["auc"]["value"]),
        "silhouette": _real(test.get("silhouette", {}).get("value", float("nan"))),
        "parameters": _whole(config["parameters"]),
        "calibration": run.calibration,
        "seed": _whole(config["recipe"]["seed"]),
        "epochs": _real(config["best"]["epoch"]),
        "seconds": _whole(config["seconds"]),
        "hardware": config["hardware"],
        "version": config["version"]["sentviz"],
        "digest": run.digest,
        "problem": "",
    }
    if "official_test" in metrics:
        row["official_accuracy"] = _real(metrics["official_test"]["accuracy"]["value"])
    return row


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _whole(value: Any) -> int:
    if not _real(value).is_integer():
        raise TypeError(f"{value!r} is no whole number")
    return int(value)


def _read_all() -> None:
    """Read every file of the runs that ship, and write which are whole, and how they are packed."""
    from sentviz.runs.bases import bases
    from sentviz.runs.releases import index_of, write_index

    shipped = [run for run in runs([SHIPPED]).values() if isinstance(run, Run) and run.folder.is_relative_to(SHIPPED.resolve())]
    for run in shipped:
        run.check(*STUDIED)
    with replacing(WHOLE) as part:
        part.write_text("".join(f"{run.digest}\n" for run in shipped), encoding="utf-8")
    write_index(index_of([*bases(SHIPPED).values(), *shipped]))


if __name__ == "__main__":
    _read_all()

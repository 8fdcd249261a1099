"""Catalog of installed runs: a table of configurations and headline metrics, and the runs that studies use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sentviz.data import datasets
from sentviz.data.labels import sides
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import pd
from sentviz.runs.bases import bases
from sentviz.runs.convergence import store, verified
from sentviz.runs.presets import CONSTRAINT_SIGNS
from sentviz.runs.releases import index_of, write_index
from sentviz.runs.run_files import stamp
from sentviz.runs.store import SHIPPED, Folders, Run, runs

THREADS = 4  # files that are read at the same time


@dataclass(frozen=True)
class StudyRuns:
    """The runs that studies use."""

    runs: list[Run]
    left_out: dict[str, str]  # name -> why studies do not use the run


def study_runs(folders: Folders = ()) -> StudyRuns:
    """Return every readable run that the papers' tables and claims use.

    If a run ships, no other run of its name is used. Damaged runs are left out. A run with a study's name is also left out if its training
    rows differ from those of the first run of its data set (a shipped one, if there is any), because the two cannot be compared.
    """
    in_order, shipped_first = runs(folders), runs(folders, shipped_first=True)
    used: list[Run] = []
    opened = [run for run in shipped_first.values() if isinstance(run, Run)]
    wrong = {name: str(error) for name, error in shipped_first.items() if not isinstance(error, Run)} | faults(opened, studied=True)
    left_out = {name: f"since {reason.removeprefix(f'{name}: ').rstrip('.')}" for name, reason in wrong.items()}
    first: dict[str, Run] = {}
    for run in opened:
        name = run.name
        if name in wrong:
            continue
        hidden = in_order[name]
        if not isinstance(hidden, Run) or hidden.digest != run.digest:
            left_out[name] = "since another run ships under this name and is read"
        if not run.of_a_study or _same_rows(run, base := first.setdefault(run.config["data"]["name"], run)):
            used.append(run)
        else:
            left_out[name] = f"trained on other rows than {base.name}"
    return StudyRuns(used, left_out)


def studied_files(run: Run) -> list[str]:
    """Return the files of a run that studies may read: its measurements, history and predictions."""
    return [file for file in run.config["files"] if file == "metrics.json" or file.endswith(".parquet")]


def faults(of: Sequence[Run], files: Sequence[str] = (), *, studied: bool = False) -> dict[str, str]:
    """Check files of runs and return an error message by name for each run with a damaged file.

    A file is read once, and again after it has changed.

    Args:
        files: files to check; by default all files of each run, or with `studied` those that studies may read.
    """

    def fault(run: Run) -> str:
        try:
            names = files or (studied_files(run) if studied else run.config["files"])
            return next(filter(None, (_fault(run, run.digest, file, stamp(run.folder / file)) for file in names)), "")
        except RunError as error:  # config.json was removed after the run was opened
            return str(error)

    with ThreadPoolExecutor(THREADS) as pool:
        messages = list(pool.map(fault, of))
        return {run.name: message for run, message in zip(of, messages, strict=True) if message}


@lru_cache(maxsize=16384)
def _fault(run: Run, digest: str, file: str, stamp: tuple[int, int]) -> str:
    try:
        if digest in verified():  # config.json has the digests of all files, and files with these digests were read before
            run.path(file)
        else:
            run.check(file)
    except RunError as error:
        return str(error)
    except Exception as error:  # a fault of one run must not affect the others
        return f"{run.name}: {file} cannot be read ({type(error).__name__})."
    return ""


def _same_rows(a: Run, b: Run) -> bool:
    """Return whether two runs have equal splits, except for those of which their recipes take different numbers of rows."""
    of_a, of_b = (run.config["data"].get("splits", {}) for run in (a, b))
    names = of_a.keys() & of_b.keys()
    drawn = {"rows": {"train"}, "test_rows": names - {"train", "validation"}}  # setting of a recipe -> splits of which it draws rows
    recipes = [run.config["recipe"] for run in (a, b)]
    differing = {split for name, splits in drawn.items() if len({recipe.get(name, 0) for recipe in recipes}) > 1 for split in splits}
    return all(of_a[name]["digest"] == of_b[name]["digest"] for name in names - differing)


def same_configuration(a: Run, b: Run) -> bool:
    """Return whether two runs differ in their seed, and in no other setting that both have stored."""
    recipes = [run.config["recipe"] for run in (a, b)]
    settings = (recipes[0].keys() & recipes[1].keys()) - {"seed", "example", "example_pair"}
    alike = a.configuration == b.configuration and a.config["data"]["name"] == b.config["data"]["name"]
    differing = any(recipes[0][name] != recipes[1][name] for name in settings)
    return alike and not differing and recipes[0].get("seed") != recipes[1].get("seed") and _same_rows(a, b)


def catalog(folders: Folders = ()) -> pd.DataFrame:
    """Return a table with one run per row: configuration and headline metrics; for unreadable runs, the reason in `problem`."""
    rows: list[dict[str, Any]] = []
    for name, run in runs(folders).items():
        try:
            rows.append(_row(run) if isinstance(run, Run) else {"run": name, "problem": str(run)})
        except RunError as error:
            rows.append({"run": name, "problem": str(error)})
        except Exception as error:  # a fault of one run must not affect the others
            rows.append({"run": name, "problem": f"{name}: config.json or metrics.json was not written by sentviz ({error})."})
    columns = ["run", "weights", "data", "model", "constraint", "components", "accuracy", "low", "high", "n"]
    frame = pd.DataFrame(rows, columns=[*columns, *dict.fromkeys(k for row in rows for k in row if k not in columns)])
    return frame.sort_values("run", ignore_index=True)


UNTESTED: dict[str, Any] = {"n": 0} | dict.fromkeys(("accuracy", "f1_macro", "auc"), dict.fromkeys(("value", "low", "high"), float("nan")))


def _row(run: Run) -> dict[str, Any]:
    config, metrics = run.config, run.metrics()
    test = metrics["test"] if run.has_rows else UNTESTED
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
        raise TypeError(f"{value!r} is not a whole number")
    return int(value)


def reads_pairs(run: Run) -> bool:
    """Return whether a run was trained on pairs of texts."""
    try:
        return datasets.info(run.config["data"]["name"]).pair
    except InputError:  # the data set is unknown in this version
        return run.has_weights and run.example().text_pair is not None


def language(run: Run) -> str:
    """Return the language of the texts that a run was trained on, for example "ko"; "en" if its data set is unknown."""
    try:
        return datasets.info(run.config["data"]["name"]).language
    except InputError:
        return "en"


def is_mixture(dataset: str) -> bool:
    """Return whether a data set combines several data sets, as `english` does; False for the parts of one corpus, as in `sst5_trees`."""
    try:
        return any(not part.startswith(dataset.partition("_")[0]) for part in datasets.info(dataset).needed() if "/" in part)
    except InputError:
        return False


def best_run(available: Iterable[Run], spoken: str = "en") -> str:
    """Return the name of the run that answers any sentence of a language best; "" if there is none.

    Candidates are shipped runs with weights and attention that read single texts of this language as negative or positive. Runs trained on
    a mixture come before all others, because they know several kinds of texts; then the highest accuracy on the test split decides.

    Args:
        spoken: language code, for example "ko".
    """
    from sentviz.runs.releases import index

    candidates: list[tuple[bool, float, str]] = []
    for run in available:
        if run.name not in index() or not run.has_weights or language(run) != spoken or not run.capabilities.maps:
            continue
        if {-1, 1} <= set(sides(run.labels)) and not reads_pairs(run):
            with suppress(RunError):  # A run with damaged measurements is not the best.
                accuracy = _real(run.metrics()["test"]["accuracy"]["value"])
                candidates.append((is_mixture(run.config["data"]["name"]), accuracy, run.name))
    return max(candidates, default=(False, 0.0, ""))[2]


def best_to_fetch(spoken: str) -> tuple[str, int]:
    """Return name and bytes, with its base, of the shipped run that answers a language best; ("", 0) if there is none.

    The index has no accuracies: runs trained on a mixture come first, then the largest file.
    """
    from sentviz.runs.releases import index

    candidates: list[tuple[bool, int, str]] = []
    for name, entry in index().items():
        dataset = name.partition("/")[0]
        with suppress(InputError):  # This version does not know the data set.
            if (item := datasets.info(dataset)).language == spoken and not item.pair:
                base = index().get(entry.base)
                candidates.append((is_mixture(dataset), entry.bytes + (base.bytes if base else 0), name))
    return max(candidates, default=(False, 0, ""))[:0:-1]


def _read_all() -> None:
    """Read every file of the shipped runs, write which runs are undamaged, and write the index of packed runs."""
    shipped = [run for run in runs([SHIPPED]).values() if isinstance(run, Run) and run.folder.is_relative_to(SHIPPED.resolve())]
    for run in shipped:
        run.check(*studied_files(run))
    store(shipped)
    write_index(index_of([*bases(SHIPPED).values(), *shipped]))


if __name__ == "__main__":
    _read_all()

"""Find, open and read trained runs on disk; `sentviz.runs.run_files` lists the files of a run. Needs no torch."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

from sentviz.data.datasets import is_own
from sentviz.data.formats import KINDS
from sentviz.errors import InputError, RunError, nearest
from sentviz.io.documents import parse_json
from sentviz.io.files import home, inside, is_path, open_regular, place, read_regular
from sentviz.io.lazy import pd
from sentviz.io.typed import fits
from sentviz.runs.configs import Capabilities, ModelConfig, read_config
from sentviz.runs.run_files import CONFIG_MOST, EPOCH, OF_ROWS, checked_path, config_before, digest_of, measured_files, most, stamp
from sentviz.runs.schema import RunName, fits_config, fits_metrics, fits_table, read_table
from sentviz.runs.trace import Trace

Folders = str | Path | Iterable[str | Path]

SHIPPED = place("checkpoints")
FORMAT = 2  # format that is written; lower ones are read as well
BASES = "bases"  # folder of pretrained encoders next to the runs (sentviz.runs.bases)
WITHOUT_ROWS = "{0} has no test rows: it was adopted without data. `sentviz evaluate {0} --data DATASET` adds them."


def roots(folders: Folders = ()) -> list[Path]:
    """Return the folders searched for runs: `folders`, SENTVIZ_RUNS, `runs` and `checkpoints` here, shipped runs, fetched runs."""
    named = [folders] if isinstance(folders, str | Path) else folders
    from_variable = [path for path in os.environ.get("SENTVIZ_RUNS", "").split(os.pathsep) if path]
    usual = [Path("runs"), Path("checkpoints"), SHIPPED, home() / "runs"]
    by_place = {place: path for path in [*map(Path, named), *map(Path, from_variable), *usual] if (place := _folder_number(path))}
    return [path.absolute() for path in by_place.values()]


def _folder_number(path: Path) -> tuple[int, int] | None:
    """Return what all paths of one folder have in common; None if there is no such folder."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


@dataclass(frozen=True)
class Run:
    """A run folder. If a file is missing or damaged, every accessor raises an error that names the file and the reason."""

    name: str
    folder: Path
    weights: str = "model.safetensors"  # file of the weights that `sentviz.load` reads
    max_length: int = 0  # maximum number of tokens that the model reads; 0 = as it was trained

    @classmethod
    def open(cls, folder: str | Path, name: str | None = None) -> Run:
        """Open a folder as a run, and check its configuration.

        Raises:
            RunError: the folder is not a run, or its format is unknown.
        """
        folder = Path(folder)
        run = cls(name or "/".join(folder.resolve().parts[-2:]), folder)
        _ = run.shape
        return run

    @cached_property
    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        try:
            config = parse_json(self._config_bytes(), "config.json")
        except InputError as error:
            raise RunError(f"{self.name}: {error}") from error
        if not isinstance(config, dict) or not isinstance(config.get("format"), int):
            raise RunError(f"{self.name}: config.json was not written by sentviz (it is not a table with a format).")
        if not 1 <= config["format"] <= FORMAT:
            raise RunError(f"{self.name}: config.json has format {config['format']}, this version reads up to {FORMAT}.")
        try:
            fits_config(config)
        except ValueError as error:
            raise RunError(f"{self.name}: config.json is damaged or was not written by sentviz ({error}).") from error
        return config

    def _config_bytes(self) -> bytes:
        try:
            return read_regular(inside(self.folder, "config.json"), CONFIG_MOST, "config.json")
        except InputError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise RunError(f"{self.name} is not a run: config.json is missing.") from None
            raise RunError(f"{self.name}: {error}") from error

    @cached_property
    def shape(self) -> ModelConfig:
        """The configuration of its model, whichever version stored it."""
        stored = self.config["model"]
        try:
            shape = read_config(stored | {"max_length": self.max_length} if self.max_length else stored)
        except ValueError as error:
            raise RunError(f"{self.name}: config.json describes no model that this version knows ({str(error).rstrip('.')}).") from error
        if not self.labels or shape.classes != len(self.labels):
            raise RunError(f"{self.name}: config.json is damaged: {len(self.labels)} labels for {shape.classes} classes.")
        return shape

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of its model, which decide what pages and commands offer."""
        return self.shape.capabilities

    @cached_property
    def digest(self) -> str:
        """Twelve hex digits that change if anything in the run changes; another epoch or length has a digest of its own."""
        return digest_of(self._config_bytes() + self._variant)

    @property
    def _variant(self) -> bytes:
        return (self.weights.removeprefix("model.safetensors") + (f"@{self.max_length}" if self.max_length else "")).encode()

    @cached_property
    def _stored(self) -> str:
        """The digest with the weights of the best state and the trained length."""
        return digest_of(self._config_bytes())

    def had_digest(self, digest: str) -> bool:
        """Return whether a digest is the run's, or was it before its predictions were written anew (`sentviz.runs.run_files`)."""
        before = self._config_before
        return digest == self.digest or (bool(before) and digest == digest_of(before + self._variant))

    @cached_property
    def _config_before(self) -> bytes:
        return config_before(self._stored, self._config_bytes())

    @cached_property
    def is_shipped(self) -> bool:
        """True if the run came with sentviz, in the wheel or in a checkout, so that nothing is ever written into its folder."""
        root = self.folder.resolve().parent.parent
        return root.name == SHIPPED.name and (root == SHIPPED.resolve() or (root.parent / "sentviz").is_dir())

    @property
    def beside(self) -> Path:
        """Folder in the user's library for what is measured on a shipped run. It is found by the digest of the run as it is stored.

        What was measured before the predictions of the run were written anew stays in the folder of the digest before.
        """
        folders, before = home() / "measured", self._config_before
        return older if before and (older := folders / digest_of(before)).is_dir() else folders / self._stored

    @property
    def files(self) -> dict[str, str]:
        """The files of the run and their SHA-256: its own, and what the user measured on a shipped run, which comes first."""
        own: dict[str, str] = self.config["files"]
        return own | measured_files(self.beside, stamp(self.beside / "config.json")) if self.is_shipped else own

    @property
    def labels(self) -> tuple[str, ...]:
        """Class names in the order of the logits."""
        return tuple(self.config["labels"])

    @property
    def configuration(self) -> str:
        """The name of the preset and its variant, which runs with different seeds share."""
        return str(self.config["preset"])

    @property
    def of_a_study(self) -> bool:
        """True if the folder's name is that of a run in a study: the configuration and, unless it is 0, the seed, as in `ndt-unit-2-s1`."""
        seed = self.config["recipe"].get("seed")
        return self.name.rpartition("/")[2] == self.configuration + (f"-s{seed}" if seed else "")

    @property
    def calibration(self) -> float:
        """The temperature that calibrates its probabilities, softmax(logits / T), fitted on the validation split."""
        return float(self.config["temperature"])

    @property
    def has_weights(self) -> bool:
        """True if the run can make predictions; some shipped runs have only their history and measurements, without weights."""
        return "model.safetensors" in self.config["files"]

    @property
    def has_rows(self) -> bool:
        """True if the run was evaluated on test rows; a model that was adopted without data has none."""
        return bool(self.config["data"]["name"])

    @property
    def epochs(self) -> tuple[int, ...]:
        """The epochs, counted from 1, after which the weights were stored."""
        return self._epochs(measured=False)

    @property
    def measured(self) -> tuple[int, ...]:
        """The epochs after which a sample of rows was measured (`sentviz.analysis.epochs`); their weights may be deleted."""
        return self._epochs(measured=True)

    def _epochs(self, measured: bool) -> tuple[int, ...]:
        matches = (EPOCH.fullmatch(file) for file in self.files)
        return tuple(sorted(int(match[1]) for match in matches if match and bool(match[2]) == measured))

    @property
    def keeping(self) -> str:
        """The command that trains the same run again and stores the weights after each epoch."""
        recipe = self.config["recipe"]
        what = (
            "--hub FOLDER" if recipe.get("source") else f"--base {recipe['base']}" if recipe.get("base") else f"--model {recipe['model']}"
        )
        return f"sentviz train {recipe['dataset']} {what} --keep-epochs {recipe.get('epochs', 3)}"

    def at(self, epoch: int) -> Run:
        """Return the run with the weights that its model had after an epoch; its measurements stay those of the best state.

        Raises:
            RunError: the weights of that epoch were not stored.
        """
        if epoch not in self.epochs:
            reason = f"stored epochs: {', '.join(map(str, self.epochs))}" if self.epochs else "its recipe keeps none"
            raise RunError(f"{self.name}: the weights of epoch {epoch} are not stored; {reason}.")
        return replace(self, weights=f"epochs/{epoch}.safetensors")

    def longer(self, max_length: int) -> Run:
        """Return the run with a model that reads `max_length` tokens; the formula of its positions continues beyond the trained ones.

        Raises:
            RunError: its positions are learned one by one, or `max_length` is less than the model reads anyway.
        """
        trained = replace(self, max_length=0).shape.max_length
        if not self.capabilities.extends:
            raise RunError(f"{self.name} has learned {trained:,} positions, so it cannot read more than {trained:,} tokens.")
        if max_length < trained:
            raise RunError(f"{self.name} reads {trained:,} tokens. It can be set to read more, but not {max_length:,}.")
        return replace(self, max_length=max_length)

    def path(self, file: str) -> Path:
        """Return the path of a file of the run, after checking its digest.

        Raises:
            RunError: the file is missing, or is not the file that was written with this run.
        """
        digest = self.files.get(file)
        if digest is None and file == "model.safetensors":
            raise RunError(f"{self.name} is stored without weights, so it cannot make predictions. Train it again to get them.")
        if digest is None and file in OF_ROWS and not self.has_rows:
            raise RunError(WITHOUT_ROWS.format(self.name))
        if digest is None:
            raise RunError(f"{self.name}: {file} is missing.")
        own = digest == self.config["files"].get(file)
        return checked_path(self.folder if own else self.beside, file, digest, self.name, "config.json")

    def frame(self, file: str) -> pd.DataFrame:
        """Return a table of the run, with the columns that `sentviz.runs.schema` declares."""
        path = self.path(file)
        try:
            with open_regular(path, most(file), file) as opened:
                frame = read_table(opened)
        except InputError as error:
            raise RunError(f"{self.name}: {error}") from error
        except (OSError, ValueError, TypeError, LookupError, NotImplementedError) as error:
            raise RunError(f"{self.name}: {file} cannot be read ({error}).") from error
        try:
            fits_table(frame, file, self.labels, may_be_empty=file == "history.parquet" and not self.config.get("steps"))
        except ValueError as error:
            raise RunError(f"{self.name}: {file} is damaged: {error}.") from error
        return frame

    def history(self) -> pd.DataFrame:
        """Return the training history: step, epoch, name, layer, component, value."""
        return self.frame("history.parquet")

    def metrics(self) -> dict[str, Any]:
        """Return the content of metrics.json: split -> metric -> {value, low, high}, and entries that belong to no split."""
        metrics: dict[str, Any] = json.loads(_metrics(self, self.digest, stamp(self.folder / "metrics.json")))
        return metrics

    def example(self) -> Trace:
        """Return the stored trace of the run's example sentence."""
        path = self.path("example.safetensors")
        try:
            return Trace.load(path).calibrated(self.calibration)
        except RunError as error:
            raise RunError(f"{self.name}: {error}") from error

    def check(self, *files: str) -> None:
        """Read some files of the run as the library does when it uses them.

        Raises:
            RunError: a file is missing or damaged.
        """
        readers = {"metrics.json": self.metrics, "example.safetensors": self.example}
        for file in files:
            if file.endswith(".parquet"):
                self.frame(file)
            else:
                readers.get(file, partial(self.path, file))()


def runs(folders: Folders = (), *, shipped_first: bool = False) -> dict[str, Run | RunError]:
    """Return every run below the roots by name; for a folder that is not a readable run, the error.

    If several folders have the same name, the one in the first root is used or, with `shipped_first`, the shipped one.
    """
    by_name: dict[str, Run | RunError] = {}
    for root in sorted(roots(folders), key=lambda root: shipped_first and root.resolve() != SHIPPED.resolve()):
        for task, group in _folders(root.resolve()):
            for name, folder in _folders(group) if task != BASES else ():
                if f"{task}/{name}" not in by_name and ".tmp-" not in name and not name.startswith("."):
                    by_name[f"{task}/{name}"] = _opened(folder, f"{task}/{name}", stamp(folder / "config.json"))
    return by_name


def _folders(parent: Path) -> list[tuple[str, Path]]:
    """Return the folders in a resolved folder, sorted by name, where they really are; none if it cannot be read."""
    try:
        with os.scandir(parent) as entries:
            folders = [(entry.name, entry.is_symlink()) for entry in entries if entry.is_dir()]
    except OSError:
        return []
    return [(name, (parent / name).resolve() if linked else parent / name) for name, linked in sorted(folders)]


@lru_cache(maxsize=4096)
def _opened(folder: Path, name: str, stamp: tuple[int, int]) -> Run | RunError:
    """Return a folder as a run, or its error. Cached until config.json changes."""
    try:
        return Run.open(folder, name)
    except RunError as error:
        return error
    except Exception as error:  # a fault of one run must not affect the others
        return RunError(f"{name}: config.json cannot be read ({type(error).__name__}).")


@lru_cache(maxsize=1024)
def _metrics(run: Run, digest: str, stamp: tuple[int, int]) -> str:
    """Return the content of a run's metrics.json after checking it. Cached until the file changes."""
    path = run.path("metrics.json")
    try:
        data = read_regular(path, most(path.name), path.name)
        metrics = parse_json(data, "metrics.json")
    except InputError as error:
        raise RunError(f"{run.name}: {error}") from error
    try:
        fits_metrics(metrics, len(run.labels), tested=run.has_rows)
    except ValueError as error:
        raise RunError(f"{run.name}: metrics.json is damaged: {error}.") from error
    return data.decode("utf-8-sig")


def find(name: str | Path, folders: Folders = ()) -> Run:
    """Return the run with a name (`sst2/ndt-unit-2`) or in a folder.

    Raises:
        RunError: the run is unknown or unreadable; the message names the most similar names.
    """
    path = Path(name)
    try:
        if (path / "config.json").exists():
            return Run.open(path)
    except OSError:  # the name is too long for a path, so it is unknown
        pass
    entry = _directly(str(name), folders) or (known := runs(folders)).get(str(name))
    if entry is None:
        raise RunError(_unknown(str(name), list(known)))
    if isinstance(entry, RunError):
        raise entry
    return entry


def _directly(name: str, folders: Folders) -> Run | RunError | None:
    """Return the run of a usual name as `runs` would, without a look at the others; None if there is no such folder."""
    if fits(RunName, name) and not name.startswith(f"{BASES}/") and ".tmp-" not in name:
        for root in roots(folders):
            if (root / name).is_dir():
                return _opened((root / name).resolve(), name, stamp(root / name / "config.json"))
    return None


def folder_for(dataset: str, out: str | Path | None = None) -> Path:
    """Return the folder for new runs on a data set: `out` or, by default, ``runs`` here; for the user's own data, the user's library."""
    if not is_own(dataset):
        return Path("runs") if out is None else Path(out)
    folder = home() / "runs" if out is None else Path(out)
    if folder.resolve().is_relative_to(SHIPPED.resolve()):
        raise InputError(f"Runs on {dataset} are private, so they cannot be stored with the shipped runs in {folder}.")
    return folder


def resume_point(folder: Path) -> Path:
    """Return the folder of the resume point of a run in training, next to the run's folder."""
    return folder.with_name(f".{folder.name}.tmp-resume")


def _unknown(name: str, known: list[str]) -> str:
    """Return the error message for a name or folder that is not a run."""
    if is_path(name):
        folder = os.path.isdir(name)  # noqa: PTH112 - pathlib raises for a path that is too long
        return f"There is no run in {name}: {'config.json is missing' if folder else 'there is no such folder'}."
    if Path(name).suffix.lower() in KINDS:
        return f"{name} is a file and not a run." if Path(name).exists() else f"There is no file {name}."
    rest = f"`sentviz catalog` lists all {len(known):,} runs, `sentviz runs list` the runs that can be fetched."
    return f"There is no run {name!r}; {nearest(name, known)}{rest}"

"""A trained run on disk: find, read, write. Needs no torch.

config.json            model, tokenizer, labels, data and digests, recipe, seed, code version, hardware, seconds, digests of the files below
model.safetensors      half precision; large matrices 8 bits a weight with a scale per row (sentviz.models.weights)
tokenizer.json
history.parquet        step, epoch, name, layer, component, value
test.parquet           split, id, label, one probability per class; never the text
embeddings.safetensors pooled vectors of a stated sample of the test split
example.safetensors    the stored trace of the run's example sentence
metrics.json           each metric with its interval and n

and, where its recipe keeps them, epochs/<number>.safetensors: the weights after an epoch, counted from 1, matrices in 8 bits;
and, where it was measured (`attach`):
epochs/<number>.measured.safetensors, .example.safetensors: a sample of rows and the example after an epoch
                       (sentviz.analysis.epochs.measured)
faithfulness.parquet   explanations against random ones (sentviz.analysis.explain.faithfulness)
heads.parquet          what each head attends to over a split, [CLS] in particular (sentviz.analysis.maps.heads)
gates.parquet          which words the gates shut over a split (sentviz.analysis.maps.gates)
components.parquet     whether components specialise (sentviz.analysis.maps.specialise)
words.parquet          counts of words per cell of the confusion matrix (sentviz.analysis.testset.word_counts)
leaders.parquet        leaders and clusters of a hardmax run over a split (sentviz.analysis.testset.leaders)
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentviz.errors import InputError, RunError, nearest
from sentviz.io.files import hold, inside, open_regular, read_regular, writing
from sentviz.io.paths import home, is_path, place
from sentviz.runs.schema import fits_config, fits_metrics, fits_table, read_table

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.runs.configs import Capabilities, ModelConfig
    from sentviz.runs.trace import Trace

Folders = str | Path | Iterable[str | Path]

SHIPPED = place("checkpoints")
FORMAT = 2  # what is written; lower ones are read as well
BASES = "bases"  # the folder of pretrained encoders beside the runs (sentviz.models.pretrained.base)
FILES = (
    "model.safetensors",
    "tokenizer.json",
    "history.parquet",
    "test.parquet",
    "embeddings.safetensors",
    "example.safetensors",
    "metrics.json",
)
EPOCH = re.compile(r"epochs/([1-9]\d*)(\.measured)?\.safetensors")
MOST = {  # bytes of a file, by its name or how its name ends
    "tokenizer.json": 1 << 26,  # that of XLM-RoBERTa has 17 MB
    ".json": 1 << 24,
    ".gz": 1 << 26,
    ".parquet": 1 << 28,
    ".safetensors": 1 << 33,
    ".onnx": 1 << 33,
}
CONFIG_MOST = 1 << 20  # bytes of config.json; those that ship have 5,000
PATIENCE = 60.0  # seconds that a table waits for another one to be stored


def version() -> str:
    """The installed version of sentviz."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sentviz")
    except PackageNotFoundError:
        return "unknown"


def roots(folders: Folders = ()) -> list[Path]:
    """Folders searched for runs: those given, those of SENTVIZ_RUNS, `runs` and `checkpoints` here, those that ship, those fetched."""
    given = [folders] if isinstance(folders, str | Path) else folders
    named = [Path(p) for p in given] + [Path(p) for p in os.environ.get("SENTVIZ_RUNS", "").split(os.pathsep) if p]
    usual = [Path("runs"), Path("checkpoints"), SHIPPED, home() / "runs"]
    found = {path.resolve(): path for path in [*named, *usual] if path.is_dir()}
    return list(found)


@dataclass(frozen=True)
class Run:
    """One run folder. Reading is strict: every accessor says in one sentence what is wrong with which file."""

    name: str
    folder: Path
    weights: str = "model.safetensors"  # the file of it that `sentviz.load` reads
    max_length: int = 0  # tokens that its model reads at most, where they are not those that it was trained on

    @classmethod
    def open(cls, folder: str | Path, name: str | None = None) -> Run:
        """A folder as a run, its configuration checked.

        Raises:
            RunError: no run there, or one of another format.
        """
        folder = Path(folder)
        run = cls(name or "/".join(folder.resolve().parts[-2:]), folder)
        _ = run.shape
        return run

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json as written."""
        data = self._config_bytes()
        try:
            config = json.loads(data)
        except (ValueError, RecursionError) as error:
            why = "its lists are nested too deeply" if isinstance(error, RecursionError) else error
            raise RunError(f"{self.name}: config.json cannot be read ({why}).") from error
        if not isinstance(config, dict) or not isinstance(config.get("format"), int):
            raise RunError(f"{self.name}: config.json was not written by sentviz (it is no table with a format).")
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
        """The shape of its model, whichever version stored it."""
        from sentviz.runs.configs import read_config

        stored = self.config["model"]
        try:
            shape = read_config(stored | {"max_length": self.max_length} if self.max_length else stored)
        except ValueError as error:
            raise RunError(f"{self.name}: config.json describes no model that this version knows ({str(error).rstrip('.')}).") from error
        if shape.classes != len(self.labels):
            raise RunError(f"{self.name}: config.json is damaged: {len(self.labels)} labels for {shape.classes} classes.")
        return shape

    @property
    def capabilities(self) -> Capabilities:
        """What its model has, for whoever decides what to offer of it."""
        return self.shape.capabilities

    @cached_property
    def digest(self) -> str:
        """Twelve hex digits that change when anything of the run changes; those of an epoch and of another length are its own."""
        other = self.weights.removeprefix("model.safetensors") + (f"@{self.max_length}" if self.max_length else "")
        return hashlib.sha256(self._config_bytes() + other.encode()).hexdigest()[:12]

    @property
    def labels(self) -> tuple[str, ...]:
        """Class names in the order of the logits."""
        return tuple(self.config["labels"])

    @property
    def configuration(self) -> str:
        """What was trained, whichever the seed: the preset's name, with the variant's behind it."""
        return str(self.config["preset"])

    @property
    def of_a_study(self) -> bool:
        """Whether its folder is named as studies name theirs, the configuration and, but for seed 0, the seed: `ndt-unit-2-s1`."""
        seed = self.config["recipe"].get("seed")
        return self.name.rpartition("/")[2] == self.configuration + (f"-s{seed}" if seed else "")

    @property
    def calibration(self) -> float:
        """The temperature that makes its probabilities honest, fitted on validation: softmax(logits / T)."""
        return float(self.config["temperature"])

    @property
    def has_weights(self) -> bool:
        """Whether it can be asked: some runs ship their history and measurements only, without weights."""
        return "model.safetensors" in self.config["files"]

    @property
    def epochs(self) -> tuple[int, ...]:
        """The epochs, counted from 1, after which its weights were kept."""
        return self._epochs(measured=False)

    @property
    def measured(self) -> tuple[int, ...]:
        """The epochs after which a sample of rows was measured (`sentviz.analysis.epochs`); the weights may be gone."""
        return self._epochs(measured=True)

    def _epochs(self, measured: bool) -> tuple[int, ...]:
        found = (EPOCH.fullmatch(file) for file in self.config["files"])
        return tuple(sorted(int(one[1]) for one in found if one and bool(one[2]) == measured))

    @property
    def keeping(self) -> str:
        """The command that trains a run like it which keeps the weights after its epochs."""
        recipe = self.config["recipe"]
        what = (
            "--hub FOLDER" if recipe.get("source") else f"--base {recipe['base']}" if recipe.get("base") else f"--model {recipe['model']}"
        )
        return f"sentviz train {recipe['dataset']} {what} --keep-epochs {recipe.get('epochs', 3)}"

    def at(self, epoch: int) -> Run:
        """The run with the weights that its model had after an epoch; what was measured of it stays that of its best state.

        Raises:
            RunError: that epoch's weights were not kept.
        """
        if epoch not in self.epochs:
            kept = f"those of {', '.join(map(str, self.epochs))} were" if self.epochs else "its recipe keeps none"
            raise RunError(f"{self.name}: the weights of epoch {epoch} were not kept; {kept}.")
        return replace(self, weights=f"epochs/{epoch}.safetensors")

    def longer(self, max_length: int) -> Run:
        """The run with a model that reads so many tokens; places beyond those that it was trained on continue the formula of the others.

        Raises:
            RunError: its positions are learned one by one, so that there are none beyond; not more tokens than it reads anyway.
        """
        trained = replace(self, max_length=0).shape.max_length
        if not self.capabilities.extends:
            raise RunError(f"{self.name} has learned a position for each of its {trained:,} places; it has none beyond.")
        if max_length < trained:
            raise RunError(f"{self.name} reads {trained:,} tokens; it can be asked to read more, not {max_length:,}.")
        return replace(self, max_length=max_length)

    def path(self, file: str) -> Path:
        """A file of the run, its digest checked.

        Raises:
            RunError: missing, or not the file that was written with this run.
        """
        wanted = self.config["files"].get(file)
        if wanted is None and file == "model.safetensors":
            raise RunError(f"{self.name} carries history and measurements only, not its weights; train it to ask it.")
        if wanted is None:
            raise RunError(f"{self.name}: {file} is missing.")
        try:
            path, digest = hashed(self.folder, file)
        except InputError as error:
            raise RunError(f"{self.name}: {error}") from error
        if digest != wanted:
            raise RunError(f"{self.name}: {file} is damaged or belongs to another run (its digest differs from config.json).")
        return path

    def frame(self, file: str) -> pd.DataFrame:
        """A table of the run, its columns as `sentviz.runs.schema` says."""
        path = self.path(file)
        try:
            with open_regular(path, most(file), file) as opened:
                frame = read_table(opened)
        except InputError as error:
            raise RunError(f"{self.name}: {error}") from error
        except (OSError, ValueError, TypeError, LookupError, NotImplementedError) as error:
            raise RunError(f"{self.name}: {file} cannot be read ({error}).") from error
        try:
            fits_table(frame, file, self.labels)
        except ValueError as error:
            raise RunError(f"{self.name}: {file} is damaged: {error}.") from error
        return frame

    def history(self) -> pd.DataFrame:
        """step, epoch, name, layer, component, value."""
        return self.frame("history.parquet")

    def metrics(self) -> dict[str, Any]:
        """metrics.json: split -> metric -> {value, low, high}, and what belongs to no split."""
        found: dict[str, Any] = json.loads(_metrics(self, self.digest, stamp(self.folder / "metrics.json")))
        return found

    def example(self) -> Trace:
        """The stored trace of the run's example sentence."""
        from sentviz.runs.trace import Trace

        path = self.path("example.safetensors")
        try:
            return Trace.load(path)
        except RunError as error:
            raise RunError(f"{self.name}: {error}") from error

    def check(self, *files: str) -> None:
        """Read some of its files as their readers do.

        Raises:
            RunError: the first that is missing or damaged.
        """
        readers = {"metrics.json": self.metrics, "example.safetensors": self.example}
        for file in files:
            if file.endswith(".parquet"):
                self.frame(file)
            else:
                readers.get(file, partial(self.path, file))()


def runs(folders: Folders = (), *, shipped_first: bool = False) -> dict[str, Run | RunError]:
    """Every run below the roots by name; a folder that is no readable run is there with its reason.

    Of several folders of a name the first root's counts; with `shipped_first` the one that ships, if one does.
    """
    found: dict[str, Run | RunError] = {}
    searched = sorted(roots(folders), key=lambda root: shipped_first and root.resolve() != SHIPPED.resolve())
    for path in (path for root in searched for path in sorted(root.glob("*/*/"), key=lambda path: path.parts)):
        name = "/".join(path.parts[-2:])
        if name in found or ".tmp-" in path.parts[-1] or path.parts[-1].startswith(".") or path.parts[-2] == BASES:
            continue
        found[name] = _opened(path.resolve(), name, stamp(path / "config.json"))
    return found


@lru_cache(maxsize=4096)
def _opened(folder: Path, name: str, stamp: tuple[int, int]) -> Run | RunError:
    """A folder as a run, or what is wrong with it, whatever that is; read again when its config.json is another."""
    try:
        return Run.open(folder, name)
    except RunError as error:
        return error
    except Exception as error:  # a fault of one run is that run's alone
        return RunError(f"{name}: config.json cannot be read ({type(error).__name__}).")


@lru_cache(maxsize=1024)
def _metrics(run: Run, digest: str, stamp: tuple[int, int]) -> str:
    """metrics.json of a run, checked; read again when it is another."""
    path = run.path("metrics.json")
    try:
        text = read_regular(path, most(path.name), path.name).decode()
        metrics = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{run.name}: metrics.json cannot be read ({error}).") from error
    try:
        fits_metrics(metrics, len(run.labels))
    except ValueError as error:
        raise RunError(f"{run.name}: metrics.json is damaged: {error}.") from error
    return text


def hashed(folder: Path, file: str) -> tuple[Path, str]:
    """Return where a file of a run or base is, and the SHA-256 of its content.

    Raises:
        InputError: it is missing or cannot be read, no regular file of the folder, or too large.
    """
    path = inside(folder, file)
    with open_regular(path, most(file), file) as opened:
        try:
            return path, hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"{file} cannot be read ({error}).") from error


def most(file: str) -> int:
    """How many bytes a file of a run may have, by its name."""
    return MOST.get(Path(file).name, MOST.get(Path(file).suffix, 1 << 26))


def stamp(path: Path) -> tuple[int, int]:
    """What changes when a file does: when it was written and its bytes; zeros where there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def find(name: str | Path, folders: Folders = ()) -> Run:
    """A run by name (`sst2/ndt-unit-2`) or by folder.

    Raises:
        RunError: unknown or unreadable; the message names the nearest names.
    """
    path = Path(name)
    try:
        if (path / "config.json").exists():
            return Run.open(path)
    except OSError:  # too long for a path: unknown all the same
        pass
    known = runs(folders)
    match known.get(str(name)):
        case Run() as run:
            return run
        case RunError() as error:
            raise error
        case _:
            raise RunError(_unknown(str(name), list(known)))


def _unknown(name: str, known: list[str]) -> str:
    """What to do about a name or folder that is no run."""
    if is_path(name):
        folder = os.path.isdir(name)  # noqa: PTH112 - pathlib raises for a path that is too long
        return f"There is no run in {name}: {'config.json is missing' if folder else 'there is no such folder'}."
    rest = f"`sentviz catalog` lists all {len(known):,}, `sentviz runs list` those that can be fetched."
    return f"There is no run {name!r} here; {nearest(name, known)}{rest}"


def write(folder: Path, config: dict[str, Any], writers: Mapping[str, Callable[[Path], object]]) -> None:
    """Write a run atomically: each file by its writer, then config.json with their digests."""
    with writing(folder) as fresh:
        for file, save in writers.items():
            (fresh / file).parent.mkdir(exist_ok=True)
            save(fresh / file)
        seal(fresh, config)


def seal(folder: Path, config: Mapping[str, Any]) -> None:
    """Write config.json beside the files of a run that is being written, with their digests and, unless it names one, the format."""
    files = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / "config.json"):
        path.chmod(0o644)
        files[path.relative_to(folder).as_posix()] = _sha256(path)
    text = json.dumps({"format": FORMAT} | dict(config) | {"files": files}, indent=1, ensure_ascii=False)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def attachable(run: Run, *files: str) -> None:
    """Whether `attach` could store files with a run, asked before they are made.

    Raises:
        RunError: its folder holds anything else (which would be lost), or may not be written.
    """
    own = {run.folder / name for name in (*run.config["files"], "config.json", *files)}
    own |= {path.parent for path in own}
    if foreign := sorted(path.relative_to(run.folder).as_posix() for path in run.folder.rglob("*") if path not in own):
        raise RunError(f"{run.name}: its folder holds {foreign[0]}, which is no part of the run; please move it elsewhere first.")
    if not all(os.access(folder, os.W_OK) for folder in (run.folder, run.folder.resolve().parent)):
        raise RunError(f"{run.name}: its folder may not be written.")


def attach(run: Run, file: str, frame: pd.DataFrame) -> Run:
    """The run with one more table, or a newer one; otherwise as `attach_files`."""
    return attach_files(run, {file: lambda path: frame.to_parquet(path, index=False, compression="zstd")})


def attach_files(run: Run, writers: Mapping[str, Callable[[Path], object]]) -> Run:
    """The run with more files, or newer ones, written atomically; what others attached in the meantime stays, its digest changes.

    Raises:
        RunError: as `attachable`; a file of the run is damaged; it was trained anew since `run` was opened; another process holds it.
    """
    try:
        with hold(folder := run.folder.resolve(), PATIENCE) as mine:
            if not mine:
                raise RunError(f"{run.name} is being written by another process.")
            now = Run.open(folder, run.name)
            attachable(now, *writers)
            if any(now.config["files"].get(name) != run.config["files"].get(name) for name in FILES):
                raise RunError(f"{run.name} was trained anew while it was measured; please measure it again.")
            files: dict[str, Callable[[Path], object]] = {name: partial(shutil.copyfile, now.path(name)) for name in now.config["files"]}
            write(folder, now.config, files | dict(writers))
    except PermissionError as error:
        raise RunError(f"{run.name}: its folder may not be written.") from error
    return Run.open(run.folder, run.name)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

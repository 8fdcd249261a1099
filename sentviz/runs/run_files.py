"""The files of a run, their digests and their largest sizes.

config.json            model, tokenizer, labels, data and digests, recipe, seed, code version, hardware, seconds, digests of the files below
model.safetensors      half precision; large matrices 8 bits a weight with a scale per row (sentviz.models.weights)
tokenizer.json
history.parquet        step, epoch, name, layer, component, value
test.parquet           split, id, label, one probability per class; never the text
embeddings.safetensors pooled vectors of a sample of the test split
example.safetensors    the stored trace of the run's example sentence
metrics.json           each metric with its interval and n

If the recipe keeps epochs: epochs/<number>.safetensors, the weights after an epoch, counted from 1, matrices in 8 bits.
After a measurement (`sentviz.runs.writing.attach`); of a shipped run in the user's library, measured/<digest of the run>:
epochs/<number>.measured.safetensors, .example.safetensors: a sample of rows and the example after an epoch
                       (sentviz.analysis.epochs)
faithfulness.parquet   explanations compared with random ones (sentviz.analysis.explain.faithfulness)
referee.parquet        explanations compared with exact values on short texts (sentviz.analysis.explain.exact_comparison)
directions.parquet     directions between the sides, taken away, and probes (sentviz.analysis.causal.direction_tables)
heads.parquet          what each head attends to over a split, [CLS] in particular (sentviz.analysis.maps.heads)
gates.parquet          words whose gates are shut over a split (sentviz.analysis.maps.gates)
components.parquet     whether components specialise (sentviz.analysis.maps.specialise)
words.parquet          counts of words per cell of the confusion matrix (sentviz.analysis.testset.word_counts)
leaders.parquet        leaders and clusters of a hardmax run over a split (sentviz.analysis.testset.leaders)

Once, the predictions of shipped runs were written anew in a smaller encoding, number for number equal. Their digests before that:
renewed.csv            before, now: digests of the run; predictions, predictions_before: SHA-256 of test.parquet
"""

from __future__ import annotations

import csv
import hashlib
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import TypedDict

from sentviz.errors import InputError, RunError
from sentviz.io.documents import read_json
from sentviz.io.files import inside, open_regular
from sentviz.io.typed import fitted
from sentviz.runs.schema import Files

FILES = (
    "model.safetensors",
    "tokenizer.json",
    "history.parquet",
    "test.parquet",
    "embeddings.safetensors",
    "example.safetensors",
    "metrics.json",
)
OF_ROWS = ("test.parquet", "embeddings.safetensors")  # files that a run without test rows does not have
EPOCH = re.compile(r"epochs/([1-9]\d*)(\.measured)?\.safetensors")
MOST = {  # maximum bytes of a file, by its name or suffix
    "tokenizer.json": 1 << 26,  # the file of XLM-RoBERTa has 17 MB
    ".json": 1 << 24,
    ".gz": 1 << 26,
    ".parquet": 1 << 28,
    ".safetensors": 1 << 33,
    ".onnx": 1 << 33,
}
CONFIG_MOST = 1 << 20  # maximum bytes of config.json; shipped ones have about 5,000


class Measured(TypedDict):
    """The entry of config.json in a folder of the user's library that is read."""

    files: Files


RENEWED = Path(__file__).with_name("renewed.csv")


def digest_of(config: bytes) -> str:
    """Return the digest of a run with these bytes of config.json, twelve hex digits."""
    return hashlib.sha256(config).hexdigest()[:12]


def checked_path(folder: Path, file: str, digest: str, owner: str, card: str, remedy: str = "") -> Path:
    """Return the path of a file of a run or base, after checking the SHA-256 of its content.

    Args:
        owner, card: for error messages: name of the run or base, and file that contains the digest.
        remedy: end of an error message: what to do.
    Raises:
        RunError: the file is missing, cannot be read, is not a regular file of the folder or is too large, or its digest differs.
    """
    try:
        path = inside(folder, file)
        with open_regular(path, most(file), file) as opened:
            current = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise RunError(f"{owner}: {file} cannot be read ({error}){remedy}.") from error
    except InputError as error:
        raise RunError(f"{owner}: {str(error).rstrip('.')}{remedy}.") from error
    if current != digest:
        raise RunError(f"{owner}: {file} is damaged or was replaced (its digest differs from {card}){remedy}.")
    return path


def most(file: str) -> int:
    """Return the maximum number of bytes of a file of a run, by its name."""
    return MOST.get(Path(file).name, MOST.get(Path(file).suffix, 1 << 26))


def stamp(path: Path) -> tuple[int, int]:
    """Return modification time and size of a file, which change if the file does; zeros if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=1024)
def measured_files(folder: Path, stamp: tuple[int, int]) -> dict[str, str]:
    """Return the measured files in a folder of the user's library and their SHA-256. Cached until config.json changes."""
    if stamp == (0, 0):
        return {}
    try:
        files = fitted(Measured, read_json(folder / "config.json", CONFIG_MOST))["files"]
    except ValueError:
        return {}  # damaged: the run can be measured again
    return {file: digest for file, digest in files.items() if file not in FILES}


@cache
def _predictions() -> dict[str, tuple[bytes, bytes]]:
    """Return the SHA-256 of test.parquet now and before by the digest of a run as it is stored now."""
    with RENEWED.open(encoding="utf-8", newline="") as file:
        return {row["now"]: (row["predictions"].encode(), row["predictions_before"].encode()) for row in csv.DictReader(file)}


def config_before(stored: str, config: bytes) -> bytes:
    """Return the bytes of config.json before the predictions of a run were written anew; empty if they never were.

    Args:
        stored: digest of the run as it is stored.
    """
    predictions, before = _predictions().get(stored, (b"", b""))
    return config.replace(predictions, before) if predictions else b""

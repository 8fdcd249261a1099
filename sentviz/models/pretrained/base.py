"""Store a pretrained encoder as a base (`sentviz.runs.bases`), and read its tokenizer and weights."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sentviz.errors import InputError, RunError
from sentviz.io.files import home, is_path, writing
from sentviz.io.files import sha256 as file_sha256
from sentviz.io.lazy import torch
from sentviz.models.pretrained.tokens import PretrainedTokenizer
from sentviz.runs.bases import CARD, FORMAT, Base, Card, bases
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.store import BASES

if TYPE_CHECKING:
    from sentviz.models.weights import Coded

MOST = 45_000_000  # maximum bytes of a file of weights
SOURCE_FILES = ("config.json", "model.safetensors", "tokenizer.json")  # files of a pretrained encoder that are read


def tokenizer_of(base: Base) -> PretrainedTokenizer:
    """Return the tokenizer of a base.

    Raises:
        RunError: it is missing or damaged, or has another vocabulary.
    """
    try:
        return PretrainedTokenizer.of_file(base.path("tokenizer.json"), base.card["settings"]["vocab_size"])
    except RunError as error:
        raise error if str(error).startswith("The base") else RunError(f"The base {base.name}: {error}") from error


def weights_of(base: Base) -> Iterator[tuple[str, torch.Tensor | Coded]]:
    """Yield the weights by the names of our encoder, one at a time, so that no weight is in memory twice.

    Raises:
        RunError: a file is missing or damaged.
    """
    from safetensors import SafetensorError, safe_open

    from sentviz.models.weights import Coded

    for file in base.card["files"]:
        if not file.endswith(".safetensors"):
            continue
        try:
            with safe_open(base.path(file), framework="pt") as stored:
                for name in stored.keys():  # noqa: SIM118
                    if name.endswith(".codes"):
                        name = name.removesuffix(".codes")
                        yield name, Coded(stored.get_tensor(f"{name}.codes"), stored.get_tensor(f"{name}.scale"))
                    elif not name.endswith(".scale"):
                        yield name, stored.get_tensor(name).float()
        except (OSError, SafetensorError) as error:
            raise RunError(f"The base {base.name}: {file} cannot be read ({error}).") from error


def source_folder(name: str | Path, revision: str = "", sha256: str = "") -> Path:
    """Return a folder in the Hugging Face layout: a path, a name below SENTVIZ_MODELS, or a name on the hub such as "user/model".

    Args:
        name: path or name of the encoder.
        revision: commit of the hub, 40 hex digits. sha256: digest of model.safetensors, 64 hex digits. Both are needed on the hub only.
    Raises:
        RunError: the hub does not have the files, or cannot be reached.
    """
    places = [Path(name), *([Path(os.environ["SENTVIZ_MODELS"]) / name] if os.environ.get("SENTVIZ_MODELS") else [])]
    for place in places:
        if (place / "config.json").is_file():
            return place
    if is_path(str(name)) or str(name).count("/") != 1:
        raise InputError(
            f"There is no pretrained encoder {str(name)!r}. Name a folder with config.json, a folder below SENTVIZ_MODELS, or an encoder of"
            " the hub as USER/MODEL."
        )
    if not (re.fullmatch("[0-9a-f]{40}", revision) and re.fullmatch("[0-9a-f]{64}", sha256)):
        raise InputError(
            f"{name} is on the hub, so its exact version is needed: --revision COMMIT with 40 hex digits, and --sha256 with the digest of"
            " model.safetensors."
        )
    return _from_hub(str(name), revision)


def _from_hub(name: str, revision: str) -> Path:
    """Return the folder of a revision of the hub, in the hub's cache; only missing files are downloaded."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError, RevisionNotFoundError

    from sentviz.models.pretrained.checkpoint import TIMEOUT, unreachable

    paths = []
    for file in SOURCE_FILES:
        try:
            paths.append(Path(hf_hub_download(name, file, revision=revision, etag_timeout=TIMEOUT)))
        except RevisionNotFoundError as error:
            raise RunError(f"{name} has no revision {revision} on the hub.") from error
        except Exception as error:  # the hub cannot be used, for many possible reasons
            if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
                raise RunError(f"{name} has no file {file} at the revision {revision}, so it cannot be a base.") from error
            raise RunError(unreachable(name, error)) from error
    return paths[0].parent


def hub_base(name: str, *, revision: str = "", sha256: str = "") -> Base:
    """Return the base of an encoder of the hub, called after its model. If it is not installed, it is made in the user's folder, in 8 bits.

    Args:
        name: name on the hub, such as "user/model". revision, sha256: as for `source_folder`.
    Raises:
        InputError, RunError: as for `add_base`, or the installed base of this name was made from another file.
    """
    short = name.rpartition("/")[2]
    if (installed := bases().get(short)) is None:
        return add_base(name, short, home() / "runs" / BASES, bits=8, revision=revision, sha256=sha256)
    if installed.card["source"] != name or sha256 not in ("", installed.card["weights_sha256"]):
        raise RunError(
            f"The installed base {short} was made from another file than this version of {name}. Remove {installed.folder} first."
        )
    return installed


def add_base(
    folder: str | Path,
    name: str,
    out: Path,
    *,
    bits: int,
    pooling: str = "mean",
    source: str = "",
    license: str = "",
    remark: str = "",
    revision: str = "",
    sha256: str = "",
) -> Base:
    """Round a pretrained encoder and store it as the base `out/<name>`.

    Args:
        folder: a folder in the Hugging Face layout (config.json, model.safetensors, tokenizer.json), its name below SENTVIZ_MODELS, or the
            name of an encoder of the hub.
        name: name of the base.
        out: folder of bases.
        bits: 8, with one scale per row, or 4, with one scale per 32 weights.
        pooling: input of a classifier on the base: "mean" over the tokens, or "cls", the first token.
        source, license, remark: origin, licence and further remarks.
        revision, sha256: as for `source_folder`. The digest is also checked for a folder.
    Raises:
        RunError: a file is missing or damaged or has another digest, or our encoder cannot compute this one.
    """
    from safetensors.torch import save_file

    from sentviz.models.pretrained.checkpoint import read_checkpoint
    from sentviz.models.weights import code, exact

    if not name or Path(name).name != name or name.startswith("."):
        raise InputError(f"A base cannot be called {name!r}. Its name must be a file name that does not begin with a dot.")
    title, folder = str(folder), source_folder(folder, revision, sha256)
    title = title if revision else folder.name
    read = read_checkpoint(folder, title=title)  # before the digest: it refuses a file without an end
    digest = file_sha256(folder / SOURCE_FILES[1])
    if sha256 and digest != sha256:
        raise RunError(f"{title}: model.safetensors has the SHA-256 {digest}, not {sha256}. It is not used.")
    settings = read.settings | {"key_width": read.settings["width"], "pooling": pooling}
    try:
        EncoderConfig(classes=2, **settings)
    except ValueError as error:
        raise InputError(f"{title} cannot be a base: {error}") from error
    tokenizer = PretrainedTokenizer.of_file(read.tokenizer, settings["vocab_size"])
    parts: list[dict[str, torch.Tensor]] = [{}]
    room = MOST
    for weight, tensor in read.weights.items():
        coded = tensor.ndim == 2 and weight.endswith(".weight") and weight != "segment.weight"
        stored = code(tensor, bits).stored(weight) if coded else {weight: exact(tensor)}
        size = sum(each.nbytes for each in stored.values())
        if size > room and parts[-1]:
            parts.append({})
            room = MOST
        room -= size
        parts[-1] |= {key: each.contiguous() for key, each in stored.items()}
    with writing(out / name) as fresh:
        tokenizer.save(fresh / "tokenizer.json")
        for i, part in enumerate(parts, start=1):
            save_file(part, path := fresh / f"weights-{i}.safetensors")
            path.chmod(0o644)
        card: Card = {
            "format": FORMAT,
            "name": name,
            "source": source or title,
            "license": license,
            "remark": remark or (f"Revision {revision} of the hub." if revision else ""),
            "weights_sha256": digest,
            "bits": bits,
            "settings": settings,
            "files": {path.name: file_sha256(path) for path in sorted(fresh.iterdir())},
        }
        (fresh / CARD).write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return Base(name, out / name)

"""The JavaScript packages of a live page, onnxruntime-web and Hugging Face's tokenizers: in the wheel or fetched once, pinned by digest."""

from __future__ import annotations

import os
import re
import tarfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sentviz.data.fetch.download import RemoteFile, fetch
from sentviz.errors import DataMissingError
from sentviz.io.paths import CARRIED, home

if TYPE_CHECKING:
    from sentviz.data.fetch.download import Progress

REGISTRY = "https://registry.npmjs.org"
_EXPORTS = re.compile(r"export\s*\{([^}]*)\}\s*;?\s*$")
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


@dataclass(frozen=True)
class Package:
    """A package of the npm registry, and the files of it that a page needs, by their names in the archive."""

    name: str
    version: str
    licence: str
    size: int  # bytes of the archive
    sha256: str
    script: str
    binary: str = ""
    terms: str = ""  # text of the licence

    @property
    def slug(self) -> str:
        """Name and version as part of a file name."""
        return f"{self.name.replace('/', '-').lstrip('@')}-{self.version}"

    @property
    def url(self) -> str:
        """Address of the archive at the registry, or at the mirror that npm_config_registry names."""
        registry = os.environ.get("npm_config_registry", "").rstrip("/") or REGISTRY  # noqa: SIM112 - npm's own spelling
        return f"{registry}/{self.name}/-/{self.name.rpartition('/')[2]}-{self.version}.tgz"


_PINNED = tomllib.loads((Path(__file__).parent / "packages.toml").read_text(encoding="utf-8"))
RUNTIME, TOKENIZERS = Package(**_PINNED["runtime"]), Package(**_PINNED["tokenizers"])


def files(package: Package, progress: Progress | None = None) -> Mapping[str, bytes]:
    """Return the files of a package by their name in the archive: those of the wheel, or of the archive in the cache, fetched once.

    Raises:
        DataMissingError: the registry cannot be reached, or sends another archive. SentvizError: the disk cannot be written.
    """
    names = [name for name in (package.script, package.binary, package.terms) if name]
    carried = {name: CARRIED / "npm" / package.slug / Path(name).name for name in names}
    if all(path.is_file() for path in carried.values()):
        return {name: path.read_bytes() for name, path in carried.items()}
    archive = home() / "npm" / f"{package.slug}.tgz"
    remote = RemoteFile(package.url, package.size, package.sha256, token=False)
    if not (archive.is_file() and remote.same(archive)):
        try:
            fetch(remote, archive, progress=progress)
        except DataMissingError as error:
            raise DataMissingError(f"A live page needs {package.name} {package.version} from {package.url}: {error}") from error
    with tarfile.open(archive) as opened:
        members = {name: opened.extractfile(name) for name in names}
        return {name: member.read() for name, member in members.items() if member is not None}


def as_script(module: str, name: str) -> str:
    """Return a module as a script that gives its exports to the page under a name.

    Raises:
        ValueError: the module does not end with a list of its exports.
    """
    code = _SOURCE_MAP.sub("", module).rstrip()
    exports = _EXPORTS.search(code)
    if exports is None:
        raise ValueError(f"The module of {name} does not end with its exports.")
    pairs = (part.split(" as ") for part in exports[1].split(",") if part.strip())
    exported = ", ".join(f"{pair[-1].strip()}: {pair[0].strip()}" for pair in pairs)
    body = code[: exports.start()].replace("import.meta.url", "document.baseURI")
    return f"globalThis.{name} = (() => {{\n{body}\nreturn {{ {exported} }}\n}})()"

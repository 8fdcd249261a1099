"""The two JavaScript packages of a live page: onnxruntime-web and the tokenizers of Hugging Face, fetched once and pinned by digest."""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sentviz.data.fetch.download import RemoteFile, fetch
from sentviz.errors import DataMissingError
from sentviz.io.paths import home

if TYPE_CHECKING:
    from sentviz.data.fetch.download import Progress

REGISTRY = "https://registry.npmjs.org"
_EXPORTS = re.compile(r"export\s*\{([^}]*)\}\s*;?\s*$")
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


@dataclass(frozen=True)
class Package:
    """A package of the npm registry, its licence, and the files of it that a page needs."""

    name: str
    version: str
    licence: str
    size: int  # bytes
    sha256: str
    script: str
    binary: str = ""

    @property
    def url(self) -> str:
        """Address of the archive at the registry, or at the mirror that npm_config_registry names."""
        registry = os.environ.get("npm_config_registry", "").rstrip("/") or REGISTRY  # noqa: SIM112 - npm's own spelling
        return f"{registry}/{self.name}/-/{self.name.rpartition('/')[2]}-{self.version}.tgz"


RUNTIME = Package(
    "onnxruntime-web",
    "1.30.0",
    "MIT",
    33_106_585,
    "d2228df7e4616bc3348bf504ee888f3bec43789a273f0a63f3e68d203ce3bf71",
    "package/dist/ort.wasm.bundle.min.mjs",
    "package/dist/ort-wasm-simd-threaded.wasm",
)
TOKENIZERS = Package(
    "@huggingface/tokenizers",
    "0.2.0",
    "Apache-2.0",
    87_011,
    "2800014c83b8186b2e4210c20672f1fb65a12cef85d7e95e0f2003e022611b4a",
    "package/dist/tokenizers.min.mjs",
)


def files(package: Package, progress: Progress | None = None) -> Mapping[str, bytes]:
    """Return the files of a package by their name in the archive. The archive is fetched if it is not in the cache.

    Raises:
        DataMissingError: the registry cannot be reached, or sends another archive. SentvizError: the disk cannot be written.
    """
    archive = home() / "npm" / f"{package.name.replace('/', '-').lstrip('@')}-{package.version}.tgz"
    remote = RemoteFile(package.url, package.size, package.sha256, token=False)
    if not (archive.is_file() and remote.same(archive)):
        try:
            fetch(remote, archive, progress=progress)
        except DataMissingError as error:
            raise DataMissingError(f"A live page needs {package.name} {package.version} from {package.url}: {error}") from error
    with tarfile.open(archive) as opened:
        members = {name: opened.extractfile(name) for name in (package.script, package.binary) if name}
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

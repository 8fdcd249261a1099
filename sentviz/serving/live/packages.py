"""The JavaScript packages of a live page, onnxruntime-web and Hugging Face's tokenizers: in the wheel or fetched once."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping

from sentviz.data.fetch.download import Progress, RemoteFile, fetch
from sentviz.errors import DataMissingError
from sentviz.io.paths import CARRIED, home
from sentviz.serving.live.pinned import Package

_EXPORTS = re.compile(r"export\s*\{([^}]*)\}\s*;?\s*$")
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


def files(package: Package, progress: Progress | None = None) -> Mapping[str, bytes]:
    """Return the files of a package by their name in the archive: those of the wheel, or of the archive in the cache, fetched once.

    Raises:
        DataMissingError: the registry cannot be reached, or sends another archive. SentvizError: the disk cannot be written.
    """
    carried = {name: CARRIED / path for name, path in package.files.items()}
    if all(path.is_file() for path in carried.values()):
        return {name: path.read_bytes() for name, path in carried.items()}
    archive = package.archive(home())
    remote = RemoteFile(package.url, package.size, package.sha256, token=False)
    if not (archive.is_file() and remote.same(archive)):
        try:
            fetch(remote, archive, progress=progress)
        except DataMissingError as error:
            raise DataMissingError(f"A live page needs {package.name} {package.version} from {package.url}: {error}") from error
    with tarfile.open(archive) as opened:
        members = {name: opened.extractfile(name) for name in package.files}
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

"""Put the files of the npm packages that live pages need into a wheel: from the cache or from the registry, checked by their digests."""

from __future__ import annotations

import hashlib
import io
import os
import runpy
import tarfile
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from sentviz.serving.live.pinned import Package

ROOT = Path(__file__).parents[3]


class LivePages(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the files. Without a registry the wheel is built without them, and the first live page fetches them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files to the build folder and name them."""
        if version == "editable":
            return
        pinned = runpy.run_path(str(Path(__file__).with_name("pinned.py")))  # sentviz cannot be imported while its wheel is built
        for package in (pinned["RUNTIME"], pinned["TOKENIZERS"]):
            try:
                content = archive(package)
            except OSError as error:
                self.app.display_warning(f"{package.name} {package.version} is not in this wheel ({error}); live pages fetch it.")
                continue
            with tarfile.open(fileobj=io.BytesIO(content)) as opened:
                for member, path in package.files.items():
                    target = ROOT / "build" / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(opened.extractfile(member).read())  # type: ignore[union-attr]
                    build_data["force_include"][str(target)] = f"sentviz/_wheel/{path}"


def archive(package: Package) -> bytes:
    """Return the archive of a package.

    Raises:
        OSError: the registry cannot be reached, or sends another archive.
    """
    cached = package.archive(Path(os.environ.get("SENTVIZ_HOME") or Path.home() / ".cache" / "sentviz"))
    if cached.is_file() and same(content := cached.read_bytes(), package):
        return content
    with urllib.request.urlopen(package.url, timeout=60) as answer:
        content = bytes(answer.read())
    if not same(content, package):
        raise OSError(f"{package.url} is not the announced file: its digest differs")
    return content


def same(content: bytes, package: Package) -> bool:
    """Return whether an archive has the announced digest."""
    return hashlib.sha256(content).hexdigest() == package.sha256

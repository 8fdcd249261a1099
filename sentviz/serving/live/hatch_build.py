"""Put the files of the npm packages that live pages need into a wheel: from the cache or from the registry, checked by their digests."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[3]


class LivePages(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the files. Without a registry the wheel is built without them, and the first live page fetches them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files to the build folder and name them."""
        if version == "editable":
            return
        pinned = tomllib.loads((Path(__file__).with_name("packages.toml")).read_text(encoding="utf-8"))
        for package in pinned.values():
            slug = f"{package['name'].replace('/', '-').lstrip('@')}-{package['version']}"
            try:
                content = archive(package, slug)
            except OSError as error:
                self.app.display_warning(f"{package['name']} {package['version']} is not in this wheel ({error}); live pages fetch it.")
                continue
            with tarfile.open(fileobj=io.BytesIO(content)) as opened:
                for member in filter(None, (package.get(part) for part in ("script", "binary", "terms"))):
                    target = ROOT / "build" / "npm" / slug / Path(member).name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(opened.extractfile(member).read())  # type: ignore[union-attr]
                    build_data["force_include"][str(target)] = f"sentviz/_wheel/npm/{slug}/{target.name}"


def archive(package: dict[str, Any], slug: str) -> bytes:
    """Return the archive of a package.

    Raises:
        OSError: the registry cannot be reached, or sends another archive.
    """
    cached = Path(os.environ.get("SENTVIZ_HOME") or Path.home() / ".cache" / "sentviz") / "npm" / f"{slug}.tgz"
    if cached.is_file() and same(content := cached.read_bytes(), package):
        return content
    registry = os.environ.get("npm_config_registry", "").rstrip("/") or "https://registry.npmjs.org"  # noqa: SIM112 - npm's own spelling
    url = f"{registry}/{package['name']}/-/{package['name'].rpartition('/')[2]}-{package['version']}.tgz"
    with urllib.request.urlopen(url, timeout=60) as answer:
        content = bytes(answer.read())
    if not same(content, package):
        raise OSError(f"{url} is not the announced file: its digest differs")
    return content


def same(content: bytes, package: dict[str, Any]) -> bool:
    """Return whether an archive has the announced digest."""
    return hashlib.sha256(content).hexdigest() == str(package["sha256"])

"""The npm packages of a live page as `packages.toml` names them. The build of a wheel runs this file alone: standard library only."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

REGISTRY = "https://registry.npmjs.org"


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

    @property
    def files(self) -> dict[str, str]:
        """Name of each file in a wheel, by its name in the archive."""
        return {name: f"npm/{self.slug}/{Path(name).name}" for name in (self.script, self.binary, self.terms) if name}

    def archive(self, home: Path) -> Path:
        """Return the path of the archive in a cache folder."""
        return home / "npm" / f"{self.slug}.tgz"


_PINNED = tomllib.loads((Path(__file__).parent / "packages.toml").read_text(encoding="utf-8"))
RUNTIME, TOKENIZERS = Package(**_PINNED["runtime"]), Package(**_PINNED["tokenizers"])

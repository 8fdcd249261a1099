"""One small model of each architecture."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from sentviz.data.lexicon import Lexicon

collect_ignore_glob = [] if find_spec("transformers") else ["test_*.py"]  # they need the extra hub


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    import transformers

    transformers.utils.logging.disable_progress_bar()
    yield
    transformers.utils.logging.enable_progress_bar()


class Folders(dict[str, Path]):
    """A model folder for each architecture, made when a test first asks for it."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root

    def __missing__(self, kind: str) -> Path:
        from tests.foreign.models import saved

        self[kind] = saved(self.root / kind, kind)
        return self[kind]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a model folder for each architecture. Copy it before you change it."""
    return Folders(tmp_path_factory.mktemp("hub"))


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    terms = {"warm": 3.0, "clever": 1.5, "dull": -2.5, "cold": -1.0, "정말": 2.0, "따뜻하고": 3.0, "지루해서": -3.0, "garden": 0.5}
    return Lexicon.of("own", pd.DataFrame({"term": list(terms), "polarity": list(terms.values())}))

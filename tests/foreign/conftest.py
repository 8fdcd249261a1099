"""One small model of each architecture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from sentviz.data.lexicon import Lexicon


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    import transformers

    transformers.utils.logging.disable_progress_bar()
    yield
    transformers.utils.logging.enable_progress_bar()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make a model folder for each architecture."""
    from tests.foreign.models import KINDS, saved

    root = tmp_path_factory.mktemp("hub")
    return {kind: saved(root / kind, kind) for kind in KINDS}


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    terms = {"warm": 3.0, "clever": 1.5, "dull": -2.5, "cold": -1.0, "정말": 2.0, "따뜻하고": 3.0, "지루해서": -3.0, "garden": 0.5}
    return Lexicon.of("own", pd.DataFrame({"term": list(terms), "polarity": list(terms.values())}))

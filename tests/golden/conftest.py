"""The small world of the stored figures and pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.golden.make import RUNS
from tests.injected import use_injected_data, write_lexicon


@pytest.fixture(scope="module")
def small_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The runs of this folder are found first, and the made-up set is the only data set."""
    data = tmp_path_factory.mktemp("data")
    write_lexicon(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_DATA", str(data))
        patch.setenv("SENTVIZ_RUNS", str(RUNS))
        use_injected_data(patch)
        yield

"""Work on a model can be stopped before each batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest

from sentviz.analysis.explain import SCORES, explained, supported
from sentviz.analysis.explain.counterfactual import smallest_flip
from sentviz.errors import Stopped
from sentviz.models import model as models
from sentviz.models.model import Model
from tests.kit import small_model
from tests.shipped import often

TEXT = "what a warm, clever song we saw"
ASKING = [
    name for name, how in SCORES.items() if how.ask is not None and not how.package and name != "sentences"
]  # the text is one sentence


def scored(name: str, model: Model) -> object:
    """Compute one score of the text."""
    return explained(model, model.trace(TEXT), [name])


WORK: dict[str, Callable[[Model], object]] = {
    "predict": lambda model: model.predict([TEXT] * 3),
    "evidence": lambda model: supported(model, model.trace(TEXT), {}),
    "flip": lambda model: smallest_flip(model, model.trace(TEXT), drawn=3),
} | {name: partial(scored, name) for name in ASKING}


@pytest.mark.parametrize("name", often(WORK, "predict", "flip", "removal", "integrated-gradients", "value-zeroing"))
def test_a_check_comes_before_every_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check runs before each pass of one text; an exception in it ends the work, and the model stays unchanged."""
    monkeypatch.setattr("sentviz.models.batches.TOKENS_PER_BATCH", 1)
    monkeypatch.setattr(models.by_length, "__defaults__", (1,))
    model = small_model(components=2, mixing="free")
    log: list[str] = []
    model.network.get_submodule("blocks.0").register_forward_pre_hook(lambda *_: log.append("batch"))
    WORK[name](model.stoppable(lambda: log.append("check")))
    assert log.count("batch") >= 2
    assert all(before == "check" for before, now in pairwise(log) if now == "batch") and log[0] == "check"
    last = log.count("check")
    log.clear()

    def stop() -> None:
        log.append("check")
        if len(log) - log.count("batch") == last:
            raise Stopped

    with pytest.raises(Stopped):
        WORK[name](model.stoppable(stop))
    assert log[-1] == "check" and model.predict([TEXT])["label"].notna().all()

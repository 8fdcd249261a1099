"""`python -m tests.golden.make`: train and measure the three small runs of `tests/golden/runs` anew.

After it, every stored figure changes: `pytest tests/golden --bless` writes them.
"""

import shutil
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.training import train
from tests.injected import LEXICON, use_injected_data, write_lexicon
from tests.kit import hardmax_recipe, toy_recipe

FOLDER = Path(__file__).parent
RUNS = FOLDER / "runs"
MEASUREMENTS = {
    "toy/ndt-unit-2-epochs": ("heads", "specialise", "faithfulness", "referee", "directions", "words"),
    "toy/cls-last-scaled-gated-aware": ("heads", "gates"),
    "toy/hardmax-d2": ("leaders",),
}


def recipes() -> None:
    """Train the three runs into `RUNS`."""
    train(toy_recipe(variant="epochs", keep_epochs=3), RUNS, progress=False)
    train(toy_recipe("cls-last-scaled-gated-aware", lexicon=LEXICON, cls=True, epochs=3, max_length=24), RUNS, progress=False)
    train(hardmax_recipe(), RUNS, progress=False)


def make() -> None:
    """Replace the stored runs."""
    shutil.rmtree(RUNS, ignore_errors=True)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as data:
        write_lexicon(Path(data))
        patch.setenv("SENTVIZ_DATA", data)
        use_injected_data(patch)
        recipes()
        for name, commands in MEASUREMENTS.items():
            for command in commands:
                done = CliRunner().invoke(main, [command, str(RUNS / name)])
                if done.exit_code:
                    raise SystemExit(f"{command} {name}: {done.output}")


if __name__ == "__main__":
    make()

"""Files of texts to score, the command that scores them, and its output as tests read it."""

import json
from pathlib import Path

import pandas as pd
from click.testing import CliRunner, Result

from sentviz.cli import main
from tests.kit import BAD, GOOD, NOUNS

TEXTS = [f"the {noun} was {good} and {bad}" for noun in NOUNS for good in GOOD[:3] for bad in BAD[:3]]


def written_files(folder: Path) -> Path:
    """Write a file of each kind into a new folder and return it; some of the rows cannot be read."""
    (folder / "deep").mkdir(parents=True)
    frame = pd.DataFrame({"n": range(len(TEXTS)), "review": TEXTS, "label": ["Negative", "1", "odd"] * 15})
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_csv(folder / "b.tsv", index=False, sep="\t")
    frame.to_parquet(folder / "deep" / "c.parquet", index=False, row_group_size=7)
    lines = [json.dumps({"review": text, "label": 0}) for text in TEXTS[:5]] + [
        "no JSON",
        "[1]",
        '{"n": 1}',
        '{"review": 3}',
        '"a warm song"',
    ]
    (folder / "d.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "left.md").write_text("of no kind that is read")
    return folder


def table(folder: Path) -> pd.DataFrame:
    """Return the output as pandas reads it."""
    return pd.read_parquet(folder)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return every file of an output."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def command(*arguments: object) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, list(map(str, arguments)))

"""Verbs about what is there: the runs, and the verdicts on the claims of papers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from sentviz.errors import InputError
from sentviz.io.arguments import Arg
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.verbs.door import Result, verb


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame for JSON; None for missing values."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]


@dataclass(frozen=True, eq=False)
class Table(Result):
    """A table, and the lines that show it."""

    frame: pd.DataFrame
    lines: tuple[str, ...]
    SAVES: ClassVar[tuple[str, ...]] = (".csv",)

    def text(self) -> str:
        """Return the lines."""
        return "\n".join(self.lines)

    def json(self) -> dict[str, Any]:
        """Return the rows."""
        return {"rows": records(self.frame)}

    def save(self, path: Path) -> str:
        """Write the table as CSV."""
        from sentviz.io.spreadsheet import write_csv

        return f"Written to {write_csv(path, self.frame)}"


@verb("Model", remote=True)
def catalog(
    *,
    folders: Annotated[tuple[Path, ...], Arg("Further folder of runs. May be repeated.", flags=("--folder",), local=True)] = (),
) -> Table:
    """List all available runs with accuracy, size and seed."""
    from sentviz.runs.catalog import catalog as read

    frame = read(folders)
    if frame.empty:
        return Table(frame, ("No runs are available. `sentviz train sst2` trains one, `sentviz runs get` fetches shipped runs.",))
    lines = [f"{'run':<36}{'accuracy':>9}  {'95 % interval':<15}{'n':>8}{'parameters':>12}  seed"]
    for row in frame[frame["problem"].fillna("") == ""].to_dict("records"):
        spread = f"{percent(row['low'], 2)} - {percent(row['high'], 2)}"
        numbers = f"{int(row['n']):>6,}{int(row['parameters']):>12,}  {int(row['seed'])}"
        lines.append(f"{row['run']:<36}{percent(row['accuracy'], 2):>9}  {spread:<17}{numbers}")
    lines += [f"! {problem}" for problem in frame["problem"].fillna("") if problem]
    return Table(frame.drop(columns="problem"), tuple(lines))


@verb("Papers", remote=True)
def verdict(
    words: Annotated[str, Arg("Words of the claim, its key, or the name of a paper; by default all claims.", example="lambda")] = "",
) -> Table:
    """Look up the stored verdicts on claims of papers, measured on the shipped runs, with their evidence.

    A claim holds, fails, is open, or cannot be judged. No test is run.
    """
    from sentviz.analysis.claim import VERDICT_WORDS
    from sentviz.papers.studies.claims import judged
    from sentviz.papers.studies.verdicts import stored_findings

    frame = judged((), known=stored_findings())
    columns = ["paper", "key", "claim", "on", "where", "kind", "verdict", "evidence"]
    frame = frame[columns].assign(verdict=frame["verdict"].map(VERDICT_WORDS))
    named = frame["paper"].str.lower() + " " + frame["key"] + " " + frame["claim"].str.lower()
    for word in words.lower().split():
        frame = frame[named.reindex(frame.index).str.contains(word, regex=False)]
    if frame.empty:
        raise InputError(f"No claim has the words {words[:80]!r}. Without words, all claims are listed.")
    lines = [
        f"{row['verdict']}: {row['paper']}, {row['where']}: {row['claim']}{f' ({on})' if (on := row['on']) else ''}\n  {row['evidence']}"
        for row in frame.to_dict("records")
    ]
    return Table(frame.reset_index(drop=True), tuple(lines))

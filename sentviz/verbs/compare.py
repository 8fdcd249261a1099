"""The verb `compare`: which source of predictions is right more often on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sentviz.io.arguments import Arg
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent, signed
from sentviz.verbs.door import Result, verb
from sentviz.verbs.shelf import records
from sentviz.verbs.sources import Classes, LabelColumn, Labels, Own, Partial, Scale, TextColumn, own_model

if TYPE_CHECKING:
    from sentviz.analysis.testset.comparison import Comparison as Compared
    from sentviz.charts.figure import Figure


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Sources of predictions beside each other."""

    of: Compared
    SAVES: ClassVar[tuple[str, ...]] = (".html", ".pdf")

    @property
    def remarks(self) -> tuple[str, ...]:  # type: ignore[override]
        """Sentences on rows and sources that were left out."""
        from sentviz.charts.text import visible

        return tuple(map(visible, self.of.remarks))

    def chart(self) -> Figure:
        """Return the accuracies with their intervals, and the differences from the best."""
        from sentviz.charts.gallery import make
        from sentviz.charts.subjects import Answers

        return make("comparison", Answers.of(*(rows for each in self.of.candidates for rows in each.trainings)))

    @property
    def frame(self) -> pd.DataFrame:
        """One row per source, the best first."""
        return self.of.table

    def text(self) -> str:
        """Return the verdict, a table of the sources, and where they differ."""
        from sentviz.charts.text import visible
        from sentviz.export.comparison import differences

        of = self.of
        width = max(len(each.title) for each in of.candidates) + 2
        lines = [visible(of.headline), visible(of.method), ""]
        lines.append(f"{'':<{width}}{'accuracy':>9}  {'95 % interval':<17}{'points behind, interval':<28}{'p':>6}")
        for each, row in zip(of.ranked, of.table.to_dict("records"), strict=True):
            behind = signed(100 * row["behind"], ends=(100 * row["behind_low"], 100 * row["behind_high"]))
            p = "<0.001" if row["p"] < 0.001 else f"{row['p']:.3f}"
            compared = "best" if each is of.best else f"{behind:<28}{p:>6}"
            ends = f"{percent(row['low'], 2)} - {percent(row['high'], 2)}"
            lines.append(f"{visible(each.title):<{width}}{percent(row['accuracy'], 2):>9}  {ends}  {compared}")
        lines += [f"{visible(name)}: {rate:,.0f} rows per second on this machine" for name, rate in of.speeds.items()]
        return "\n".join([*lines, "", *map(visible, differences(of))])

    def json(self) -> dict[str, Any]:
        """Return the verdict in words, how it was found, and the table."""
        return {
            "headline": self.of.headline,
            "method": self.of.method,
            "sources": [{"source": each.title} | row for each, row in zip(self.of.ranked, records(self.of.table), strict=True)],
            "rows per second": dict(self.of.speeds),
        }

    def save(self, path: Path) -> str:
        """Write a report on one page."""
        from sentviz.export.comparison import save

        return f"Written to {save(self.of, path)}"


@verb("Rows", remote=True)
def compare(
    sources: Annotated[
        tuple[str, ...], Arg("Runs, or models whose predictions the file of --data has.", metavar="source", several=6, run=True)
    ] = (),
    *,
    data: Annotated[
        str,
        Arg("File or data set (mine/NAME) whose rows are predicted; default: the rows stored with the runs.", local=True),
    ] = "",
    split: Annotated[str, Arg("Split of the data set or of the stored rows; demo: the demo set.")] = "test",
    seeds: Annotated[bool, Arg("Take all installed seeds of a configuration together.")] = True,
    text: TextColumn = "",
    label: LabelColumn = "",
    speed: Annotated[bool, Arg("Also measure the rows per second of each model on this machine, on 64 rows.", local=True)] = False,
    model: Own = "",
    classes: Classes = "",
    labels: Labels = "",
    scale: Scale = "",
    partial: Partial = False,
) -> Comparison:
    """Compare two to six SOURCES on the same rows: which is right more often, by how much, and how certain that is.

    A SOURCE is a run, or a model whose predictions the file of --data has in its columns. With --data FILE only, all models of the file
    are compared. --model adds a black box of your own code.
    """
    from sentviz.analysis.testset.compare import compare as compared
    from sentviz.data.labels import Reading

    own = [own_model(model, classes)] if model else []
    reading = Reading.of(classes.split(","), labels, scale, partial)
    result = compared(
        *sources,
        *own,
        data=data or None,
        split=split,
        seeds=seeds,
        classes=reading.classes,
        text=text,
        label=label,
        labels=dict(reading.labels),
        scale=scale,
        partial=partial,
        speed=speed,
    )
    return Comparison(result)

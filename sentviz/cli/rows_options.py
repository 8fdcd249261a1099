"""The sources of a command: its answers come from RUN or --model, its rows from the run or --data.

`--model package.module:object` imports the module and takes the object; `--model FOLDER` opens a folder in the layout of Hugging Face.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click

from sentviz.errors import InputError
from sentviz.io.foreign import contained

if TYPE_CHECKING:
    from sentviz.data.datasets import Split
    from sentviz.data.labels import Reading
    from sentviz.models.model import Model
    from sentviz.runs.store import Run


@dataclass(frozen=True)
class Given:
    """The options of a command that say where answers and rows come from."""

    run: str
    model: str = ""
    classes: str = ""
    data: str = ""
    text: str = ""
    label: str = ""
    reading: Reading | None = None

    def answers(self) -> Run:
        """Return the run, or the model of --model in its place.

        Raises:
            UsageError: both or none are given. SentvizError: it cannot be opened.
        """
        if bool(self.model) == bool(self.run):
            raise click.UsageError("Give a RUN, or your own model with --model.")
        if not self.model:
            from sentviz.runs.store import find

            if self.classes:
                raise click.UsageError("--classes names the classes of --model; a RUN has its own.")
            return find(self.run)
        from sentviz.models.in_memory import OpenModel

        return OpenModel.of(own_model(self.model, self.classes))

    def rows(self, of: Run, split: str, needed: bool = True) -> Split:
        """Return the rows of --data, with labels numbered as the classes of the run or model, and print the remarks on them.

        Args:
            needed: whether labels are needed; if not, rows whose labels are not known to be classes are taken without them.
        """
        from sentviz.data.rows_argument import rows_of

        if not self.data:
            raise click.UsageError("A model of yours has no rows: name a data set or a file with --data.")
        options = {"text": self.text, "label": self.label, "reading": self.reading}
        rows, remarks = rows_of(self.data, split, of.labels, of.name, **options, needed=needed)  # type: ignore[arg-type]
        for remark in remarks:
            click.echo(f"! {remark}", err=True)
        return rows


def given_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add RUN, --model, --classes, --data, --text, --label and how labels are read to a command, which gets them as `Given`."""

    @wraps(function)
    def with_given(
        run: str | None, model_name: str, classes: str, data: str, text: str, label: str, reading: Reading, **options: Any
    ) -> Any:
        return function(Given(run or "", model_name, classes, data, text, label, reading), **options)

    decorated: Callable[..., Any] = with_given
    for option in (
        reading_options,
        click.option("--label", default="", help="Column of a file's labels; by default it is guessed."),
        click.option("--text", default="", help="Column of a file's texts; by default it is guessed."),
        click.option("--data", default="", metavar="DATASET_OR_FILE", help="Data set, or file with texts and labels; default: the run's."),
    ):
        decorated = option(decorated)
    return click.argument("run", required=False)(own_model_options(decorated))


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --labels, --scale and --partial to a command with --classes, which gets them as the `Reading` of a file's labels."""

    @wraps(function)
    def with_reading(classes: str, labels: str, scale: str, partial: bool, **options: Any) -> Any:
        from sentviz.data.labels import Reading

        return function(classes=classes, reading=Reading.of(classes.split(","), labels, scale, partial), **options)

    for option in (
        click.option("--partial", is_flag=True, help="Print numbers although more than 2 % of the file's rows are left out."),
        click.option("--scale", default="", help="Scale of a file's column of numbers: probability, percent, logit or confidence."),
        click.option("--labels", default="", metavar="LABEL=CLASS,...", help="Class of each label of a file, as in 1=negative,2=positive."),
    ):
        with_reading = option(with_reading)
    return with_reading


def own_model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --model and --classes to a command."""
    function = click.option(
        "--classes", default="", help="Class names of --model, or of a file, in their order, for example negative,positive."
    )(function)
    return click.option(
        "--model",
        "model_name",
        default="",
        metavar="MODULE:OBJECT|FOLDER",
        help="Your own model instead of RUN: an object with predict_proba or a function of a list of texts, whose module is imported, or a"
        " Hugging Face folder.",
    )(function)


def own_model(name: str, classes: str) -> Model:
    """Open a model's folder, or an object by its name, `package.module:object`, whose module is imported, also from the current folder."""
    from sentviz.io.files import is_path
    from sentviz.models.folder import is_model_folder, look_at
    from sentviz.models.loading import load

    labels = _names(classes)
    if is_model_folder(name):
        return load(name, classes=labels)
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        if Path(name).is_dir():
            look_at(name)
        missing = f"; there is no folder {name}" if is_path(name) else ""
        raise InputError(f"--model takes package.module:object or the folder of a model, not {name!r}{missing}.")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    try:
        with contained(name):
            source = resolve_name(name)
    except Exception as error:  # code of the user may raise anything while it is imported
        message = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(f"{name} cannot be imported ({type(error).__name__}: {message}).") from error
    return load(source, classes=labels)


def _names(classes: str) -> Sequence[str]:
    return [label.strip() for label in classes.split(",") if label.strip()]

"""Sources of a verb: answers come from a run or a model of the user, rows from the run, a data set or a file.

`--model package.module:object` imports the module and takes the object; `--model FOLDER` opens a folder in the layout of Hugging Face.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Self

from sentviz.errors import InputError
from sentviz.io.arguments import Arg
from sentviz.io.foreign import contained
from sentviz.verbs.door import OptionError

if TYPE_CHECKING:
    from sentviz.data.datasets import Split
    from sentviz.data.labels import Reading
    from sentviz.models.model import Model
    from sentviz.runs.store import Run

RunName = Annotated[str, Arg("Name of a run, as `sentviz catalog` and GET /runs list it.", size=100, run=True, example="sst2/ndt-unit-2")]
Classes = Annotated[
    str, Arg("Class names of --model, or of a file, in their order, for example negative,positive.", local=True, metavar="TEXT")
]
Own = Annotated[
    str,
    Arg(
        "Your own model instead of RUN: an object with predict_proba or a function of a list of texts, whose module is imported, or a"
        " Hugging Face folder.",
        metavar="MODULE:OBJECT|FOLDER",
        local=True,
    ),
]
TextColumn = Annotated[str, Arg("Column of a file's texts; by default it is guessed.", local=True)]
LabelColumn = Annotated[str, Arg("Column of a file's labels; by default it is guessed.", local=True)]
Labels = Annotated[str, Arg("Class of each label of a file, as in 1=negative,2=positive.", metavar="LABEL=CLASS,...", local=True)]
Scale = Annotated[str, Arg("Scale of a file's column of numbers: probability, percent, logit or confidence.", local=True)]
Partial = Annotated[bool, Arg("Print numbers although more than 2 % of the file's rows are left out.", local=True)]
SplitName = Annotated[str, Arg("Split of the run's data set.")]
Seed = Annotated[int, Arg("Seed of everything random.", least=0)]


@dataclass(frozen=True)
class StoredRun:
    """A run by its name or folder."""

    run: RunName
    _: KW_ONLY
    opened: Any = field(default=None, repr=False, compare=False)  # (run, model), if they are open already

    @classmethod
    def of(cls, source: Any) -> Self:
        """Return a source as it is; a name, a `Run`, a model that `sentviz.load` returned or takes becomes one."""
        from sentviz.models.folder import is_model_folder
        from sentviz.models.in_memory import OpenModel
        from sentviz.models.loading import load
        from sentviz.models.model import Model
        from sentviz.runs.store import Run

        if isinstance(source, cls):
            return source
        if isinstance(source, StoredRun):  # The verb takes fewer arguments, or more.
            return cls(**{field.name: getattr(source, field.name) for field in fields(cls) if hasattr(source, field.name)})
        if isinstance(source, str | Path) and not is_model_folder(source):
            return cls(str(source))
        run = source if isinstance(source, Run) else OpenModel.of(source if isinstance(source, Model) else load(source))
        return cls(run.name, opened=(run, load(run)))

    def answers(self) -> Run:
        """Return the run, or the model of the user in its place.

        Raises:
            OptionError: both or none are given. SentvizError: it cannot be opened.
        """
        from sentviz.runs.store import find

        run: Run = self.opened[0] if self.opened else find(self.run)
        return run

    def open(self) -> tuple[Run, Model]:
        """Return the run, or the model in its place, and the opened model."""
        from sentviz.models.loading import load

        return self.opened or (run := self.answers(), load(run))


@dataclass(frozen=True)
class Source(StoredRun):
    """A run by its name or folder, or a model of the user."""

    run: RunName = ""
    _: KW_ONLY
    model: Own = ""
    classes: Classes = ""

    def answers(self) -> Run:
        """Return the run, or the model of the user in its place, as `StoredRun.answers`."""
        if self.opened is None and bool(self.model) == bool(self.run):
            raise OptionError("Give a RUN, or your own model with --model.")
        if not self.model:
            if self.classes:
                raise OptionError("--classes names the classes of --model; a RUN has its own.")
            return super().answers()
        from sentviz.models.in_memory import OpenModel

        return OpenModel.of(own_model(self.model, self.classes))


@dataclass(frozen=True)
class SourceOfRows(Source):
    """A source of answers, and where the rows come from: by default from the run's own data set."""

    _: KW_ONLY
    data: Annotated[str, Arg("Data set, or file with texts and labels; default: the run's.", metavar="DATASET_OR_FILE", local=True)] = ""
    text: TextColumn = ""
    label: LabelColumn = ""
    labels: Labels = ""
    scale: Scale = ""
    partial: Partial = False

    @cached_property
    def reading(self) -> Reading:
        """The choices of the user for the labels of a file."""
        from sentviz.data.labels import Reading

        return Reading.of(self.classes.split(","), self.labels, self.scale, self.partial)

    @property
    def is_own(self) -> bool:
        """Return whether rows or answers are not those of a stored run."""
        return bool(self.data or self.model)

    def rows(self, of: Run, split: str, needed: bool = True) -> tuple[Split, tuple[str, ...]]:
        """Return the rows of --data, with labels numbered as the classes of the run or model, and the remarks on them.

        Args:
            needed: whether labels are needed; if not, rows whose labels are not known to be classes are taken without them.
        """
        from sentviz.data.rows_argument import rows_of

        if not self.data:
            raise OptionError("A model of yours has no rows: name a data set or a file with --data.")
        return rows_of(self.data, split, of.labels, of.name, text=self.text, label=self.label, reading=self.reading, needed=needed)


def own_model(name: str, classes: str) -> Model:
    """Open a model's folder, or an object by its name, `package.module:object`, whose module is imported, also from the current folder."""
    from sentviz.io.files import is_path
    from sentviz.models.folder import is_model_folder, look_at
    from sentviz.models.loading import load

    labels = names(classes)
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


def names(classes: str) -> Sequence[str]:
    """Return the class names of an option, which commas separate."""
    return [label.strip() for label in classes.split(",") if label.strip()]

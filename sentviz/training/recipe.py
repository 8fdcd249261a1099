"""A recipe: everything that decides a training run, in one TOML file."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sentviz.errors import InputError, RunError
from sentviz.io.files import read_regular, restored
from sentviz.runs.configs import HardmaxConfig
from sentviz.runs.presets import check_shape, find_preset, on_base, variant_changes
from sentviz.runs.registry import papers
from sentviz.runs.store import Run

SELECTIONS = ("accuracy", "loss", "f1_macro", "f1_positive")
SCHEDULES = ("cosine", "linear", "constant")
PRECISIONS = ("auto", "fp32", "bf16")


@dataclass(frozen=True)
class Recipe:
    """One run's data, model and training. The NDT paper prints neither heads, length, batch, rate nor epochs: these are ours.

    A stored recipe may be older: a setting that it lacks takes the default, which therefore always means *as before*.
    """

    dataset: str
    model: str = "vanilla-matched"  # a preset of sentviz.runs.presets
    folder: str = ""  # the first part of the run's name; "" = the data set
    variant: str = ""  # key of `sentviz.runs.presets.VARIANTS`; the settings below hold what it changed
    seed: int = 0
    example: str = ""  # the sentence whose trace ships with the run
    example_pair: str = ""  # its second sentence, of a data set of pairs
    rows: int = 0  # of train, as many of each class; 0 = all
    mixing_temperature: float = 0.0  # T: an epoch draws from a mixture's n rows of a data set in proportion to n^(1/T); 0 = all once
    transfer: str = ""  # a data set of the same labels whose test split is asked as well
    source: str = ""  # a Hugging Face encoder that is trained on instead of a preset
    base: str = ""  # a base (sentviz.models.pretrained) that is trained on instead of a preset; `model` is its name, with endings
    weights: str = ""  # digest of the encoder or the base
    adapter_rank: int = 0  # on a base: rank of the change of each matrix; 0 = the matrices themselves are trained
    adapter_alpha: float = 16.0  # a change is multiplied by alpha / rank
    adapter_layers: int = 0  # so many of the upper layers are trained; 0 = all
    # text
    tokenizer: str = "words"  # words | bpe | tweets | english
    min_count: int = 5
    vocab_size: int = 0  # of bpe and tweets; of a hardmax model the most words
    max_length: int = 256
    cls: bool = False
    lexicon: str = ""  # whose polarities a preset with an injection gets
    # model: changes to the preset's configuration
    shape: dict[str, Any] = field(default_factory=dict)
    # training
    epochs: int = 6
    pretrain: int = 0  # steps on masked tokens of the same rows before the training, with a schedule of their own; of our encoder only
    updates: int = 0  # steps of the whole training, whatever the rows, and what `evaluations` are counted over; 0 = epochs decide
    batch_size: int = 64
    learning_rate: float = 5e-4
    lambda_rate: float = 5e-4
    weight_decay: float = 0.1  # lambda parameters: 0
    warmup: float = 0.06  # share of all steps; 0 = none
    schedule: str = "cosine"  # what the rate does after the warm-up: cosine or linear to 0, constant
    clip: float = 1.0
    dropout: float = 0.2
    label_smoothing: float = 0.0
    start: float = 0.0  # standard deviation of the embedding's start; 0 = the model's own
    precision: str = "auto"  # of the steps' products; weights and evaluations are fp32. auto: bf16 on a GPU, fp32 on a CPU
    evaluations: int = 2  # per epoch
    select: str = "accuracy"  # the metric on validation whose best state stays, ties by loss: accuracy, loss, f1_macro or f1_positive
    patience: int = 6  # evaluations without a better state after which training stops; 0 = never
    log_every: int = 20  # steps
    keep_epochs: int = 0  # the weights after each of the last so many epochs are kept with the run

    @classmethod
    def read(cls, source: str | Path, **changes: Any) -> Recipe:
        """A recipe by the name of one that ships or from a TOML file, with changes on top; of a hardmax model by its data set's name.

        A preset that the recipe was not written for brings settings of its own, where it has any.

        Raises:
            InputError: no such recipe, not TOML, or a key that means nothing here.
        """
        path = Path(source)
        path = path if path.suffix == ".toml" else recipes().get(str(source), path)
        changes = {k: v for k, v in changes.items() if v is not None}
        if path.suffix != ".toml" and usual(changes):  # a model that brings settings of its own: any data set will do
            return cls.of({"dataset": str(source)} | changes)
        try:
            values = tomllib.loads(read_regular(path, 1 << 20, path.name).decode())
        except (ValueError, RecursionError) as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise InputError(f"There is no recipe {str(source)!r}; those that ship: {', '.join(recipe_names())}.") from None
            if isinstance(error, InputError):
                raise InputError(f"The recipe {error}") from error
            raise InputError(f"The recipe {path.name} cannot be read ({error}).") from error
        if changes.get("base") and not values.get("base"):  # a recipe of another kind of model: only its data and example count
            values = {name: values[name] for name in ("dataset", "example", "example_pair", "transfer") if name in values}
        elif changes.get("model", written := values.get("model", cls.model)) != written:
            values |= usual(changes)
        values |= changes
        return cls.of(values | variant_changes(values.get("variant", ""), values.get("model", cls.model)))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Recipe:
        """A recipe from a mapping, strictly; what it does not name is as usual for its model.

        Raises:
            InputError: a setting, a kind of value or a preset that does not exist.
        """
        values = _modern(values)
        known = {item.name: item for item in dataclasses.fields(cls)}
        if unknown := sorted(values.keys() - known.keys()):
            raise InputError(f"A recipe has no setting {unknown[0]!r}; there are {', '.join(known)}.")
        if "dataset" not in values:
            raise InputError("A recipe needs a dataset.")
        recipe = cls(**(usual(values) | values))
        for item in dataclasses.fields(recipe):
            value = getattr(recipe, item.name)
            kind = {"dataset": str, "shape": dict}.get(item.name, type(item.default))
            if not (isinstance(value, kind) or (kind is float and isinstance(value, int))) or (
                kind is not bool and isinstance(value, bool)
            ):
                raise InputError(f"The recipe's {item.name} must be {KINDS[kind]}, not {value!r}.")
            if not isinstance(value, int | float):
                continue
            if not 0 <= value < math.inf or (item.name in POSITIVE and value <= 0) or (item.name in SHARES and value >= 1):
                raise InputError(f"The recipe's {item.name} cannot be {value}.")
        for name, known_values in CHOICES.items():
            if getattr(recipe, name) not in known_values:
                *others, last = known_values
                raise InputError(f"The recipe's {name} must be {', '.join(others)} or {last}, not {getattr(recipe, name)!r}.")
        if recipe.seed >= 2**63:
            raise InputError(f"The recipe's seed cannot be {recipe.seed}.")
        if recipe.source:  # its shape is the encoder's own
            return recipe
        if recipe.base:
            if on_base(recipe.model, recipe.base).get("lexicon", "none") != "none" and not recipe.lexicon:
                raise InputError(f"{recipe.model} injects a lexicon, and the recipe names none.")
            return recipe
        check_shape(recipe.model, recipe.shape)
        if find_preset(recipe.model).shape.get("lexicon", "none") != "none" and not recipe.lexicon:
            raise InputError(f"{recipe.model} injects a lexicon, and the recipe names none.")
        without = find_preset(recipe.model).without
        if given := [name for name in without if hasattr(recipe, name) and getattr(recipe, name) != without[name]]:
            raise InputError(f"{recipe.model} does not take {given[0]}; a model of its kind has nothing like it.")
        return recipe

    @property
    def name(self) -> str:
        """`<data set or folder>/<model>`, with `-<variant>` where there is one and `-s<seed>` where the seed is not 0."""
        return f"{self.folder or self.dataset}/{self.configuration}" + (f"-s{self.seed}" if self.seed else "")

    @property
    def configuration(self) -> str:
        """The preset, with `-<variant>` where there is one: runs of one configuration differ in their seed only."""
        return f"{self.model}-{self.variant}" if self.variant else self.model

    def as_dict(self) -> dict[str, Any]:
        """All settings, for config.json."""
        return dataclasses.asdict(self)


POSITIVE = {"adapter_alpha", "epochs", "batch_size", "learning_rate", "max_length", "evaluations", "log_every"}
SHARES = {"warmup", "dropout", "label_smoothing"}
CHOICES = {"tokenizer": ("words", "bpe", "tweets", "english"), "schedule": SCHEDULES, "select": SELECTIONS, "precision": PRECISIONS}
FOREIGN: dict[str, Any] = {  # settings of a recipe that are usual for a Hugging Face encoder
    "tokenizer": "bpe",
    "cls": True,
    "max_length": 128,
    "epochs": 3,
    "batch_size": 32,
    "learning_rate": 2e-5,
    "weight_decay": 0.01,
    "warmup": 0.1,
    "schedule": "linear",
    "patience": 3,
}
BASED: dict[str, Any] = {  # settings of a recipe that are usual for a base
    "tokenizer": "bpe",
    "cls": True,
    "max_length": 64,
    "epochs": 1,
    "batch_size": 16,
    "learning_rate": 1e-3,
    "lambda_rate": 1e-3,
    "weight_decay": 0.0,
    "warmup": 0.06,
    "schedule": "linear",
    "dropout": 0.0,
    "evaluations": 4,
    "patience": 0,
    "adapter_rank": 8,
}
KINDS = {str: "a text", dict: "a table", bool: "true or false", int: "a whole number", float: "a number"}


def finished(recipe: Recipe, root: str | Path) -> Run | None:
    """The run of a recipe (its example aside) in a folder of runs; None where nothing is in its place.

    Raises:
        RunError: what is in its place is another recipe's run, a damaged one or none; training would replace it.
    """
    folder = restored(Path(root) / recipe.name)
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not (folder / "config.json").is_file():
        raise RunError(f"{folder} is there already and holds no run; move it away or choose another folder.")
    run = Run.open(folder, recipe.name)
    try:
        same = _bare(Recipe.of(run.config["recipe"])) == _bare(recipe)
    except InputError:
        same = False
    if not same:
        raise RunError(f"{folder} was trained by another recipe; move it away or choose another folder.")
    return run


def usual(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a recipe has where it does not name them, other than those of `Recipe` itself: its model's own.

    Raises:
        InputError: no such preset.
    """
    if values.get("source"):
        return FOREIGN
    if base := values.get("base"):
        return BASED | {"model": base}
    model = values.get("model")
    return dict(find_preset(model).recipe) if isinstance(model, str) else {}


def _modern(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored recipe as it is written now: those of hardmax runs of format 1 held the model's shape among the settings."""
    older = ("width", "training", "cleaning", "layers", "training_temperature")
    if not all(name in stored for name in older):
        return dict(stored)
    shape = {name: stored[name] for name in older[3:] if stored[name] != getattr(HardmaxConfig, name)}
    return {name: value for name, value in stored.items() if name not in older} | {"shape": shape}


def _bare(recipe: Recipe) -> Recipe:
    return dataclasses.replace(recipe, example="", example_pair="")


def learned(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that decide what is learned; the others decide what the finished run shows, keeps and is asked."""
    return {name: value for name, value in settings.items() if name not in ("example", "example_pair", "transfer", "keep_epochs")}


def recipes() -> dict[str, Path]:
    """Every recipe that ships: the house's by its name, a paper's by `<paper>_<data set>` and, the first that has it, by its data set."""
    found = {path.stem: path for path in sorted((Path(__file__).parent / "recipes").glob("*.toml"))}
    for paper in papers().values():
        for dataset, path in paper.recipes().items():
            found.setdefault(dataset, path)
            found[f"{paper.name}_{dataset}"] = path
    return found


def recipe_names() -> list[str]:
    """The recipes that ship."""
    found: dict[Path, str] = {}
    for name, path in recipes().items():
        found.setdefault(path, name)
    return sorted(found.values())

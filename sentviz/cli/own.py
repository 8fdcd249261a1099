"""Models of your own code on the command line: `--model package.module:object` imports the module and takes the object."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click

from sentviz.errors import InputError

if TYPE_CHECKING:
    from sentviz.models.model import Model


def own_model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --model and --classes to a command."""
    function = click.option("--classes", default="", help="Class names of --model in its order, for example negative,positive.")(function)
    return click.option(
        "--model",
        "model_name",
        default="",
        metavar="MODULE:OBJECT",
        help="Your own model instead of RUN: an object with predict_proba, or a function of a list of texts. The module is imported.",
    )(function)


def own_model(name: str, classes: str) -> Model:
    """Import an object by its name, `package.module:object`, also from the current folder, and open it as a model.

    Raises:
        InputError: the module cannot be imported, has no such object, or the object is not a model.
    """
    from sentviz.models.loading import load

    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise InputError(f"--model takes package.module:object, not {name!r}.")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    try:
        source = resolve_name(name)
    except Exception as error:  # code of the user may raise anything while it is imported
        message = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(f"{name} cannot be imported ({type(error).__name__}: {message}).") from error
    return load(source, classes=[label.strip() for label in classes.split(",") if label.strip()])

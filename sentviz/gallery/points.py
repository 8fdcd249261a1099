"""Figures of rows as points: the picture of their vectors, and what can be believed of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sentviz.analysis.testset.rows import Rows
from sentviz.errors import InputError
from sentviz.gallery.registry import Need, figure
from sentviz.gallery.subjects import WEIGHTS, Answers
from sentviz.gallery.testset import SEED

if TYPE_CHECKING:
    from sentviz.analysis.embeddings.projection import Projection
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure

VECTORS = Need(
    "stored vectors",
    lambda run: "" if "embeddings.safetensors" in run.config["files"] else f"{run.name} has no vectors here; `sentviz train` keeps them.",
)


def layer_names(last: int) -> list[str]:
    """What the layers are called, the embedding first."""
    return ["embedding", *(f"layer {i}" for i in range(1, last)), f"layer {last}, the last"]


def about_picture(found: Projection, of: str, layer: int, last: int) -> str:
    """What a caption says of a picture: method, rows, layer, parameters, seed.

    Args:
        of: which rows. layer: 0 = the embedding.
    """
    from sentviz.analysis.embeddings.projection import METHODS

    settings = "".join(f", {name} {value:.3g}" for name, value in found.parameters.items())
    said = f"{METHODS[found.method]} of {of}, {layer_names(last)[layer]}{settings}, seed {found.seed}."
    return f"{said} Turned and scaled onto the layer above." if layer < last else said


class Points(Answers):
    """The sample of the test split whose vectors ship with a run."""

    @cached_property
    def sample(self) -> tuple[Rows, Any]:
        """The rows (n,) and their vectors (n, d) of the last layer."""
        from sentviz.analysis.embeddings.cache import stored_sample

        if self.over != "test" or self.versus:
            raise InputError("The vectors that ship with a run are of its test split, and of one run.")
        places, pooled = stored_sample(self.run, len(self.first))
        return replace(self.first, frame=self.first.frame.iloc[places]), pooled

    def picture(self, method: str, dims: int, layer: int) -> tuple[Projection, Projection, int]:
        """The picture of a layer, that of the last one, and the layer, 0 = the embedding; kept in the user's cache.

        Raises:
            InputError: no such layer or method.
            DataMissingError: another layer than the last needs the texts of the rows.
        """
        from sentviz.analysis.embeddings.cache import Cache, digest, layer_vectors, pictures
        from sentviz.io.paths import home

        last = self.run.capabilities.layers
        layer = last if layer < 0 else layer
        if layer > last:
            raise InputError(f"{self.run.name} has the layers 0, the embedding, to {last}, not {layer}.")
        rows, pooled = self.sample
        vectors: list[Any] = [*[None] * last, pooled]
        if layer < last:
            if why := WEIGHTS.lacks(self.run):
                raise InputError(why)
            from sentviz.models.loading import load

            texts = self.texts.frame.set_index("id").loc[rows.frame["id"]].reset_index()
            vectors = [*layer_vectors(load(self.run), texts)[:-1], pooled]
        found = pictures(Cache(home()), digest(self.run.digest, "test", "stored"), vectors, method, dims, layer, SEED)
        return found[layer], found[last], layer


@figure("embeddings", "The rows as points", Points, "scatter:scatter", VECTORS)
def _embeddings(
    of: Points, *, method: str = "pca", dims: int = 2, colour: str = "label", layer: int = -1, theme: Theme = "light"
) -> Figure:
    from sentviz.analysis.embeddings.projection import METHODS
    from sentviz.figures.scatter import scatter

    found, _, at = of.picture(method, dims, layer)
    (rows, _), last = of.sample, of.run.capabilities.layers
    frame = rows.frame
    if colour == "length":
        lengths = of.texts.texts.str.count(r"\S+")
        frame = frame.assign(length=lengths.loc[frame.index])
    of_all = " of the variance" if dims == 2 else ""  # three dimensions have no room for it
    axes = [f"component {i + 1} ({share:.0%}{of_all})" for i, share in enumerate(found.shares)] if at == last else []
    return scatter(
        frame.assign(**dict(zip("xyz", found.points.T, strict=False))),
        classes=rows.classes,
        colour=colour,
        title=f"{METHODS[method]}, {layer_names(last)[at]}",
        axes=axes or [""] * dims,
        about=about_picture(found, f"a stored sample of {len(rows):,} of {len(of.first):,} rows", at, last),
        theme=theme,
    )


@figure("silhouette", "Silhouettes in the vectors and in the picture", Points, "scatter:measured", VECTORS)
def _silhouette(of: Points, *, method: str = "pca", dims: int = 2, layer: int = -1, theme: Theme = "light") -> Figure:
    from sentviz.analysis.embeddings.neighbourhood import measures
    from sentviz.figures.scatter import measured

    found, _, _ = of.picture(method, dims, layer)
    rows, _ = of.sample
    return measured(measures(found.vectors, found.points, rows.labels, rows.classes, seed=SEED), theme=theme)

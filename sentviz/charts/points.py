"""Figures of rows as points: projections of their vectors, and the silhouettes that show how far a projection can be trusted."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any

from sentviz.analysis.embeddings.cache import stored_sample
from sentviz.analysis.embeddings.projection import METHODS, Projection, method_title, parsed_method
from sentviz.analysis.embeddings.silhouette import measures
from sentviz.analysis.testset.rows import Rows
from sentviz.charts.figure import Figure
from sentviz.charts.options import Depth, choice
from sentviz.charts.registry import RunRequirement, figure
from sentviz.charts.requirements import SEED
from sentviz.charts.scatter import COLOURS, measured, scatter
from sentviz.charts.subjects import WEIGHTS, Answers
from sentviz.errors import InputError
from sentviz.io.files import home
from sentviz.io.numbers import percent

VECTORS = RunRequirement(
    "stored vectors",
    lambda run: (
        "" if "embeddings.safetensors" in run.config["files"] else f"{run.name} has no stored vectors. `sentviz train` stores them."
    ),
)


def layer_names(last: int) -> list[str]:
    """Return the names of the layers, the embedding first."""
    return ["embedding", *(f"layer {i}" for i in range(1, last)), f"layer {last}, the last"]


def about_picture(projection: Projection, of: str, layer: int, last: int) -> str:
    """Describe a projection for a caption: method, rows, layer, parameters, seed.

    Args:
        of: description of the rows. layer: 0 = the embedding.
    """
    settings = "".join(f", {name} {value:.3g}" for name, value in projection.parameters.items())
    text = f"{METHODS[parsed_method(projection.method)[0]]} of {of}, {layer_names(last)[layer]}{settings}, seed {projection.seed}."
    return f"{text} Rotated and scaled to match the last layer." if layer < last else text


class Points(Answers):
    """The sample of the test split whose vectors are stored with a run."""

    @cached_property
    def sample(self) -> tuple[Rows, Any]:
        """The rows, n, and their vectors of the last layer, (n, d)."""
        if self.over != "test" or self.versus or self.among:
            raise InputError("Vectors are stored only for the test split of a single run. Leave out the options over, versus and among.")
        places, pooled = stored_sample(self.first.source.require_run("vectors"), len(self.first))
        return replace(self.first, frame=self.first.frame.iloc[places]), pooled

    def picture(self, method: str, dims: int, layer: int) -> tuple[Projection, Projection, int]:
        """Return the projection of a layer, that of the last layer, and the layer (0 = the embedding). Projections are cached in the user's
        folder.

        Raises:
            DataMissingError: a layer other than the last needs the texts of the rows, which are not available.
        """
        from sentviz.analysis.embeddings.cache import Cache, digest, layer_vectors, pictures

        run = self.first.source.require_run("vectors")
        last = run.capabilities.layers
        layer = last if layer < 0 else layer
        if layer > last:
            raise InputError(f"{run.name} has layers 0 (the embedding) to {last}, not {layer}.")
        rows, pooled = self.sample
        vectors: list[Any] = [*[None] * last, pooled]
        if layer < last:
            if why := WEIGHTS.lacks(run):
                raise InputError(why)
            from sentviz.models.loading import load

            texts = self.texts.frame.set_index("id").loc[rows.frame["id"]].reset_index()
            vectors = [*layer_vectors(load(run), texts)[:-1], pooled]
        projections = pictures(Cache(home()), digest(run.digest, "test", "stored"), vectors, method, dims, layer, SEED)
        return projections[layer], projections[last], layer


Colour = Annotated[str, choice(COLOURS)]
Dims = Annotated[int, choice({2: "2-D", 3: "3-D"})]


@figure("embeddings", "The rows as points", Points, VECTORS)
def _embeddings(of: Points, *, method: str = "pca", dims: Dims = 2, colour: Colour = "label", layer: Depth = -1) -> Figure:
    projection, _, at = of.picture(method, dims, layer)
    (rows, _), last = of.sample, of.first.source.require_run("vectors").capabilities.layers
    frame = rows.frame
    if colour == "length":
        lengths = of.texts.texts.str.count(r"\S+")
        frame = frame.assign(length=lengths.loc[frame.index])
    of_all = " of the variance" if dims == 2 else ""  # omitted in three dimensions for lack of room
    axes = [f"component {i + 1} ({percent(share, 0)}{of_all})" for i, share in enumerate(projection.shares)] if at == last else []
    return scatter(
        frame.assign(**dict(zip("xyz", projection.points.T, strict=False))),
        classes=rows.classes,
        colour=colour,
        title=f"{method_title(method)}, {layer_names(last)[at]}",
        axes=axes or [""] * dims,
        about=about_picture(projection, f"a stored sample of {len(rows):,} of {len(of.first):,} rows", at, last),
    )


@figure("silhouette", "Silhouettes in the vectors and in the picture", Points, VECTORS)
def _silhouette(of: Points, *, method: str = "pca", dims: Dims = 2, layer: Depth = -1) -> Figure:
    projection, _, _ = of.picture(method, dims, layer)
    rows, _ = of.sample
    return measured(measures(projection.vectors, projection.points, rows.labels, rows.classes, seed=SEED))

"""The animation of a hardmax transformer: its scene, the data for the browser, and one HTML file.

particles.js and the modules that it imports draw it, in the app, in a file of its own, and in a GIF (`sentviz.export.animation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.browser.packing import digest, marked, packed, palettes, short
from sentviz.browser.page import standalone
from sentviz.charts.colours import Theme
from sentviz.charts.scene import NEAR, WORD, Scene
from sentviz.charts.text import visible
from sentviz.io.lazy import pd

if TYPE_CHECKING:
    from sentviz.models.clustering import Clustering


Doubles = npt.NDArray[np.float64]

HERE = Path(__file__).parent


# ---- the canvas


def scene_data(scene: Scene, *, chosen: int | None = None, adding: bool = False, named: bool = True) -> dict[str, Any]:
    """Return the scene as plain JSON for the scripts, which only draw words or set them as text.

    Args:
        chosen: token that is selected from the start.
        adding: True if a click on an empty place requests a new token.
        named: True to label all tokens, False to label leaders and tokens under the pointer only.
    """
    data: dict[str, Any] = {
        "id": digest("\0".join(scene.words)),
        "story": scene.story,
        "title": visible(scene.title),
        "layers": scene.layers,
        "dimension": scene.positions.shape[-1],
        "words": [visible(word[:WORD]) for word in scene.words],
        "positions": packed(scene.positions, "<f4"),
        "adding": adding,
        "named": named,
        "near": NEAR,
        "groups": packed(scene.groups, "<i4"),
        "clusters": scene.clusters.tolist(),
        "leaders": list(scene.leaders),
        "since": list(scene.since),
        "pinned": list(scene.pinned),
        "axes": list(scene.axes),
        "toward": None if scene.toward is None else packed(scene.toward, "<i4"),
        "corners": [] if scene.corners is None else short(scene.corners, 7),
        "edges": [list(edge) for edge in scene.edges],
        "means": None if scene.means is None else short(scene.means, 7),
        "probabilities": None if scene.probabilities is None else short(scene.probabilities, 7),
        "decision": None if scene.decision is None else {"w": short(scene.decision[0], 7), "b": float(f"{scene.decision[1]:.7g}")},
        "exact": scene.exact,
        "labels": [visible(label) for label in scene.labels],
        "palettes": palettes("probability", "lines"),
    }
    if chosen is not None:
        data["chosen"] = chosen
    return marked(data)


def animation_html(scene: Scene, *, about: str = "", theme: Theme = "light") -> str:
    """Return the animation as one page that needs no network; the same bytes for the same scene.

    Args:
        scene: tokens to draw.
        about: origin of the tokens, plain text below the picture.
        theme: that of the page.
    """
    foot = " ".join(filter(None, (scene.note, about)))
    return standalone(HERE, "particles", scene_data(scene), data_id="scene", title=scene.title, about=foot, width=1060, theme=theme)


def positions_frame(clustering: Clustering, words: Sequence[str]) -> pd.DataFrame:
    """Return all positions as a table: layer (0 = start), token, word, leader, z1 .. zd."""
    z = np.asarray(clustering.positions, dtype=float)
    steps, n, d = z.shape
    leads = np.isin(np.arange(n), clustering.leaders)
    frame = pd.DataFrame({"layer": np.repeat(np.arange(steps), n), "token": np.tile(np.arange(n), steps)})
    return frame.assign(word=list(words) * steps, leader=np.tile(leads, steps), **{f"z{c + 1}": z[:, :, c].ravel() for c in range(d)})

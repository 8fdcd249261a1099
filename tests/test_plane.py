"""A corpus as points of a plane: axes merged from parts, samples that stay on zooming in, a server for this machine alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest

from sentviz.errors import InputError
from sentviz.runs.store import Run
from sentviz.serving.corpus.engines import score
from sentviz.serving.corpus.output import OutputOptions, Scored
from sentviz.serving.corpus.plane import POINT, plane, sample, server
from tests.kit import BAD, GOOD, NOUNS, refused

TEXTS = [f"the {noun} was {good} and {bad}" for noun in NOUNS for good in GOOD for bad in BAD]


@pytest.fixture(scope="module")
def scored(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Scored:
    """Score 125 rows in parts of 30, and one row that cannot be read."""
    folder = tmp_path_factory.mktemp("plane")
    (folder / "a.txt").write_text("\n".join([*TEXTS[:40], "", *TEXTS[40:]]))
    return score(Run.open(tiny_run), [folder / "a.txt"], folder / "out", options=OutputOptions(vectors=True), rows=30)


@pytest.fixture
def address(scored: Scored) -> Iterator[str]:
    """Start the server and yield its address."""
    with server(plane(scored), scored) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


def test_the_axes_are_the_principal_components_of_all_rows(scored: Scored) -> None:
    points = plane(scored)
    frame = pd.read_parquet(scored.folder)
    vectors = np.stack(frame["vector"].dropna().tolist()).astype(np.float64)
    centred = vectors - vectors.mean(axis=0)
    expected = np.abs(centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T)
    order = np.lexsort((points["row"], points["part"]))
    places = np.stack([points["x"], points["y"]], axis=1)[order]
    np.testing.assert_allclose(np.abs(places), expected, atol=1e-4)
    assert len(points) == 125 and (np.array(scored.labels)[points["said"][order]] == frame["predicted"].dropna()).all()


def test_a_sample_is_fair_and_stays_on_zooming_in() -> None:
    rng = np.random.default_rng(0)
    points = np.zeros(50_000, dtype=POINT)
    points["x"], points["y"] = rng.random((2, 50_000))
    far, there = sample(points, (0, 1), (0, 1), 2_000)
    assert there == 50_000 and len(far) == 2_000 and abs((points["x"][far] < 0.5).mean() - 0.5) < 0.05
    near, inside = sample(points, (0.2, 0.6), (0.1, 0.5), 2_000)
    assert inside == ((points["x"] >= 0.2) & (points["x"] <= 0.6) & (points["y"] >= 0.1) & (points["y"] <= 0.5)).sum()
    within = [k for k in far if 0.2 <= points["x"][k] <= 0.6 and 0.1 <= points["y"][k] <= 0.5]
    assert within and set(within) <= set(near.tolist())


def test_the_server_sends_what_is_in_view(scored: Scored, address: str) -> None:
    points = plane(scored)
    middle = float(np.median(points["x"]))
    body = urlopen(f"{address}/points?x0={middle}&x1=1e9&y0=-1e9&y1=1e9").read()
    n, there = np.frombuffer(body, "<u4", 2)
    inside = points[points["x"] >= middle]
    assert n == there == len(inside) and len(body) == 8 + 13 * n
    assert (np.frombuffer(body, "<f4", 2 * n, 8).reshape(-1, 2)[:, 0] == inside["x"]).all()
    assert (np.frombuffer(body, "u1", n, 8 + 12 * n) == inside["said"]).all()
    text = json.loads(urlopen(f"{address}/row?point=0").read())["text"]
    row = scored.part(int(points[0]["part"]), ["row"])["row"][int(points[0]["row"])].as_py()
    assert text.startswith(f"a.txt, row {row}: {scored.labels[points[0]['said']]} ")
    assert b"connect-src 'self'" in urlopen(address).read()


@pytest.mark.parametrize(
    ("path", "host", "code"),
    [
        ("/points?x0=nan&x1=1&y0=0&y1=1", "", 400),
        ("/points", "", 400),
        ("/row?point=125", "", 400),
        ("/etc", "", 404),
        ("/", "evil.example", 403),
    ],
)
def test_the_server_answers_nothing_else(path: str, host: str, code: int, address: str) -> None:
    with pytest.raises(HTTPError) as caught:
        urlopen(Request(f"{address}{path}", headers={"Host": host} if host else {}))
    assert caught.value.code == code
    caught.value.close()


def test_without_vectors_there_is_no_plane(scored: Scored, tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a warm song\n")
    refused(InputError, "without --vectors", plane, score(Run.open(tiny_run), [tmp_path / "a.txt"], tmp_path / "out"))

"""Clusters of rows with similar words, each named by its keywords.

A row is the vector of the words that its text has, weighted by their inverse document frequency, with length 1 (TF-IDF; a word counts once
per row). A truncated SVD reduces the vectors (latent semantic analysis, Deerwester et al. 1990), and k-means divides them. Both are fitted
on at most 5,000 rows and then assign every row. Labels and predictions have no part in it, and the seed is fixed: the same rows always give
the same clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.word_counts import frequent_words, stop_words
from sentviz.errors import InputError

Bools = npt.NDArray[np.bool_]

SEED = 0
FITTED = 5_000  # rows that the SVD and the centres are fitted on
DIMENSIONS = 50  # length of the reduced vectors
FEWEST, USUAL, MOST = 2, 24, 100  # clusters: at least, at most by default, at most
KEYWORDS = 3  # words that name a cluster


def usual_number(n: int) -> int:
    """Return the number of clusters of n rows: a quarter of the square root, 2 to 24."""
    return int(np.clip(round(n**0.5 / 4), FEWEST, USUAL))


def clusters(rows: Rows, k: int, *, step: Callable[[], object] = lambda: None) -> dict[tuple[str, ...], Bools]:
    """Return the k clusters of rows: keywords, the most typical first, and which rows are in the cluster, (n,).

    A row without a frequent word is in no cluster. A cluster with the keywords of a larger one is left out.
    """
    if not rows.has_text:
        raise InputError("The texts of these rows are not installed, so they form no clusters.")
    if len(rows) < k:
        raise InputError(f"{k} clusters need at least {k} rows, and there {'is' if len(rows) == 1 else 'are'} {len(rows):,}.")
    return divided(*frequent_words(rows, step), k, step=step)


def divided(names: list[str], table: Any, k: int, *, step: Callable[[], object] = lambda: None) -> dict[tuple[str, ...], Bools]:
    """Return `clusters` of rows whose words are known.

    Stop words do not count.

    Args:
        names: (V,) words. table: (V, n) sparse, 1 = the row has the word.
    """
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import normalize

    stops = stop_words()
    content = [place for place, name in enumerate(names) if name not in stops]
    names, table = [names[place] for place in content], table[content]
    known = np.flatnonzero(table.sum(axis=0))
    words = table.T.tocsr()[known].astype(np.float64)
    sample = np.sort(np.random.default_rng(SEED).permutation(len(known))[:FITTED])
    different = len({words.indices[words.indptr[i] : words.indptr[i + 1]].tobytes() for i in sample})
    if different < k or len(names) < FEWEST:
        raise InputError(f"The texts of these rows differ too little in their frequent words to form {k} clusters.")
    step()
    weighted = TfidfTransformer().fit(words[sample]).transform(words)
    reduce = TruncatedSVD(min(DIMENSIONS, len(names) - 1), random_state=SEED).fit(weighted[sample])
    step()
    vectors = normalize(reduce.transform(weighted))
    nearest = KMeans(k, n_init=3, random_state=SEED).fit(vectors[sample]).predict(vectors)
    mean = np.asarray(weighted.mean(axis=0)).ravel()
    by_keywords: dict[tuple[str, ...], Bools] = {}
    for each in np.argsort(-np.bincount(nearest, minlength=k), kind="stable"):
        step()
        members = nearest == each
        if members.any():
            more = np.asarray(weighted[members].mean(axis=0)).ravel() - mean
            best = np.argsort(-more, kind="stable")[:KEYWORDS]
            inside = np.zeros(table.shape[1], dtype=bool)
            inside[known[members]] = True
            by_keywords.setdefault(tuple(names[place] for place in best), inside)
    return by_keywords


def in_cluster(rows: Rows, k: int, keywords: tuple[str, ...]) -> Bools:
    """Return which rows are in the one of k clusters that has these keywords, (n,)."""
    by_keywords = clusters(rows, k)
    if keywords not in by_keywords:
        raise InputError(f"None of the {k} clusters of these rows has the keywords {', '.join(keywords)}: it was found in other rows.")
    return by_keywords[keywords]

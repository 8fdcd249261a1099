"""The hardmax transformer (Alcalde, Fantuzzi and Zuazua 2024, arXiv 2407.01602): dynamics and theory.

dynamics   tokens that move towards those furthest in their own direction, for any A
playground what people set: points, A, and the text of both in a link
polytope   the theorem about the limit: which tokens lead, where the others end; checked on a run

The classifier is in sentviz.models.hardmax and sentviz.training.hardmax, its leaders over a split in sentviz.analysis.testset.leaders.
"""

from sentviz.models.clustering.dynamics import TOLERANCE, Clustering, Kind, attended, kind, matrix, places, simulate, step, weights

__all__ = ["TOLERANCE", "Clustering", "Kind", "attended", "kind", "matrix", "places", "simulate", "step", "weights"]

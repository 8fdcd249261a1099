"""The hardmax transformer (Alcalde, Fantuzzi and Zuazua 2024, arXiv 2407.01602): dynamics, theory, classifier, leaders.

dynamics   tokens that move towards those furthest in their own direction
polytope   the theorem's limit: who leads, where the others end, checked on a run
model      the classifier behind the same predict and trace as every model: sentviz.models.hardmax, sentviz.training.hardmax; text
leaders    which words lead over a whole split
"""

from sentviz.models.clustering.dynamics import TOLERANCE, Clustering, attended, matrix, places, simulate, step, weights

__all__ = ["TOLERANCE", "Clustering", "attended", "matrix", "places", "simulate", "step", "weights"]

"""The earlier name of `sentviz.analysis.explain.counterfactual`; it goes with the next version."""

from __future__ import annotations

from sentviz.analysis.explain.counterfactual import smallest_flip

__all__ = ["smallest_flip"]

"""The earlier name of `sentviz.charts.gallery`, kept for one version."""

from sentviz.charts.gallery import FIGURES, FigureSpec, call, code, draw, make

__all__ = ["FIGURES", "FigureSpec", "call", "code", "draw", "make"]

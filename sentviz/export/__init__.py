"""Figures as files: pictures, tables, reports and notebooks, each with its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.io.lazy import package_names

if TYPE_CHECKING:
    from sentviz.charts.look import Style
    from sentviz.export.files import render, save

__all__ = ["Style", "render", "save"]

_MODULES = {"Style": "files", "render": "files", "save": "files"}

__getattr__ = package_names(__name__, _MODULES)

"""The SentiFormer paper: its theory."""

from __future__ import annotations

from app import shell
from app.views.papers.sentiformer import failures, theory

shell.intro(
    "What the SentiFormer paper proves and where it says that it fails.",
    "Its tables are not here yet.",
)
theory.show()
failures.show()

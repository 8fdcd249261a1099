"""Docstrings as the reference reads them: here sections follow each other without a blank line, which Griffe wants."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_SECTION = re.compile(r"(?<!\n)\n(?=(?:Args|Attributes|Frame|Raises|Returns|Yields):\n)")


class Sections(Extension):
    """Puts a blank line before each section of every docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change one docstring, before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = _SECTION.sub("\n\n", obj.docstring.value)

"""The `source=` of the transforms: the text of a function that is in no file."""

from __future__ import annotations

import linecache
from typing import Any

from ..errors import S2STypeError
from ..transforms.frontend.source import give_text


def give_source(function: Any, text: str | None) -> None:
    """Remember the text that a function was executed from, for it and for all that was defined
    there: helpers, classes, blocks of tapes.  `function` is a plain one."""
    if text is None:
        return
    if not isinstance(text, str):
        raise S2STypeError(f"source= is the text of the function, not {type(text).__name__}")
    plain = getattr(function, "plain", function)
    name, lines = give_text(plain.__code__, text, plain.__qualname__)
    # Errors and reports show lines by `linecache`.
    linecache.cache[name] = (len(text), None, lines, name)

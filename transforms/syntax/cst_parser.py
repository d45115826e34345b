"""Parse text with libcst.

libcst's parser recurses on the machine's stack and ends the process where the stack is too small:
80 parentheses inside each other take 512 kB, which is all that a thread has on some platforms.  So
text that may be nested deeply is parsed in a thread with a large stack, if at all.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import libcst as cst

_STACK = 256 << 20  # bytes; pages that are not used take no memory
_DEEPEST = 4000  # levels inside each other; Python parses some 3,000
_SMALL, _USUAL = 25, 400  # levels that fit on any stack, and on that of the main thread
# What may begin a level.  Between commas and ends of lines all of them count; Python allows 200
# brackets around that.
_LEVELS = re.compile(r"[(\[{.~+\-]|\*\*|\b(?:if|not|lambda|and|or|await|in|is)\b|[<>=]")
_size = threading.Lock()


def parse_module(text: str) -> cst.Module:
    """The tree of a text.  A RecursionError if it is nested too deeply."""
    import libcst as cst

    depth = max((len(_LEVELS.findall(part)) for part in re.split(r"[,;\n]", text)), default=0)
    depth += _brackets(text)
    if depth > _DEEPEST:
        raise RecursionError("nested too deeply to be parsed")
    main = threading.current_thread() is threading.main_thread()
    if depth <= (_USUAL if main else _SMALL):
        return cst.parse_module(text)
    result: list[Any] = []

    def parse() -> None:
        try:
            result.append(cst.parse_module(text))
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=parse, name="s2s parser", daemon=True)
    try:
        with _size:
            before = threading.stack_size(_STACK)
            try:
                thread.start()
            finally:
                threading.stack_size(before)
    except (RuntimeError, ValueError) as error:  # no thread, or none of this size
        raise RecursionError("there is no stack to parse this") from error
    thread.join()
    (made,) = result
    if isinstance(made, BaseException):
        raise made
    return made


def _brackets(text: str) -> int:
    """At most how many brackets are inside each other."""
    depth = deepest = 0
    for character in re.findall(r"[()\[\]{}]", text):
        depth += 1 if character in "([{" else -1
        deepest = max(deepest, depth)
    return deepest

"""Texts of functions that are in no file, which users gave with `source=`.

A text is found by the file name in the code objects that were compiled from it, such as
`<string>`.  Many texts may share that name, so each has a name of its own, too.
"""

from __future__ import annotations

import hashlib

# By the file name of the code objects: pairs of the text's own name and its lines, newest first.
_given: dict[str, list[tuple[str, list[str]]]] = {}


def add(file: str, name: str, lines: list[str]) -> None:
    known = [pair for pair in _given.get(file, ()) if pair[0] != name]
    _given[file] = [(name, lines), *known]


def given(file: str) -> list[tuple[str, list[str]]]:
    return _given.get(file, [])


def own_name(file: str, text: str) -> str:
    """`<string 1f3a09bc>` for a text executed as `<string>`: the same in every process."""
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"<{file.strip('<>')} {digest}>"

"""Makes a failing program smaller: drops statements, unwraps blocks, while it still fails."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Iterator

from .generate import Node, Program


def candidates(program: Program) -> Iterator[Program]:
    """Programs with one statement less, or one block replaced by what is inside; large
    statements first."""
    for path in sorted(_paths(program.body), key=len):
        yield from _without(program, path)


def _paths(block: list[Node], at: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    for i, node in enumerate(block):
        yield (*at, i)
        if node.body is not None:
            yield from _paths(node.body, (*at, i, "body"))
        if node.orelse is not None:
            yield from _paths(node.orelse, (*at, i, "orelse"))


def _block(program: Program, path: tuple[int | str, ...]) -> tuple[list[Node], int]:
    block = program.body
    for k in range(0, len(path) - 1, 2):
        node = block[path[k]]  # type: ignore[index]
        block = getattr(node, path[k + 1])  # type: ignore[arg-type]
    return block, path[-1]  # type: ignore[return-value]


def _without(program: Program, path: tuple[int | str, ...]) -> Iterator[Program]:
    block, i = _block(program, path)
    node = block[i]
    if node.fixed:
        return
    if not node.text.startswith("return"):
        smaller = copy.deepcopy(program)
        where, i = _block(smaller, path)
        del where[i]
        yield smaller
    if node.body is not None:
        for inner in ("body", "orelse"):
            if getattr(node, inner):
                smaller = copy.deepcopy(program)
                where, i = _block(smaller, path)
                where[i : i + 1] = getattr(where[i], inner)
                yield smaller
        if node.orelse is not None:
            smaller = copy.deepcopy(program)
            where, i = _block(smaller, path)
            where[i].orelse = None
            yield smaller
    yield from _simpler_text(program, path, node)


def _simpler_text(program: Program, path: tuple[int | str, ...], node: Node) -> Iterator[Program]:
    """Right sides cut down to one of their own parts."""
    match = re.match(r"^(return |.*?[^=<>!]=(?!=) ?)(.*)$", node.text)
    if node.body is not None or not match or "\n" in node.text:
        return
    head, expression = match.groups()
    parts = set(re.split(r" \+ | - | \* ", expression)) | {
        expression[m.start() + 1 : _closing(expression, m.start())]
        for m in re.finditer(r"\(", expression)
    }
    shorter = [p for p in parts if p and len(p) < len(expression)]
    for part in sorted(shorter, key=lambda p: (len(p), p)):
        smaller = copy.deepcopy(program)
        where, i = _block(smaller, path)
        where[i].text = head + part
        yield smaller


def _closing(text: str, start: int) -> int:
    depth = 0
    for k in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[k], 0)
        if depth == 0:
            return k
    return len(text)


def shrink(program: Program, fails: Callable[[str], bool], seconds: float = 30.0) -> Program:
    """`fails` says whether a source still fails in the same way (and is valid)."""
    tried = {program.source}
    deadline = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for smaller in candidates(program):
            if smaller.source in tried:
                continue
            tried.add(smaller.source)
            if time.monotonic() > deadline:
                return program
            if fails(smaller.source):
                program, progress = smaller, True
                break
    return program

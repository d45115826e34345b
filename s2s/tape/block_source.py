"""The source of a tape's block: located by the frame's line, and verified against its code.

The code of the frame is looked up in the file as it is now, as that of functions is.  Code that no
file has as it is (cells of IPython are compiled statement by statement, pytest rewrites `assert`)
is compared with the text by the positions of its instructions."""

from __future__ import annotations

import dis
import types
from typing import Any

from ..cache import parsed_sources
from ..errors import SourceError
from ..transforms.frontend import parse_cache
from ..transforms.frontend.source import (
    Source,
    cache_key,
    character_column,
    code_now,
    is_rewritten,
    parse_around,
    text_of,
    too_deep,
)
from ..transforms.syntax import core
from ..transforms.syntax.traverse import walk

_LOADS = ("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")


def source_of(frame: types.FrameType) -> tuple[Source, core.With]:
    """The `with` statement that a frame is about to enter, and a source for functions made of
    it."""
    what = "the block of this tape"
    lines, file = text_of(frame.f_code, what)
    text = "".join(lines)
    now = code_now(frame.f_code, file, text)
    line = frame.f_lineno if now is None else _line_at(now, frame.f_lasti)
    key = cache_key(frame.f_code, "with", line)
    kept = parse_cache.get(text, key)
    if kept is not None:
        return Source(file, lines, *kept), kept[0].body[0]
    try:
        block = _parsed_block(now or frame.f_code, file, lines, line)
    except RecursionError as error:
        raise too_deep(what, file, lines, line) from error
    if block is not None and now is None:
        comparable = frame.f_code.co_name == "<module>" or is_rewritten(frame.f_globals)
        if not comparable or not _matches_bytecode(frame.f_code, block[0], lines):
            block = None
    if block is None:
        raise SourceError(
            f"{what}: its source in {file} has changed since it was loaded",
            advice="restart Python",
        )
    node, comments = block
    func = core.Func(node.at, "tape_block", core.Params(node.at), (node,))
    parts = (func, node.line, node.end_line, comments)
    parse_cache.put(text, key, parts)
    parsed_sources.flush()
    return Source(file, lines, *parts), node


def _line_at(code: types.CodeType, offset: int) -> int:
    """The line of the instruction at an offset."""
    return next(
        line for start, end, line in code.co_lines() if start <= offset < end and line is not None
    )


def _parsed_block(
    code: types.CodeType, file: str, lines: list[str], line: int
) -> tuple[core.With, dict[int, tuple[int, str]]] | None:
    """The innermost `with` statement that a line of a code enters, and its comments; None if there
    is none."""
    translator = parse_around(code, file, lines, line)
    if translator is None:
        return None
    import libcst as cst

    def around(node: cst.With) -> bool:
        return translator.at(node)[0] <= line <= translator.at(node.body.body[0])[0]

    found = [n for n in translator.recorder.found[cst.With] if around(n)]
    if not found:
        return None
    node = translator.stmt_With(max(found, key=lambda n: translator.at(n)[0]))
    if not isinstance(node, core.With):
        return None
    return translator.alone(node), translator.comments(node.line, node.end_line)


def _matches_bytecode(code: types.CodeType, block: core.With, lines: list[str]) -> bool:
    """Whether the names, constants and operators of the source are at the positions recorded in the
    bytecode.  Python before 3.11 records no positions; then nothing is checked.  What stands inside
    of unsupported syntax is not checked: it is not translated."""
    refused = [n.at for n in walk(block) if isinstance(n, core.Refused)]
    nodes: dict[Any, list[core.Node]] = {}
    kinds = (core.Name, core.Const, core.Binary, core.Augment, core.Compare)
    for n in walk(block):
        if isinstance(n, kinds):
            nodes.setdefault(n.at, []).append(n)
    for instruction in dis.get_instructions(code):
        span = getattr(instruction, "positions", None)
        if span is None or None in span or not block.line <= span[0] <= block.end_line:
            continue
        start, end = lines[span[0] - 1], lines[span[1] - 1]
        place = (
            span[0], character_column(start, span[2]), span[1], character_column(end, span[3])
        )  # fmt: skip
        if any(at[:2] <= place[:2] and place[2:] <= at[2:] for at in refused):
            continue
        here = nodes.get(place, [])
        value = instruction.argval
        if instruction.opname in _LOADS and not value.startswith("@"):  # names that pytest inserts
            if not any(isinstance(n, core.Name) and value.endswith(n.id) for n in here):
                return False
        if instruction.opname == "LOAD_CONST":
            constants = [n.value for n in here if isinstance(n, core.Const)]
            if constants and not any(type(c) is type(value) and c == value for c in constants):
                return False
        if instruction.opname in _OPERATORS:
            signs = [s for n in here for s in _signs(n)]
            # Since Python 3.13 a comparison used in a branch is printed as bool(>).
            shown = instruction.argrepr.removeprefix("bool(").removesuffix(")")
            if signs and shown not in signs:
                return False
    return True


_OPERATORS = ("BINARY_OP", "COMPARE_OP")


def _signs(node: core.Node) -> list[str]:
    """The operators of a node, as the disassembler prints them."""
    if isinstance(node, core.Binary):
        return [node.op]
    if isinstance(node, core.Augment):
        return [f"{node.op}="]
    return [*node.ops] if isinstance(node, core.Compare) else []

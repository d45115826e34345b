"""The source of a tape's block: located by the frame's line, and verified against its bytecode."""

from __future__ import annotations

import ast
import dis
import inspect
import types
from typing import Any

from ..errors import SourceError
from ..transforms.frontend.source import NOT_AVAILABLE, Source, comments_of, parse

_LOADS = ("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")


def source_of(frame: types.FrameType) -> Source:
    """The `with` statement that a frame is about to enter, as the node of a source."""
    try:
        lines, _ = inspect.findsource(frame.f_code)
        file = inspect.getsourcefile(frame.f_code) or frame.f_code.co_filename
    except (OSError, TypeError):
        raise SourceError(f"the block of this tape: {NOT_AVAILABLE}") from None
    line = frame.f_lineno
    found = [
        n
        for n in ast.walk(parse(file, "".join(lines)))
        if isinstance(n, ast.With) and n.lineno <= line <= n.body[0].lineno
    ]
    node = max(found, key=lambda n: n.lineno) if found else None
    if node is None or not _matches_bytecode(frame.f_code, node):
        raise SourceError(
            f"the block of this tape: its source in {file} has changed since it was loaded",
            advice="restart Python",
        )
    last = node.end_lineno or node.lineno
    comments = comments_of(lines[node.lineno - 1 : last], node.lineno)
    return Source(file, lines, node, node.lineno, last, comments)  # type: ignore[arg-type]


def _matches_bytecode(code: types.CodeType, block: ast.With) -> bool:
    """True if the names, constants and operators of the source are at the positions recorded in the
    bytecode.  Python before 3.11 records no positions; then nothing is checked."""
    nodes: dict[Any, list[ast.AST]] = {}
    for n in ast.walk(block):
        if isinstance(n, (ast.Name, ast.Constant, ast.BinOp, ast.AugAssign, ast.Compare)):
            place = (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset)
            nodes.setdefault(place, []).append(n)
    first, last = block.lineno, block.end_lineno or block.lineno
    for instruction in dis.get_instructions(code):
        place = getattr(instruction, "positions", None)
        if place is None or None in place or not first <= place[0] <= last:
            continue
        here = nodes.get(tuple(place), [])
        value = instruction.argval
        if instruction.opname in _LOADS and not value.startswith("@"):  # names that pytest inserts
            if not any(isinstance(n, ast.Name) and value.endswith(n.id) for n in here):
                return False
        if instruction.opname == "LOAD_CONST":
            constants = [n.value for n in here if isinstance(n, ast.Constant)]
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


def _signs(node: ast.AST) -> list[str]:
    """The operators of a node, as the disassembler prints them."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        sign = _TOKENS[type(node.op)]
        return [sign + "=" if isinstance(node, ast.AugAssign) else sign]
    if isinstance(node, ast.Compare):
        return [_TOKENS.get(type(op), "") for op in node.ops]
    return []


_TOKENS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip

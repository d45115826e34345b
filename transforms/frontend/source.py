"""Reads a function's source: its syntax tree, exact positions, and comments.

The tree the compiler walks is Python's own `ast` over the whole file, so that every node carries
the user's line and column; comments, which it lacks, are read off the tokens.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import tokenize
import types
from typing import Any

from ..ir.errors import SourceError
from ..ir.nodes import Span
from ..ir.quote import printable
from ..ir.record import field, record

NOT_AVAILABLE = "source not available; save to a file or use IPython"


@record
class Source:
    """The text of one function.  `first` and `last` are its lines in `file`."""

    file: str
    lines: list[str]
    node: ast.FunctionDef | ast.Lambda
    first: int
    last: int
    comments: dict[int, tuple[int, str]] = field(default_factory=dict)  # line -> column, text
    fenced: bool = False  # whether it is known to keep to the language
    _spans: dict[tuple[Any, ...], Span] = field(default_factory=dict)

    def line(self, number: int) -> str:
        return self.lines[number - 1].rstrip("\n") if 0 < number <= len(self.lines) else ""

    def span(self, node: ast.AST) -> Span:
        where: Any = node
        key = where.lineno, where.col_offset, where.end_lineno, where.end_col_offset
        found = self._spans.get(key)
        if found is None:
            line, start, end, stop = key
            end = end or line
            col, end_col = self._chars(line, start), self._chars(end, stop or 0)
            found = self._spans[key] = Span(self.file, line, col, end, end_col)
        return found

    def _chars(self, line: int, offset: int) -> int:
        # ast counts UTF-8 bytes; people count characters.
        text = self.line(line)
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))

    def text(self, span: Span) -> str:
        """The user's own text of a span; its later lines keep their indentation."""
        if span.line == span.end_line:
            return self.line(span.line)[span.col : span.end_col]
        middle = [self.line(n) for n in range(span.line + 1, span.end_line)]
        return "\n".join(
            [self.line(span.line)[span.col :], *middle, self.line(span.end_line)[: span.end_col]]
        )

    def comments_above(self, line: int) -> list[str]:
        """The whole-line comments directly above a statement."""
        found: list[str] = []
        line -= 1
        while line in self.comments and not self.line(line)[: self.comments[line][0]].strip():
            found.append(self.comments[line][1])
            line -= 1
        return found[::-1]

    def trailing_comment(self, line: int) -> str:
        column, text = self.comments.get(line, (0, ""))
        return text if text and self.line(line)[:column].strip() else ""


def read(function: Any) -> Source:
    """The source of a Python function, or a SourceError that says why there is none."""
    given = getattr(function, "_s2s_source", None)  # of a function made from part of another
    if given is not None:
        return given
    try:
        lines, _ = inspect.findsource(function)
        file = inspect.getsourcefile(function) or function.__code__.co_filename
    except (OSError, TypeError, IndexError):
        name = getattr(function, "__qualname__", repr(function))
        raise SourceError(f"{name}: {NOT_AVAILABLE}") from None
    node = _find(function, file, "".join(lines))
    if node is None and file.startswith("<"):
        # From Python 3.13 on `<string>` is what `python -c` was given, whatever was executed since.
        raise SourceError(f"{function.__qualname__}: {NOT_AVAILABLE}")
    if node is None:
        raise SourceError(
            f"{function.__qualname__}: its source in {file} has changed since it was loaded",
            advice="reload the module, or restart Python",
        )
    first = min([d.lineno for d in getattr(node, "decorator_list", ())] + [node.lineno])
    last = node.end_lineno or node.lineno
    source = Source(file, lines, node, first, last)
    source.comments = comments_of(lines[first - 1 : last], first)
    return source


def signature(function: Any) -> inspect.Signature:
    """The parameters of the code itself: under `functools.wraps`, Python shows those of another."""
    plain = isinstance(function, types.FunctionType)
    return inspect.signature(function, follow_wrapped=not plain)


@functools.lru_cache(maxsize=32)
def parse(file: str, text: str) -> ast.Module:
    try:
        tree = ast.parse(text, printable(file))
    except SyntaxError as error:
        raise SourceError(f"{file}: {NOT_AVAILABLE} ({error.msg})") from None
    private = any(not name.endswith("__") for name in re.findall(r"\b__\w+", text))
    return _Mangle().visit(tree) if private else tree


class _Mangle(ast.NodeTransformer):
    """In a class, `__name` stands for `_Class__name`.  Functions keep their own names, as their
    code objects do."""

    prefix = ""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        around, self.prefix = self.prefix, node.name.lstrip("_")
        node.body = [self.visit(stmt) for stmt in node.body]
        self.prefix = around
        node.bases = [self.visit(base) for base in node.bases]
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        return node

    def mangled(self, name: str) -> str:
        private = name.startswith("__") and not name.endswith("__") and "." not in name
        return f"_{self.prefix}{name}" if private and self.prefix else name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.mangled(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.mangled(node.arg)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self.mangled(node.attr)
        return self.generic_visit(node)


@functools.lru_cache(maxsize=32)
def _lambdas(file: str, text: str) -> tuple[Any, ...]:
    return tuple(node for node in ast.walk(parse(file, text)) if isinstance(node, ast.Lambda))


@functools.lru_cache(maxsize=32)
def _functions(file: str, text: str) -> tuple[Any, ...]:
    """Those that are statements; nothing else of a file is looked at."""
    found: list[ast.AST] = []
    todo: list[Any] = [parse(file, text)]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(node)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, part, ())
            if isinstance(inner, list):  # of a lambda or a choice it is an expression
                todo += inner
    return tuple(found)


def _find(function: Any, file: str, text: str) -> ast.FunctionDef | ast.Lambda | None:
    """The node that a function was compiled from, in the text as it is now; None if there is no
    such node, because the text was changed since."""
    code: types.CodeType = function.__code__
    same = [c for c in _codes(file, text).get(code.co_name, ()) if _key(c) == _key(code)]
    if same:
        nearest = min(same, key=lambda c: abs(c.co_firstlineno - code.co_firstlineno))
        return _node(nearest, file, text)
    node = _node(code, file, text)
    return node if node is not None and _is_rewritten(function, node) else None


def _is_rewritten(function: Any, node: ast.AST) -> bool:
    """Whether a module was loaded by something that rewrites `assert` (pytest does), so that the
    code of a function that has one is not what Python makes of its text."""
    loader = type(function.__globals__.get("__loader__"))
    rewritten = not loader.__module__.startswith(("importlib.", "_frozen_importlib", "zipimport"))
    return rewritten and any(isinstance(n, ast.Assert) for n in ast.walk(node))


@functools.lru_cache(maxsize=32)
def _codes(file: str, text: str) -> dict[str, list[types.CodeType]]:
    """The code of all functions in a text, by name."""
    parse(file, text)  # which refuses what is no Python
    try:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        whole = compile(text, printable(file), "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise SourceError(f"{file}: {NOT_AVAILABLE} ({error})") from None
    found: dict[str, list[types.CodeType]] = {}
    todo = [whole]
    while todo:
        code = todo.pop()
        found.setdefault(code.co_name, []).append(code)
        todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return found


# Of a code's flags those that its text decides: `*args`, `**kwargs`, generators and coroutines.
_FLAGS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE


def _key(code: types.CodeType) -> Any:
    """What a code does, wherever it stands."""
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    constants = tuple(map(_constant_key, code.co_consts))
    return code.co_name, code.co_code, names, counts, code.co_flags & _FLAGS, constants


def _constant_key(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return _key(value)
    if isinstance(value, tuple):
        return tuple(map(_constant_key, value))
    if isinstance(value, frozenset):
        return frozenset(map(_constant_key, value))
    return type(value), repr(value)  # which tells 1 from True, and 0.0 from -0.0


def _node(code: types.CodeType, file: str, text: str) -> ast.FunctionDef | ast.Lambda | None:
    """The node a code object was compiled from."""
    nodes = (_lambdas if code.co_name == "<lambda>" else _functions)(file, text)
    found: list[Any] = []
    for node in nodes:
        if getattr(node, "name", code.co_name) != code.co_name:
            continue
        first = min([d.lineno for d in getattr(node, "decorator_list", ())] + [node.lineno])
        if first <= code.co_firstlineno <= node.lineno:
            found.append(node)
    if len(found) > 1:
        lambdas = [n for n in found if isinstance(n, ast.Lambda)]
        same = _around(lambdas, code) or [n for n in lambdas if _same_code(n, code)]
        found = same or found
    return found[0] if found else None


def _around(nodes: list[ast.Lambda], code: types.CodeType) -> list[ast.Lambda]:
    """The lambda whose body a code object was compiled from: the smallest that spans all of
    its instructions.  Python before 3.11 does not tell where they are."""
    positions = getattr(code, "co_positions", tuple)
    # Instructions that stand for the lambda as a whole have no columns.
    places = [p for p in positions() if None not in p and p[3]]
    starts = [(line, column) for line, _, column, _ in places]
    ends = [(line, column) for _, line, _, column in places]

    def spans(node: ast.Lambda) -> bool:
        body = node.body
        first = (body.lineno, body.col_offset)
        last = (body.end_lineno or 0, body.end_col_offset or 0)
        return first <= min(starts) and max(ends) <= last

    fitting = [n for n in nodes if starts and spans(n)]
    return [min(fitting, key=lambda n: len(ast.unparse(n)))] if fitting else []


def _same_code(node: ast.Lambda, code: types.CodeType) -> bool:
    module = ast.fix_missing_locations(ast.Expression(node))
    inner = next(
        c for c in compile(module, "<lambda>", "eval").co_consts if isinstance(c, types.CodeType)
    )
    return (
        inner.co_varnames == code.co_varnames
        and inner.co_consts == code.co_consts
        and len(inner.co_code) == len(code.co_code)
        and set(inner.co_names) <= set(code.co_names) | set(code.co_freevars)
    )


def comments_of(lines: list[str], first: int) -> dict[int, tuple[int, str]]:
    """Every comment of the function, by line: its column and text."""
    comments: dict[int, tuple[int, str]] = {}
    if not any("#" in line for line in lines):
        return comments
    try:
        for token in tokenize.generate_tokens(iter(lines).__next__):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                comments[first + line - 1] = (column, token.string)
    except (tokenize.TokenError, IndentationError):
        pass  # a fragment of a larger expression, such as a lambda in a call
    return comments


# What Numba makes of a function that does not mean what its text says.
_NOT_READ = {
    "GUFunc": (
        "a function under @numba.guvectorize is not supported",
        "use s2s.vmap of a plain function",
    ),
    "StencilFunc": (
        "a function under @numba.stencil is not supported",
        "write the neighbours as slices: a[:-2] + a[2:]",
    ),
}


def why_not_read(value: Any) -> tuple[str, str] | None:
    """Message and advice for a callable whose source does not tell what it does."""
    kind = type(value)
    return _NOT_READ.get(kind.__name__) if kind.__module__.startswith("numba.") else None


def imported_as(alias: ast.alias) -> str:
    """The name that an import binds."""
    return alias.asname or alias.name.split(".")[0]

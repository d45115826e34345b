"""Refuses syntax outside the language before any work is done, with the place and the way out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..ir.errors import UnsupportedError
from .source import Source

REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Yield: ("generators are not supported", "append to a list and return it"),
    ast.YieldFrom: ("generators are not supported", "append to a list and return it"),
    ast.Await: ("`await` is not supported", "compute outside, pass the value in"),
    ast.AsyncFor: ("`async for` is not supported", "use a plain for loop"),
    ast.AsyncWith: ("`async with` is not supported", "open resources outside the function"),
    ast.AsyncFunctionDef: ("`async` functions are not supported", "use a plain function"),
    ast.Global: ("writing to a global is not supported", "return the value instead"),
    ast.Nonlocal: ("writing to an enclosing variable is not supported", "return the value instead"),
    ast.Try: ("`try` is not supported", "test the condition with `if`"),
    ast.With: ("`with` is not supported here", "open resources outside the function"),
    ast.ClassDef: ("a class inside the function is not supported", "define it at module level"),
    ast.Set: ("sets are not supported", "use a tuple or a list"),
    ast.SetComp: ("sets are not supported", "use a list comprehension"),
}  # fmt: skip
for _name, _advice in (("TryStar", "test the condition with `if`"), ("Match", "use if/elif")):
    if hasattr(ast, _name):
        REFUSED[getattr(ast, _name)] = (f"`{_name.lower()}` is not supported", _advice)


def quiet(node: ast.AST) -> bool:
    """`with np.errstate(divide="ignore")` says what is so anyway: no warning, no error."""
    calls = [i.context_expr for i in node.items] if isinstance(node, ast.With) else []
    return bool(calls) and all(
        isinstance(c, ast.Call)
        and ast.unparse(c.func) in ("np.errstate", "numpy.errstate", "errstate")
        and all(ast.unparse(k.value) in ("'ignore'", "'warn'") for k in c.keywords)
        for c in calls
    )


def on_adjoint(node: ast.AST) -> bool:
    """`with s2s.adjoint(h) as h_bar:`, whose body runs in the adjoint sweep."""
    if not isinstance(node, ast.With) or len(node.items) != 1:
        return False
    call = node.items[0].context_expr
    return isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == "adjoint"


def on_tape(node: ast.AST) -> bool:
    """`with GradientTape() as tape:`, one or several."""
    return isinstance(node, ast.With) and all(
        isinstance(i.context_expr, ast.Call)
        and ast.unparse(i.context_expr.func).split(".")[-1] == "GradientTape"
        for i in node.items
    )


def on_pause(node: ast.AST) -> bool:
    """`with tape.stop_recording():`, whose body the tape does not see."""
    if not isinstance(node, ast.With) or len(node.items) != 1:
        return False
    call = node.items[0].context_expr
    method = call.func if isinstance(call, ast.Call) else None
    return isinstance(method, ast.Attribute) and method.attr == "stop_recording"


def _jumps(body: list[ast.stmt], loop: bool = False) -> Iterator[ast.stmt]:
    """What leaves a block: returns, and jumps of loops around it."""
    for stmt in body:
        if isinstance(stmt, ast.Return) or (
            isinstance(stmt, (ast.Break, ast.Continue)) and not loop
        ):
            yield stmt
        elif not isinstance(stmt, ast.FunctionDef):
            inner = loop or isinstance(stmt, (ast.For, ast.While))
            yield from _jumps(getattr(stmt, "body", []), inner)
            yield from _jumps(getattr(stmt, "orelse", []), loop)


def fence(source: Source) -> None:
    """Walks the whole function, nested functions included, once."""
    if source.fenced:
        return
    for node in ast.walk(source.node):
        refusal = REFUSED.get(type(node))
        if on_adjoint(node) or on_tape(node) or on_pause(node):
            node = next(_jumps(getattr(node, "body", [])), None)
            kind = type(node).__name__.lower()
            refusal = node and (f"a {kind} inside this block is not supported", f"{kind} after it")
        if refusal is None or node is None or quiet(node):
            continue
        message, advice = refusal
        if not hasattr(node, "lineno"):
            continue
        span = source.span(node)
        raise UnsupportedError(
            message, span=span, source_line=source.line(span.line), advice=advice
        )
    source.fenced = True

"""Refuse statements whose support depends on where they stand: `with`, `global`, jumps out of the
block of a tape.

They become `Refused`, with the place and advice, which is an error when the evaluator reaches it.
What is unsupported wherever it stands, `cst_to_core` has refused already.
"""

from __future__ import annotations

from typing import Any

from ..ir.record import replace
from ..syntax import core as c
from ..syntax.names import local_names
from ..syntax.printer import show
from ..syntax.traverse import children, map_children
from .source import Source

_WITH = "`with` is not supported here", "open resources outside the function"
_GLOBAL = "writing to a global is not supported", "return the value instead"
_NONLOCAL = "writing to an enclosing variable is not supported", "return the value instead"


def is_errstate(node: c.With) -> bool:
    """`with np.errstate(divide="ignore")`, which states what holds in compiled code anyway: no
    warning, no error."""
    return bool(node.items) and all(
        isinstance(item.value, c.Call)
        and show(item.value.function) in ("np.errstate", "numpy.errstate", "errstate")
        and all(
            isinstance(k.value, c.Const) and k.value.value in ("ignore", "warn")
            for k in item.value.keywords
        )
        for item in node.items
    )


def on_adjoint(node: c.With) -> bool:
    """`with s2s.adjoint(h) as h_bar:`, whose body runs in the adjoint sweep."""
    return len(node.items) == 1 and _called(node.items[0].value) == "adjoint"


def on_tape(node: c.With) -> bool:
    """`with GradientTape() as tape:`, one or several."""
    return all(_called(item.value) == "GradientTape" for item in node.items)


def on_pause(node: c.With) -> bool:
    """`with tape.stop_recording():`, whose body the tape does not see."""
    if len(node.items) != 1 or not isinstance(node.items[0].value, c.Call):
        return False
    method = node.items[0].value.function
    return isinstance(method, c.Attr) and method.name == "stop_recording"


def _called(node: c.Expr) -> str:
    """The last part of the name of a function that is called."""
    function = node.function if isinstance(node, c.Call) else None
    if isinstance(function, c.Attr):
        return function.name
    return function.id if isinstance(function, c.Name) else ""


def check_subset(func: c.Func, nested: bool = False) -> c.Func:
    """A function in which what is unsupported is `Refused`, nested functions included."""
    declared = _refused_declaration(func, nested)
    if declared is not None:
        func = replace(func, body=(declared,))

    def checked(node: Any) -> Any:
        if isinstance(node, c.Func):
            return check_subset(node, nested=True)
        if isinstance(node, c.Global):  # of names that are only read
            return c.Pass(node.at)
        if isinstance(node, c.With):
            if on_adjoint(node) or on_tape(node) or on_pause(node):
                body = tuple(_without_jumps(stmt, False) for stmt in node.body)
                node = c.With(node.at, node.items, body)
            elif not is_errstate(node):
                return c.Refused(node.at, *_WITH, _bound_in(node))
        return map_children(node, checked)

    return map_children(func, checked)


def _refused_declaration(func: c.Func, nested: bool) -> c.Refused | None:
    """The first `global` or `nonlocal` that the function is refused for.  These statements hold
    for the whole function, wherever they stand, so that all of it is refused."""
    written = local_names(func)
    todo: list[c.Node] = [*func.body]
    for node in todo:
        if isinstance(node, c.Nonlocal):
            return c.Refused(node.at, *_NONLOCAL)
        # A function that is nested might find a local of the enclosing one under the name.
        if isinstance(node, c.Global) and (nested or written & {*node.names}):
            return c.Refused(node.at, *_GLOBAL)
        if not isinstance(node, c.Func):
            todo += children(node)
    return None


def _bound_in(node: c.With) -> tuple[str, ...]:
    inside = c.Func(node.at, "", c.Params(node.at), (node,))
    return tuple(sorted(local_names(inside)))


def _without_jumps(node: Any, in_loop: bool) -> Any:
    """A statement in which jumps out of the block around it are refused."""
    if isinstance(node, c.Return) or (isinstance(node, (c.Break, c.Continue)) and not in_loop):
        kind = type(node).__name__.lower()
        return c.Refused(
            node.at, f"a {kind} inside this block is not supported", f"{kind} after it"
        )
    if isinstance(node, (c.For, c.While)):
        body = tuple(_without_jumps(stmt, True) for stmt in node.body)
        orelse = tuple(_without_jumps(stmt, in_loop) for stmt in node.orelse)
        return replace(node, body=body, orelse=orelse)
    if isinstance(node, c.If):
        body = tuple(_without_jumps(stmt, in_loop) for stmt in node.body)
        orelse = tuple(_without_jumps(stmt, in_loop) for stmt in node.orelse)
        return replace(node, body=body, orelse=orelse)
    if isinstance(node, c.With):
        return c.With(node.at, node.items, tuple(_without_jumps(s, in_loop) for s in node.body))
    return node


def checked(source: Source) -> c.Func:
    """The function of a source, in which what is unsupported is `Refused`."""
    if source.checked is None:
        source.checked = check_subset(source.node)
    return source.checked

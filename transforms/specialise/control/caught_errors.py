"""Refuse errors that a handler of the program would catch: compiled code catches none.

A `Guard` stands where the body of a `try` begins (`frontend/desugar/try_blocks.py`).  When a
function has been specialised, no statement from the lines of a guard may fail with an error that
the guard is about, neither in compiled code nor in Python.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...ir.errors import UnsupportedError
from ...ir.nodes import Assign, Call, Custom, Draw, For, Op, Origin, Print, Raise, Span, walk
from ...ir.op_registry import RULES
from ...ir.record import field, record
from ...syntax import core
from ..dispatch import runs
from ..places import Frame, Places
from ..session import Part
from ..values import Obj, TupleVal, Value

_Classes = tuple[type[BaseException], ...]
_ADVICE = "test the condition with `if`"
_SILENT = "printing with other print options is not supported", "print after the block"
_LINALG = (np.linalg.LinAlgError, ValueError)

_CAN_FAIL = ("index", "update", "update_add", "list_get", "list_set", "list_drop")
_COUNTS = (("shape", 0), ("list_len", 0))
# The errors that operations may raise in compiled code, by name or kind; others raise none.
_FAILURES: dict[str, _Classes] = {
    "index": (IndexError,),
    "update": (IndexError, ValueError),
    "list_get": (IndexError,),
    "list_set": (IndexError,),
    "list_drop": (IndexError,),
    "list_stack": (ValueError,),
    "max": (ValueError,),
    "min": (ValueError,),
    "argmax": (ValueError,),
    "argmin": (ValueError,),
    "reshape": (ValueError,),
    "contract": (ValueError,),
    "create": (ValueError,),
    "join": (ValueError,),
    "opaque": _LINALG,
}
_CREATE_ALIKE = ("zeros_like", "ones_like", "empty_like", "full_like", "pack", "undef")
# Operations on Python numbers for which CPython raises no errors.
_TOTAL = frozenset(
    """add subtract multiply negative positive absolute maximum minimum where literal copy cast same
    equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not
    logical_xor bitwise_and bitwise_or bitwise_xor invert stop_gradient real imag conjugate
    """.split()
)
_QUOTIENTS = frozenset("divide floor_divide remainder power float_power reciprocal".split())


@record
class Caught:
    """The lines in which these errors are caught; `finally_`: all errors, by a `finally`;
    `silent`: nothing may be printed there."""

    frame: Frame
    span: Span
    types: _Classes
    finally_: bool
    silent: bool


@record(eq=False)
class CaughtErrors(Part):
    """What the program would catch."""

    places: Places
    caught: list[Caught] = field(default_factory=list, init=False)

    @runs(core.Guard)
    def run_Guard(self, node: core.Guard) -> None:
        types = tuple(cls for t in node.types for cls in self._classes(t))
        frame = self.places.frame
        span = frame.source.span(node)
        self.caught.append(Caught(frame, span, types, node.before_finally, node.silent))

    def _classes(self, node: core.Expr) -> _Classes:
        try:
            found: list[Any] = list(_members(self.evaluator.eval(node)))
        except Exception as error:  # which Python raises only where there is something to catch
            if getattr(error, "said", None) is None:
                raise
            found = [None]
        if not all(isinstance(c, type) and issubclass(c, BaseException) for c in found):
            self.places.refuse(node, "only exception classes can be caught", "name them")
        return tuple(found)

    def check(self, frame: Frame) -> None:
        """Refuses what the function of a frame, which has been specialised, would catch."""
        for caught in [c for c in self.caught if c.frame is frame]:
            loops: dict[str, For] = {}
            for stmt in walk(self.b.block):
                if isinstance(stmt, For):
                    loops[stmt.index.name] = stmt
                if stmt.origin is None or not _inside(stmt.origin, caught):
                    continue
                if caught.silent and isinstance(stmt, Print):
                    raise self._refusal(stmt.origin, caught, *_SILENT)
                if isinstance(stmt, Assign) and stmt.op.name in ("index", "list_get"):
                    if not can_fail(stmt.op, loops, self.b.definitions):
                        continue
                error = next(_matching(compiled_errors(stmt), caught), None)
                if error is not None:
                    raise self._refusal(stmt.origin, caught, *_text(caught, error))
                error = next(_matching(python_errors(stmt), caught), None)
                if error is not None and not caught.finally_:
                    raise self._refusal(stmt.origin, caught, *_text(caught, error, False))

    def explained(self, error: Exception, frame: Frame) -> Exception:
        """An error that is certain, or the refusal to catch it."""
        stmt = frame.stmt
        if getattr(error, "said", None) is None or stmt is None:
            return error
        span = frame.source.span(stmt)
        for caught in self.caught:
            around = caught.frame is frame and _within(span, caught.span)
            if around and any(_matching((type(error),), caught)):
                return self.places.refusal(stmt, *_text(caught, type(error)))
        return error

    def _refusal(self, origin: Origin, caught: Caught, message: str, advice: str) -> Exception:
        depth = len(caught.frame.calls)
        span = origin.calls[depth] if len(origin.calls) > depth else origin.span
        line = caught.frame.source.line(span.line)
        return UnsupportedError(message, span=span, source_line=line, advice=advice)


def _text(caught: Caught, error: type[BaseException], compiled: bool = True) -> tuple[str, str]:
    name = error.__name__ if error is not Exception else "an error"
    if caught.finally_:
        return (
            f"`finally` after {name} here is not supported",
            "write its statements after the block",
        )
    if not compiled:
        return f"catching {name} here is not supported: compiled code does not raise it", _ADVICE
    return f"catching {name} here is not supported", _ADVICE


def _members(value: Value) -> Iterator[Any]:
    if isinstance(value, TupleVal):
        for inner in value.values:
            yield from _members(inner)
    elif isinstance(value, Obj) and isinstance(value.value, tuple):
        yield from value.value
    else:
        yield getattr(value, "value", None)


def _inside(origin: Any, caught: Caught) -> bool:
    """Whether a statement was made from the lines of a guard, or from what they call."""
    calls = caught.frame.calls
    if origin.calls[: len(calls)] != calls:
        return False
    inner = origin.calls[len(calls) :]
    return _within(inner[0] if inner else origin.span, caught.span)


def _within(span: Span, around: Span) -> bool:
    return (
        span.file == around.file
        and (around.line, around.col) <= (span.line, span.col)
        and (span.end_line, span.end_col) <= (around.end_line, around.end_col)
    )


def _matching(errors: _Classes, caught: Caught) -> Iterator[type[BaseException]]:
    types = (BaseException,) if caught.finally_ else caught.types
    for error in errors:
        if types and (error is Exception or any(issubclass(error, t) for t in types)):
            yield error  # `Exception` stands for any


def can_fail(op: Op, loops: dict[str, For], definitions: Mapping[str, Op]) -> bool:
    """Whether an operation may raise; the elements that a loop runs over are there."""
    if op.name in ("index", "list_get") and len(op.args) == 2:
        loop = loops.get(getattr(op.args[1], "name", ""))
        stop = loop and definitions.get(getattr(loop.stop, "name", ""))
        counted = stop is not None and (stop.name, stop.attrs.get("axis", 0)) in _COUNTS
        if loop and stop and counted and stop.args[0] == op.args[0]:
            return False
    return op.name in _CAN_FAIL or "linalg" in RULES[op.name].kind


def compiled_errors(stmt: Any) -> _Classes:
    """The errors that a statement may raise in compiled code."""
    if isinstance(stmt, Raise):
        found = np.linalg.LinAlgError if stmt.exception == "LinAlgError" else None
        return (found or getattr(builtins, stmt.exception, Exception),)
    if isinstance(stmt, (Call, Custom)):
        return (Exception,)
    if isinstance(stmt, Draw):
        return (ValueError,)
    if not isinstance(stmt, Assign) or stmt.op.name in _CREATE_ALIKE:
        return ()
    name = stmt.op.name
    return _FAILURES.get(name) or _FAILURES.get(RULES[name].kind, ())


def python_errors(stmt: Any) -> _Classes:
    """What CPython raises where compiled code computes an infinity, NaN or another number."""
    if not isinstance(stmt, Assign) or RULES[stmt.op.name].kind != "elementwise":
        return ()
    if stmt.op.name in _TOTAL or getattr(stmt.target.type, "ndim", 0):
        return ()
    if stmt.op.name in _QUOTIENTS:
        # NumPy's numbers warn; Python's are weak.
        weak = getattr(stmt.target.type, "weak", True)
        return (ZeroDivisionError, OverflowError) if weak else ()
    return (ValueError, OverflowError)

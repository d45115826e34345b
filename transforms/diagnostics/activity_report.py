"""How derivatives flow through a function, in the user's words: which of the variables carry
them, and why some parameters have none."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterable, Iterator

from ..autodiff.activity import activity, edges
from ..ir.nodes import (
    Assign,
    Custom,
    Draw,
    For,
    Function,
    If,
    Operand,
    Origin,
    Save,
    Span,
    Stmt,
    Var,
    While,
    is_float,
    operands_of,
    targets_of,
    walk,
)
from ..ir.record import record, replace


@record(frozen=True)
class Place:
    """A statement of the user's: its file and line, its text, and the inlined function it
    stands in (empty for the user's own)."""

    file: str
    line: int
    text: str
    inside: str = ""

    def __str__(self) -> str:
        return f"L{self.line}" if not self.inside else self.inside


@record(frozen=True)
class ActiveVariable:
    """A variable of the user's that has an adjoint, and where it is assigned.  `inside` is
    the helper that it is local to."""

    name: str
    places: tuple[Place, ...]
    inside: str = ""


_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep  # the compiler


def of_library(origin: Origin) -> bool:
    """Whether a statement belongs to a library function that s2s has a program for."""
    return origin.span.file.startswith(_OURS)


def in_user_code(origin: Origin) -> Origin:
    """The statement itself, or the user's call of the library function it belongs to."""
    if not of_library(origin):
        return origin
    outside = [i for i, span in enumerate(origin.calls) if not span.file.startswith(_OURS)]
    if not outside:
        return origin
    last = outside[-1]
    span = origin.calls[last]
    return replace(
        origin, span=span, stmt=span, frame=origin.frame[:last], calls=origin.calls[:last]
    )


def place_of(origin: Origin | None) -> Place | None:
    if origin is None:
        return None
    origin = in_user_code(origin)
    span = origin.stmt
    text = " ".join(linecache.getline(span.file, span.line).split())
    return Place(span.file, span.line, text, origin.frame[-1] if origin.frame else "")


def text_of(origin: Origin) -> str:
    """The user's text for an expression, in one line."""
    return span_text(in_user_code(origin).span)


def span_text(span: Span) -> str:
    lines = [linecache.getline(span.file, n) for n in range(span.line, span.end_line + 1)]
    if lines:
        lines[-1] = lines[-1][: span.end_col]  # first the end: it may be the first line, too
        lines[0] = lines[0][span.col :]
    return " ".join(" ".join(lines).split())


def active_variables(
    function: Function, wrt: Iterable[str], results: Iterable[Operand]
) -> list[ActiveVariable]:
    """The user's variables with adjoints, in order of appearance."""
    active = activity(function, wrt, results)
    found: dict[tuple[str, str], dict[Place, None]] = {}
    for stmt in walk(function.body):
        place = place_of(stmt.origin)
        # What a loop or branch merges is assigned inside it.
        if place is not None and not isinstance(stmt, (If, For, While)):
            assert stmt.origin is not None
            own = _words(stmt.origin)
            for v in targets_of(stmt):
                if v in active and v.user in own:
                    found.setdefault((place.inside, v.user), {})[place] = None
    return [ActiveVariable(name, tuple(places), inside) for (inside, name), places in found.items()]


def _words(origin: Origin) -> set[str]:
    """The names in a statement of the user's."""
    return set() if of_library(origin) else set(re.findall(r"\w+", span_text(origin.stmt)))


# ---------------------------------------------------------------- why there is no derivative

_FLAT = {
    "floor": "np.floor",
    "ceil": "np.ceil",
    "trunc": "np.trunc",
    "rint": "rounding",
    "sign": "np.sign",
    "spacing": "np.spacing",
    "floor_divide": "//",
}
_COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
_TESTS = {"isnan", "isinf", "isfinite", "signbit", "any", "all", "count_nonzero"}
_SHAPE_ONLY = {
    "shape", "zeros_like", "ones_like", "empty_like", "full_like", "broadcast_like", "unbroadcast",
    "list_len", "list_zeros_like",
}  # fmt: skip

_Read = tuple[Stmt, str, str]  # a statement that reads the first value for the second


class Flow:
    """What reaches what in a function: by derivatives, and at all."""

    def __init__(self, function: Function, results: Iterable[Operand]) -> None:
        self.carrying: dict[str, set[str]] = {}
        self.reads: dict[str, list[_Read]] = {}
        backward: dict[str, set[str]] = {}
        for stmt in walk(function.body):
            for (_, source), (_, target) in edges(stmt):
                self.carrying.setdefault(source, set()).add(target)
            for source, target in _data(stmt):
                self.reads.setdefault(source, []).append((stmt, source, target))
                backward.setdefault(target, set()).add(source)
        outs = [r.name for r in results if isinstance(r, Var)]
        self.useful = _reach(backward, outs)

    def why_inactive(self, param: Var) -> str:
        """Why the result has no derivative with respect to a float parameter."""
        if param.name not in self.reads:
            return "is never read"
        if param.name not in self.useful:
            return self._lost(param)
        varied = _reach(self.carrying, [param.name])
        ways: dict[str, list[str]] = {}
        for name in sorted(varied, key=lambda n: n != param.name):
            for stmt, source, target in self.reads.get(name, ()):
                if target in self.useful and target not in self.carrying.get(source, ()):
                    place = place_of(stmt.origin)
                    lines = ways.setdefault(self._way(stmt, source, target), [])
                    if place is not None and str(place) not in lines:
                        lines.append(str(place))
        if not ways:
            return "does not reach the result through floats"
        texts = [f"{way} ({', '.join(lines)})" if lines else way for way, lines in ways.items()]
        return "reaches the result only " + " and ".join(texts)

    def _lost(self, param: Var) -> str:
        """It is read, but not for the result."""
        lines: dict[str, None] = {}
        for stmt, _, _ in self.reads[param.name]:
            place = place_of(stmt.origin)
            if place is not None:
                lines[str(place)] = None
        where = f" (what {', '.join(lines)} computes from it is not used)" if lines else ""
        return f"does not reach the result{where}"

    def _way(self, stmt: Stmt, source: str, target: str) -> str:
        """How a value is read by a statement that passes no derivative on."""
        if isinstance(stmt, Draw):
            return "through a random draw"
        if not isinstance(stmt, Assign):
            return "as a condition" if isinstance(stmt, (If, While)) else "as a bound of a loop"
        op = stmt.op.name
        if op == "stop_gradient":
            return "through s2s.stop_gradient"
        if op in _FLAT:
            return f"through {_FLAT[op]}, whose derivative is 0"
        if op in _COMPARISONS or op in _TESTS:
            return "in a comparison"
        if op in _SHAPE_ONLY:
            return "by its shape"
        if self._is_index(target):
            return "as an index"
        if op == "cast" and not is_float(stmt.target.type):
            return f"converted to {_kind(stmt.target)}"
        if not is_float(stmt.target.type):
            return f"through {op}, which gives {_kind(stmt.target)}s"
        return f"through {op}, whose derivative by it is 0"

    def _is_index(self, name: str) -> bool:
        """Whether an integer ends up, perhaps by arithmetic, as the position of an element."""
        integers = [name]
        for n in integers:
            for stmt, source, target in self.reads.get(n, ()):
                if isinstance(stmt, Assign) and stmt.op.name in ("index", "update", "list_get"):
                    if stmt.op.args[0] != Var(source, stmt.target.type):
                        return True
                elif isinstance(stmt, Assign) and not is_float(stmt.target.type):
                    if target not in integers:
                        integers.append(target)
        return False


def _kind(v: Var) -> str:
    return v.type.dtype.rstrip("0123456789")


def _data(stmt: Stmt) -> Iterator[tuple[str, str]]:
    """Which names of a statement decide which, nested blocks not counted."""
    if isinstance(stmt, Save):
        pairs = [(x, stmt.slot.name) for x in (stmt.value,)]
    elif isinstance(stmt, Assign) and stmt.op.name == "restore":
        yield stmt.op.attrs["slot"].name, stmt.target.name
        return
    elif isinstance(stmt, If):
        pairs = []
        for phi in stmt.phis:
            pairs += [(x, phi.target.name) for x in (phi.then_value, phi.else_value, stmt.cond)]
    elif isinstance(stmt, (For, While)):
        bounds = [stmt.until] if stmt.until is not None else []
        if isinstance(stmt, For):
            bounds += [stmt.start, stmt.stop, stmt.step]
            bounds += [stmt.count] if stmt.count is not None else []
        else:
            bounds.append(stmt.cond)
        pairs = []
        for c in stmt.carried:
            for v in (c.phi, c.result):
                pairs += [(x, v.name) for x in (c.init, c.next, *bounds)]
        if isinstance(stmt, For):
            pairs += [(x, stmt.index.name) for x in bounds]
        if stmt.trips is not None:
            pairs += [(x, stmt.trips.name) for x in bounds]
    elif isinstance(stmt, Custom):
        pairs = [(x, t.name) for t in stmt.targets for x in (*stmt.values, *stmt.inputs)]
    else:
        pairs = [(x, t.name) for t in targets_of(stmt) for x in operands_of(stmt)]
    for x, target in pairs:
        if isinstance(x, Var):
            yield x.name, target


def _reach(graph: dict[str, set[str]], start: Iterable[str]) -> set[str]:
    seen = set(start)
    todo = list(seen)
    while todo:
        for name in graph.get(todo.pop(), ()):
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return seen

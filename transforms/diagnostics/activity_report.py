"""Activity report in terms of the user's source: the active variables, and the reasons why
parameters are inactive."""

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
class SourceLocation:
    """The source location of a user's statement: its file and line, its text, and the inlined
    function that contains it (empty for the user's own function)."""

    file: str
    line: int
    text: str
    inside: str = ""

    def __str__(self) -> str:
        return f"L{self.line}" if not self.inside else self.inside


@record(frozen=True)
class ActiveVariable:
    """A user's variable that has an adjoint, and the locations of its assignments.  `inside` is
    the inlined function that it is local to."""

    name: str
    places: tuple[SourceLocation, ...]
    inside: str = ""


_COMPILER_DIR = os.path.dirname(os.path.dirname(__file__)) + os.sep  # `transforms/`


def in_library(origin: Origin) -> bool:
    """True if a statement belongs to a library function that s2s implements as a program
    (`rules/library/`)."""
    return origin.span.file.startswith(_COMPILER_DIR)


def in_user_code(origin: Origin) -> Origin:
    """The origin of a statement, or that of the user's call of the library function that contains
    it."""
    if not in_library(origin):
        return origin
    outside = [i for i, span in enumerate(origin.calls) if not span.file.startswith(_COMPILER_DIR)]
    if not outside:
        return origin
    last = outside[-1]
    span = origin.calls[last]
    return replace(
        origin, span=span, stmt=span, frame=origin.frame[:last], calls=origin.calls[:last]
    )


def location_of(origin: Origin | None) -> SourceLocation | None:
    if origin is None:
        return None
    origin = in_user_code(origin)
    span = origin.stmt
    text = " ".join(linecache.getline(span.file, span.line).split())
    return SourceLocation(span.file, span.line, text, origin.frame[-1] if origin.frame else "")


def text_of(origin: Origin) -> str:
    """The user's text for an expression, in one line."""
    return span_text(in_user_code(origin).span)


def span_text(span: Span) -> str:
    lines = [linecache.getline(span.file, n) for n in range(span.line, span.end_line + 1)]
    if lines:
        lines[-1] = lines[-1][: span.end_col]  # the end first: it may also be the first line
        lines[0] = lines[0][span.col :]
    return " ".join(" ".join(lines).split())


def active_variables(
    function: Function, wrt: Iterable[str], results: Iterable[Operand]
) -> list[ActiveVariable]:
    """The user's variables with adjoints, in order of appearance."""
    active = activity(function, wrt, results)
    found: dict[tuple[str, str], dict[SourceLocation, None]] = {}
    for stmt in walk(function.body):
        place = location_of(stmt.origin)
        # Phis of a loop or branch are skipped: the variable is assigned inside it.
        if place is not None and not isinstance(stmt, (If, For, While)):
            assert stmt.origin is not None
            own = _words(stmt.origin)
            for v in targets_of(stmt):
                if v in active and v.user in own:
                    found.setdefault((place.inside, v.user), {})[place] = None
    return [ActiveVariable(name, tuple(places), inside) for (inside, name), places in found.items()]


def _words(origin: Origin) -> set[str]:
    """The words in the text of a user's statement."""
    return set() if in_library(origin) else set(re.findall(r"\w+", span_text(origin.stmt)))


# ---------------------------------------------------------------- reasons for inactivity

# Operations whose derivative is 0, as users write them.
_ZERO_DERIVATIVE = {
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

_Read = tuple[Stmt, str, str]  # a statement, a value it reads, and the value computed from it


class DependenceGraph:
    """The dependences of a function.  `carrying` are the edges along which derivatives flow,
    `reads` all data and control dependences, and `useful` the values that influence a result."""

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
        """The reason why the result has no derivative with respect to a float parameter."""
        if param.name not in self.reads:
            return "is never read"
        if param.name not in self.useful:
            return self._unused(param)
        varied = _reach(self.carrying, [param.name])
        uses: dict[str, list[str]] = {}
        for name in sorted(varied, key=lambda n: n != param.name):
            for stmt, source, target in self.reads.get(name, ()):
                if target in self.useful and target not in self.carrying.get(source, ()):
                    place = location_of(stmt.origin)
                    lines = uses.setdefault(self._describe_use(stmt, source, target), [])
                    if place is not None and str(place) not in lines:
                        lines.append(str(place))
        if not uses:
            return "does not reach the result through floats"
        texts = [f"{use} ({', '.join(lines)})" if lines else use for use, lines in uses.items()]
        return "reaches the result only " + " and ".join(texts)

    def _unused(self, param: Var) -> str:
        """The reason for a parameter that is read but does not influence the result."""
        lines: dict[str, None] = {}
        for stmt, _, _ in self.reads[param.name]:
            place = location_of(stmt.origin)
            if place is not None:
                lines[str(place)] = None
        where = f" (what {', '.join(lines)} computes from it is not used)" if lines else ""
        return f"does not reach the result{where}"

    def _describe_use(self, stmt: Stmt, source: str, target: str) -> str:
        """A description of the use of a value in a statement that propagates no derivative."""
        if isinstance(stmt, Draw):
            return "through a random draw"
        if not isinstance(stmt, Assign):
            return "as a condition" if isinstance(stmt, (If, While)) else "as a bound of a loop"
        op = stmt.op.name
        if op == "stop_gradient":
            return "through s2s.stop_gradient"
        if op in _ZERO_DERIVATIVE:
            return f"through {_ZERO_DERIVATIVE[op]}, whose derivative is 0"
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
        """True if an integer is used as an array index, directly or through arithmetic."""
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
    """The data and control dependences of one statement, as pairs of names, without nested
    blocks."""
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

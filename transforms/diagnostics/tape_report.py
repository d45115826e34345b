"""Tape report: the values stored for the adjoint sweep, with their loops and sizes in bytes, and
the values that are recomputed instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..bufferize.bufferize import bufferize
from ..checkpoint.tape_arrays import SlotPlan
from ..ir.nodes import (
    Array,
    Assign,
    Const,
    Custom,
    For,
    Function,
    ListOf,
    Module,
    Operand,
    Origin,
    Save,
    Scalar,
    Stmt,
    Type,
    Var,
    While,
    blocks_of,
    inner_targets_of,
    is_float,
    operands_of,
    targets_of,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.symbolic_dims import Atom, Dim, Facts, floordiv
from .activity_report import SourceLocation, location_of, text_of

# The largest trip count of a loop whose iterations are enumerated.
MAX_ENUMERATED_ITERATIONS = 100_000


@dataclass(frozen=True)
class Size:
    """A quantity as a formula in the sizes of the arguments, and as a number for the actual sizes
    (None if it is known only at run time)."""

    formula: str
    number: int | None


@dataclass(frozen=True)
class Loop:
    """A user's loop; `trips` is None if the trip count is known only at run time."""

    place: SourceLocation | None
    trips: Size | None


@dataclass(frozen=True)
class Saved:
    """A value stored for the adjoint sweep.  `kind` is "array" (indexed by iteration), "stack",
    "copy", "snapshots" or "kept" (in its own memory, without a copy).  `loops` enclose it,
    outermost first.  `expression` is the user's text if the value has no name there."""

    name: str
    kind: str
    place: SourceLocation | None
    expression: str
    loops: tuple[Loop, ...]
    per_iteration: Size | None
    iterations: Size | None
    total: Size | None


@dataclass(frozen=True)
class Recomputed:
    """A value recomputed in the sweep.  `why` is "cheap", "checkpoint" or "call"."""

    name: str
    place: SourceLocation | None
    expression: str
    why: str


class Sizes:
    """Formats dims as formulas in the user's terms, and evaluates them.  `names` are the user's
    names of the parameters, `numbers` the actual sizes."""

    def __init__(
        self, function: Function, facts: Facts, names: Mapping[str, str], numbers: Mapping[str, int]
    ) -> None:
        self.facts = facts
        self.numbers = numbers
        self.names = {v.name: v.user for v in bound(function) if v.user} | dict(names)

    def product(self, factors: list[Dim]) -> Size:
        const, texts, number = 1, [], 1
        known = True
        for factor in factors:
            dim = self.facts.canonical(factor)
            value = dim.substitute(self.numbers)
            known = known and value.is_const
            number *= value.const if value.is_const else 1
            if dim.is_const:
                const *= dim.const
            else:
                texts.append(self.text(dim))
        if const != 1 or not texts:
            texts.insert(0, str(const))
        return Size(_times(texts), number if known else None)

    def text(self, dim: Dim) -> str:
        parts = []
        for monomial, k in sorted(dim.terms, key=lambda term: term[1] < 0):
            text = " * ".join(self.symbol(s) for s in monomial)
            parts.append(text if k == 1 else f"-{text}" if k == -1 else f"{k} * {text}")
        if dim.const or not parts:
            parts.append(str(dim.const))
        return " + ".join(parts).replace("+ -", "- ")

    def symbol(self, symbol: str) -> str:
        if isinstance(symbol, Atom):
            parts = ["" if p is None else self.text(p) for p in symbol.parts]
            if symbol.op == "max0":
                return f"max({parts[0]}, 0)"
            if symbol.op == "len":
                return f"len(range({parts[0]})[{':'.join(parts[1:3])}])"
            if symbol.op == "count":
                return f"count_nonzero({parts[0]})"
            return f"({parts[0]}) {'//' if symbol.op == 'floordiv' else '%'} ({parts[1]})"
        name, _, axis = symbol.rpartition(".")
        if name and axis.isdigit():
            return f"{self.names.get(name, name)}.shape[{axis}]"
        return self.names.get(symbol, symbol)

    def of(self, x: Operand) -> Dim:
        if isinstance(x, Const):
            return Dim.of(int(x.value))
        value = x.type.value if isinstance(x.type, Scalar) else None
        return value if value is not None else Dim.of(x.name)

    def bytes(self, type_: Type) -> list[Dim] | None:
        if isinstance(type_, ListOf) or type_.dtype in ("record", "rng"):
            return None
        return [Dim.of(np.dtype(type_.dtype).itemsize), *type_.shape]

    def bounds(self, loop: For | While) -> tuple[Dim, Dim, int] | None:
        """Start, stop and step of a loop; None if it may exit early or the step is unknown."""
        if isinstance(loop, While) or loop.until is not None:
            return None
        if loop.count is not None:
            return Dim.of(0), self.of(loop.count), 1
        start, stop, step = (self.of(x) for x in (loop.start, loop.stop, loop.step))
        return (start, stop, step.const) if step.is_const and step.const else None

    def trips(self, loop: For | While) -> Size | None:
        bounds = self.bounds(loop)
        if bounds is None:
            return None
        start, stop, step = bounds
        span = stop - start if step > 0 else start - stop
        width = abs(step)
        return self.product([span if width == 1 else floordiv(span + (width - 1), Dim.of(width))])

    def iterations(self, loops: list[For | While], at: Mapping[str, int]) -> int | None:
        """The number of iterations of a loop nest, for the indices `at` of outer loops; None if
        it is unknown."""
        if not loops:
            return 1
        first, *rest = loops
        bounds = self.bounds(first)
        if bounds is None:
            return None
        known = {**self.numbers, **at}
        start, stop = (self.facts.canonical(d).substitute(known) for d in bounds[:2])
        if not (start.is_const and stop.is_const):
            return None
        indices = range(start.const, stop.const, bounds[2])
        assert isinstance(first, For)
        if not any(self._reads(loop, first.index.name) for loop in rest):
            inner = self.iterations(rest, at)
            return None if inner is None else len(indices) * inner
        if len(indices) > MAX_ENUMERATED_ITERATIONS:
            return None
        each = [self.iterations(rest, {**at, first.index.name: i}) for i in indices]
        return None if None in each else sum(n for n in each if n is not None)

    def _reads(self, loop: For | While, index: str) -> bool:
        """True if the bounds of a loop depend on an index."""
        bounds = self.bounds(loop)
        return bounds is not None and any(index in d.symbols for d in bounds[:2])


def bound(function: Function) -> Iterator[Var]:
    """All values that a function binds."""
    yield from function.params
    for stmt in walk(function.body):
        yield from targets_of(stmt)
        yield from inner_targets_of(stmt)


def saved(function: Function, sizes: Sizes) -> list[Saved]:
    """The stored slots of a function after tape planning (`checkpoint/plan_tape.py`)."""
    plans: dict[str, SlotPlan] = function.notes.get("slots", {})
    loops = {s.label: s for s in walk(function.body) if isinstance(s, (For, While)) and s.label}
    found = []
    for stmt in walk(function.body):
        if not isinstance(stmt, Save) or stmt.slot.name not in plans:
            continue
        plan = plans[stmt.slot.name]
        around = [loops[label] for label in plan.loops]
        each = sizes.bytes(stmt.slot.type)
        per = None if each is None else sizes.product(each)
        trips = [sizes.trips(loop) for loop in around]
        iterations = total = None
        if per is not None and None not in trips:
            texts = [t.formula for t in trips if t is not None]
            iterations = Size(_times(texts), sizes.iterations(around, {}))
            number = None
            if per.number is not None and iterations.number is not None:
                number = per.number * iterations.number
            total = Size(_times([per.formula, *texts]), number)
        found.append(
            Saved(
                _user_name(stmt.value, stmt.slot.name),
                "array" if plan.kind == "dense" else "stack",
                location_of(stmt.origin),
                _expression(stmt.value, stmt.origin),
                tuple(Loop(location_of(s.origin), t) for s, t in zip(around, trips)),
                per,
                iterations,
                total,
            )
        )
    return found


def _times(texts: list[str]) -> str:
    """A product of formulas."""
    if len(texts) == 1:
        return texts[0]
    return " * ".join(f"({t})" if _is_sum(t) else t for t in texts)


def _is_sum(text: str) -> bool:
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if depth == 0 and text[i : i + 3] in (" + ", " - ", " //", " % "):
            return True
    return False


def copies(module: Module, sizes: Sizes) -> list[Saved]:
    """The versions of arrays that are copied because the sweep reads them after they are
    overwritten, in a module after tape planning."""
    function = bufferize(module).main
    kept = set(function.notes.get("kept", ())) - set(function.notes.get("slot_variables", ()))
    found = []
    for stmt, around in _nested(function.body, ()):
        if not isinstance(stmt, Assign) or stmt.target.name not in kept or stmt.op.name != "copy":
            continue
        loops = tuple(Loop(location_of(s.origin), sizes.trips(s)) for s in around)
        each = sizes.bytes(stmt.target.type)
        size = None if each is None else sizes.product(each)
        # In a loop, each iteration overwrites the copy of the previous one.
        found.append(Saved(stmt.target.name, "copy", None, "", loops, size, None, size))
    return found


def kept(function: Function, sizes: Sizes) -> list[Saved]:
    """The arrays of the forward part that stay in memory because the adjoint sweep reads them, in
    a function after tape planning."""
    stmts = list(walk(function.body))
    read = {
        x.name
        for s in stmts
        if s.origin is not None and s.origin.sweep and not s.origin.tangent
        for x in _contents_read(s)
        if isinstance(x, Var)
    }
    found = []
    for stmt in function.body:
        o = stmt.origin
        if o is None or o.sweep or (isinstance(stmt, Assign) and _is_view(stmt)):
            continue
        for v in targets_of(stmt):
            each = sizes.bytes(v.type) if isinstance(v.type, Array) else None
            if v.name in read and each is not None:
                size = sizes.product(each)
                text = _expression(v, o)
                found.append(
                    Saved(v.user or v.name, "kept", location_of(o), text, (), size, None, size)
                )
    return found


def _contents_read(stmt: Stmt) -> Sequence[Operand]:
    """The operands whose contents are read, not only their shapes."""
    if isinstance(stmt, Assign):
        if stmt.op.name in ("shape", "zeros_like", "ones_like", "empty_like"):
            return ()
        if stmt.op.name in ("unbroadcast", "broadcast_like"):
            return stmt.op.args[:1]
    return tuple(operands_of(stmt))


def _is_view(stmt: Assign) -> bool:
    kind = RULES[stmt.op.name].kind
    items = stmt.op.attrs.get("items", ())
    return kind == "view" or (kind == "index" and not {"array", "mask"} & {i[0] for i in items})


def snapshots(before: Function, sizes: Sizes) -> list[Saved]:
    """Upper bounds of the snapshots of loops under `s2s.checkpoint`, in a function after
    specialisation."""
    found = []
    for loop in walk(before.body):
        if not isinstance(loop, For) or loop.budget is None:
            continue
        amount, place = sizes.of(loop.budget.amount), location_of(loop.origin)
        if loop.budget.in_bytes:
            size = sizes.product([amount])
            found.append(Saved("snapshots", "snapshots", place, "", (), size, None, size))
            continue
        for v in (c.phi for c in loop.carried):
            each = sizes.bytes(v.type) if v.user and is_float(v.type) else None
            if each is not None:
                size = sizes.product([*each, amount])
                found.append(Saved(v.user, "snapshots", place, "", (), size, None, size))
    return found


def recomputed(module: Module, before: Module) -> list[Recomputed]:
    """The values that the sweep recomputes.  `module` is the program after tape planning, `before`
    the program after specialisation."""
    found: dict[Recomputed, None] = {}
    for function in module.functions.values():
        origins = {
            v.name: (s.origin, s) for s in walk(function.body) for v in targets_of(s) if s.origin
        }
        for name, value in function.notes.get("recomputed", {}).items():
            if name not in origins or _trivial(origins[name][1]):
                continue
            origin = origins.get(value.name, origins[name])[0]
            text = _expression(value, origin)
            if not value.user and not any(c.isalpha() for c in text):
                continue
            found[Recomputed(value.user or text, location_of(origin), text, "cheap")] = None
        product = function.notes.get("product")
        if product is not None:
            found[Recomputed(product.function, None, "", "call")] = None
    for function in before.functions.values():
        names = {v.name for v in bound(function)}
        for stmt in walk(function.body):
            if isinstance(stmt, For) and stmt.budget is not None:
                place = location_of(stmt.origin)
                text = "" if place is None else place.text.rstrip(":")
                found[Recomputed(text, place, text, "checkpoint")] = None
            if isinstance(stmt, Custom):
                again = [v for s in walk(stmt.pullback.body) for v in targets_of(s)]
                if any(v.name in names for v in again):
                    place = location_of(stmt.origin)
                    text = "" if stmt.origin is None else text_of(stmt.origin)
                    found[Recomputed(text, place, text, "checkpoint")] = None
    return list(found)


def _trivial(stmt: Stmt) -> bool:
    """True for sizes, indices and views, which cost nothing."""
    if not all(is_float(v.type) for v in targets_of(stmt)):
        return True
    return isinstance(stmt, Assign) and RULES[stmt.op.name].kind in ("view", "index", "query")


def _user_name(x: Operand, otherwise: str) -> str:
    return x.user if isinstance(x, Var) and x.user else otherwise


def _expression(x: Operand, origin: Origin | None) -> str:
    """The user's text for a value that has no name in the program."""
    if origin is None or (isinstance(x, Var) and x.user):
        return ""
    kind = "tangent of " if origin.tangent else "adjoint of " if origin.sweep else ""
    return kind + text_of(origin)


def _nested(
    block: list[Stmt], around: tuple[For | While, ...]
) -> Iterator[tuple[Stmt, tuple[For | While, ...]]]:
    """All statements with the loops that enclose them."""
    for stmt in block:
        yield stmt, around
        inner = (*around, stmt) if isinstance(stmt, (For, While)) else around
        for body in blocks_of(stmt):
            yield from _nested(body, inner)

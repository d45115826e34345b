"""The origin of a NaN or inf: interpret a program and trace each non-finite value back to the
operation that produced it from finite operands.

An inf is not necessarily an error (a mask of -inf, a bound), and neither is an infinite slope that
is multiplied by a cotangent of 0.  So nothing is reported when it appears.  Each value carries the
*birth* (the originating operation) of its first NaN and of its first inf, and only the birth of a
non-finite result is reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir.nodes import (
    Assign,
    Block,
    Const,
    Draw,
    For,
    Function,
    Module,
    Op,
    Operand,
    Origin,
    Print,
    Span,
    Var,
    While,
    blocks_of,
    is_float,
)
from ..rules import RULES
from .activity_report import span_text
from .interpreter import Run


@dataclass(frozen=True)
class Iteration:
    """An iteration of a loop: the loop's statement, the iteration number from 0, and the name and
    value of its index."""

    origin: Origin | None
    number: int
    index: str = ""
    value: int = 0


@dataclass(frozen=True)
class OperandValue:
    """An operand of an operation: the user's name or text for it, and its value."""

    text: str
    value: Any


@dataclass
class NonFiniteOrigin:
    """The operation that produced a NaN or inf.  `kind` is "NaN", "inf" or "-inf", and `at` the
    index of the first such element of `value`.  `cause` is the birth of the inf from which a NaN
    was computed.  Without an operation it is a parameter (`param`) or a constant of the
    program."""

    kind: str
    op: Op | None
    origin: Origin | None
    value: Any
    at: tuple[int, ...]
    loops: tuple[Iteration, ...] = ()
    operands: list[OperandValue] = field(default_factory=list)
    cause: NonFiniteOrigin | None = None
    param: int | None = None
    whole: bool = True  # it is the value of the user's expression, not of a subexpression

    @property
    def root(self) -> NonFiniteOrigin:
        """The first operation that produced a non-finite value: that of the inf behind a NaN, but
        not an inf in the program's inputs."""
        return self.cause.root if self.cause is not None and self.cause.op is not None else self


@dataclass(frozen=True)
class Bad:
    """The births of the first NaN and of the first inf in a value."""

    nan: NonFiniteOrigin | None = None
    inf: NonFiniteOrigin | None = None


def origin_of_nonfinite(module: Module, args: Sequence[Any], result: int) -> NonFiniteOrigin | None:
    """The birth of the NaN or inf in the given result of a module in value form."""
    tracer = _Tracer(module.functions, _texts(module))
    main = module.main
    tracer.enter(main, [(a, _input_births(a, i)) for i, a in enumerate(args)])
    bad = tracer.take(main.results[result])[1]
    return None if bad is None else bad.nan or bad.inf


def operands_at(
    module: Module, args: Sequence[Any], span: Span, loops: tuple[Iteration, ...]
) -> tuple[Op, list[OperandValue]] | None:
    """The user's operation behind a derivative, given by its span and its iteration, and its
    operands there.  Operations with a singular derivative are preferred."""
    tracer = _Tracer(module.functions, _texts(module))
    tracer.watched = (span, tuple(i.number for i in loops))
    tracer.enter(module.main, [(a, None) for a in args])
    seen = tracer.watched_operands
    singular = [s for s in seen if RULES[s[0].name].singular]
    return singular[-1] if singular else seen[-1] if seen else None


class _Tracer(Run):
    """An interpreter that records the births of non-finite values (`bad`) by name of the value."""

    def __init__(self, functions: dict[str, Function], texts: dict[str, str]) -> None:
        super().__init__(functions)
        self.texts = texts
        self.bad: dict[str, Bad] = {}
        self.loops: list[tuple[For | While, int]] = []  # with the number of iterations completed
        self.outer: tuple[Iteration, ...] = ()
        self.watched: tuple[Span, tuple[int, ...]] | None = None
        self.watched_operands: list[tuple[Op, list[OperandValue]]] = []

    # ---- propagation of values and births

    def take(self, operand: Operand) -> Any:
        return self.read(operand), self.fault(operand)

    def put(self, var: Var, taken: Any) -> None:
        value, bad = taken
        self.bind(var, value)
        if bad is not None:
            self.bad[var.name] = bad

    def bind(self, var: Var, value: Any) -> None:
        try:
            super().bind(var, value)
        except AssertionError:  # a value that does not fit its IR type does not matter here
            self.values[var.name] = value
        self.bad.pop(var.name, None)

    def fault(self, x: Operand) -> Bad | None:
        if isinstance(x, Var):
            return self.bad.get(x.name)
        return _input_births(x.value, None)

    def callee(self) -> Run:
        inner = _Tracer(self.functions, self.texts)
        inner.outer = self.iterations()
        inner.watched, inner.watched_operands = self.watched, self.watched_operands
        return inner

    # ---- the current iteration

    def count(self, stmt: For) -> None:
        self.around(stmt, super().count)

    def repeat(self, stmt: While) -> None:
        self.around(stmt, super().repeat)

    def around(self, stmt: Any, run: Any) -> None:
        self.loops.append((stmt, 0))
        run(stmt)
        self.loops.pop()

    def step(self, carried: Any, until: Any) -> bool:
        stmt, done = self.loops[-1]
        self.loops[-1] = (stmt, done + 1)
        return super().step(carried, until)

    def iterations(self) -> tuple[Iteration, ...]:
        found = []
        for stmt, done in self.loops:
            if isinstance(stmt, While):
                found.append(Iteration(stmt.origin, done))
                continue
            # The index of a mirrored loop is that of the forward iteration.
            index, start, step = (int(self.read(x)) for x in (stmt.index, stmt.start, stmt.step))
            found.append(Iteration(stmt.origin, (index - start) // step, stmt.index.user, index))
        return (*self.outer, *found)

    # ---- statements

    def statement(self, stmt: Any) -> None:
        if isinstance(stmt, Print):
            return  # the program has already printed when it ran
        super().statement(stmt)
        if isinstance(stmt, Draw):
            for target in stmt.targets:
                if is_float(target.type):
                    self.check(target, Op(stmt.method, stmt.args), stmt.origin)

    def assign(self, stmt: Assign) -> None:
        self.watch(stmt)
        super().assign(stmt)
        op, target = stmt.op, stmt.target
        if op.name in ("empty", "empty_like"):
            # Uninitialised memory may hold a NaN or inf.
            self.values[target.name] = np.zeros_like(self.values[target.name])
        elif op.name not in ("restore", "undef") and is_float(target.type):
            if op.name != "update" or any(self.fault(x) is not None for x in op.args):
                self.check(target, op, stmt.origin, target.name in self.texts)

    def watch(self, stmt: Assign) -> None:
        """Record the operands of the watched operation in the watched iteration."""
        o = stmt.origin
        if self.watched is None or o is None or o.sweep or o.tangent or o.span != self.watched[0]:
            return
        if tuple(i.number for i in self.iterations()) == self.watched[1]:
            self.watched_operands.append((stmt.op, self.seen(stmt.op)))

    def seen(self, op: Op) -> list[OperandValue]:
        found = []
        for x in op.args:
            if isinstance(x, Var) and is_float(x.type):
                found.append(OperandValue(x.user or self.texts.get(x.name, ""), self.read(x)))
            elif isinstance(x, Const):
                found.append(OperandValue("", x.value))
        return found

    # ---- checks

    def check(self, target: Var, op: Op, origin: Origin | None, whole: bool = True) -> None:
        """Record the births of a new value if it is not finite."""
        value = self.values[target.name]
        if value is None or isinstance(value, list):
            faults = [f for f in map(self.fault, op.args) if f is not None]
            if faults and value is not None:
                self.bad[target.name] = faults[-1]
            return
        if np.isfinite(value).all():
            return
        nan = inf = None
        if np.isnan(value).any():
            nan = self.birth(np.isnan(value), op, origin, value, whole)
        if np.isinf(value).any():
            inf = self.birth(np.isinf(value), op, origin, value, whole)
        self.bad[target.name] = Bad(nan, inf)

    def birth(
        self, mask: Any, op: Op, origin: Origin | None, value: Any, whole: bool
    ) -> NonFiniteOrigin:
        """The birth of the first element in `mask`: that of an operand, or this operation."""
        at = first(mask)
        kind = kind_of(np.asarray(value)[at])
        cause = None
        for x in self.chosen(op, value, at):
            bad = self.fault(x)
            if bad is None:
                continue
            has_nan, has_inf = self.holds(self.read(x), op, value, at)
            if kind == "NaN" and has_nan and bad.nan is not None:
                return bad.nan
            if kind != "NaN" and has_inf and bad.inf is not None:
                return bad.inf
            if kind == "NaN" and has_inf and bad.inf is not None:
                cause = cause or bad.inf
        made = NonFiniteOrigin(kind, op, origin, value, at, self.iterations(), self.seen(op), cause)
        made.whole = whole
        return made

    def chosen(self, op: Op, value: Any, at: tuple[int, ...]) -> tuple[Operand, ...]:
        """The operands that the element `at` depends on: for `where`, only the selected one."""
        if op.name != "where":
            return op.args
        condition = np.broadcast_to(self.read(op.args[0]), np.shape(value))[at]
        return (op.args[1] if condition else op.args[2],)

    def holds(self, x: Any, op: Op, out: Any, at: tuple[int, ...]) -> tuple[bool, bool]:
        """Two flags: an operand contains a NaN, it contains an inf.  For an elementwise operation
        only the same element counts."""
        if isinstance(x, list):
            return True, True
        rule = RULES.get(op.name)
        if rule is not None and rule.kind == "elementwise":
            x = np.broadcast_to(x, np.shape(out))[at]
        return bool(np.isnan(x).any()), bool(np.isinf(x).any())


def first(mask: Any) -> tuple[int, ...]:
    """The index of the first true element."""
    mask = np.asarray(mask)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def kind_of(value: Any) -> str:
    if np.isnan(value):
        return "NaN"
    return "-inf" if not np.iscomplexobj(value) and value < 0 else "inf"


def _input_births(value: Any, param: int | None) -> Bad | None:
    """The births of a constant or of the argument of a parameter; None if it is finite."""
    if not isinstance(value, (float, complex, np.ndarray, np.inexact)):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "fc" or np.isfinite(array).all():
        return None
    births = []
    for mask in (np.isnan(array), np.isinf(array)):
        at = first(mask)
        made = NonFiniteOrigin(kind_of(array[at]), None, None, value, at, param=param)
        births.append(made if mask.any() else None)
    return Bad(*births)


def _texts(module: Module) -> dict[str, str]:
    """The user's text for values without a name.  If an expression becomes several operations,
    the text belongs to the last one, which yields its value."""
    found = {}
    for function in module.functions.values():
        for block in _blocks(function.body):
            for stmt, following in zip(block, [*block[1:], None]):
                o = stmt.origin
                if not isinstance(stmt, Assign) or o is None or o.sweep or o.tangent:
                    continue
                after = following.origin if isinstance(following, Assign) else None
                if after is None or (after.span, after.sweep) != (o.span, 0):
                    found[stmt.target.name] = span_text(o.span)
    return found


def _blocks(block: Block) -> Iterator[Block]:
    """A block and all blocks nested in it."""
    yield block
    for stmt in block:
        for inner in blocks_of(stmt):
            yield from _blocks(inner)

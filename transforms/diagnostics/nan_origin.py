"""Where a NaN or inf comes from: runs a program statement by statement and follows every bad
value back to the operation that made it of good ones.

An inf need not be wrong (a mask of -inf, a bound), and neither need be an infinite slope that
meets a cotangent of 0.  So nothing is judged when it appears: values carry the *birth* of
their first NaN and of their first inf along, and only the birth of what a bad result holds is
reported."""

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
    """Where a loop was: its statement, the number of the iteration from 0, and its index."""

    origin: Origin | None
    number: int
    index: str = ""
    value: int = 0


@dataclass(frozen=True)
class Seen:
    """An operand of an operation: the user's name or text for it, and what it held."""

    text: str
    value: Any


@dataclass
class Birth:
    """The operation that made a NaN or inf.  `kind` is "NaN", "inf" or "-inf", `at` the first
    entry of `value` that is so.  `cause` is the birth of the inf that a NaN was made of.
    Without an operation it is a parameter (`param`) or a constant of the program."""

    kind: str
    op: Op | None
    origin: Origin | None
    value: Any
    at: tuple[int, ...]
    loops: tuple[Iteration, ...] = ()
    operands: list[Seen] = field(default_factory=list)
    cause: Birth | None = None
    param: int | None = None
    whole: bool = True  # whether it is the value of the user's expression, not one inside it

    @property
    def root(self) -> Birth:
        """The first operation to blame: an inf made on the way, but none that was given."""
        return self.cause.root if self.cause is not None and self.cause.op is not None else self


@dataclass(frozen=True)
class Bad:
    """What is wrong with a value."""

    nan: Birth | None = None
    inf: Birth | None = None


def birth_of(module: Module, args: Sequence[Any], result: int) -> Birth | None:
    """The birth of the NaN or inf in a result, of a module in value form."""
    tracer = _Tracer(module.functions, _texts(module))
    main = module.main
    tracer.enter(main, [(a, _born_without_operation(a, i)) for i, a in enumerate(args)])
    bad = tracer.take(main.results[result])[1]
    return None if bad is None else bad.nan or bad.inf


def operands_at(
    module: Module, args: Sequence[Any], span: Span, loops: tuple[Iteration, ...]
) -> tuple[Op, list[Seen]] | None:
    """The user's own operation behind a derivative, by where it stands and in which
    iteration, and its operands there; one with a singular derivative rather than others."""
    tracer = _Tracer(module.functions, _texts(module))
    tracer.watched = (span, tuple(i.number for i in loops))
    tracer.enter(module.main, [(a, None) for a in args])
    seen = tracer.watched_operands
    singular = [s for s in seen if RULES[s[0].name].singular]
    return singular[-1] if singular else seen[-1] if seen else None


class _Tracer(Run):
    """A run that keeps with each value what is wrong with it."""

    def __init__(self, functions: dict[str, Function], texts: dict[str, str]) -> None:
        super().__init__(functions)
        self.texts = texts
        self.bad: dict[str, Bad] = {}
        self.loops: list[tuple[For | While, int]] = []  # with the iterations done
        self.outer: tuple[Iteration, ...] = ()
        self.watched: tuple[Span, tuple[int, ...]] | None = None
        self.watched_operands: list[tuple[Op, list[Seen]]] = []

    # ---- how values and their faults move

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
        except AssertionError:  # a type that is claimed too narrowly is no reason to stop here
            self.values[var.name] = value
        self.bad.pop(var.name, None)

    def fault(self, x: Operand) -> Bad | None:
        if isinstance(x, Var):
            return self.bad.get(x.name)
        return _born_without_operation(x.value, None)

    def callee(self) -> Run:
        inner = _Tracer(self.functions, self.texts)
        inner.outer = self.iterations()
        inner.watched, inner.watched_operands = self.watched, self.watched_operands
        return inner

    # ---- where it is

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
            # A mirrored loop has the index of the iteration that it mirrors.
            index, start, step = (int(self.read(x)) for x in (stmt.index, stmt.start, stmt.step))
            found.append(Iteration(stmt.origin, (index - start) // step, stmt.index.user, index))
        return (*self.outer, *found)

    # ---- statements

    def statement(self, stmt: Any) -> None:
        if isinstance(stmt, Print):
            return  # it was printed when the program ran
        super().statement(stmt)
        if isinstance(stmt, Draw):
            for target in stmt.targets:
                if is_float(target.type):
                    self.judge(target, Op(stmt.method, stmt.args), stmt.origin)

    def assign(self, stmt: Assign) -> None:
        self.watch(stmt)
        super().assign(stmt)
        op, target = stmt.op, stmt.target
        if op.name in ("empty", "empty_like"):
            # Whatever was in that memory says nothing about the program.
            self.values[target.name] = np.zeros_like(self.values[target.name])
        elif op.name not in ("restore", "undef") and is_float(target.type):
            if op.name != "update" or any(self.fault(x) is not None for x in op.args):
                self.judge(target, op, stmt.origin, target.name in self.texts)

    def watch(self, stmt: Assign) -> None:
        o = stmt.origin
        if self.watched is None or o is None or o.sweep or o.tangent or o.span != self.watched[0]:
            return
        if tuple(i.number for i in self.iterations()) == self.watched[1]:
            self.watched_operands.append((stmt.op, self.seen(stmt.op)))

    def seen(self, op: Op) -> list[Seen]:
        found = []
        for x in op.args:
            if isinstance(x, Var) and is_float(x.type):
                found.append(Seen(x.user or self.texts.get(x.name, ""), self.read(x)))
            elif isinstance(x, Const):
                found.append(Seen("", x.value))
        return found

    # ---- judging a value

    def judge(self, target: Var, op: Op, origin: Origin | None, whole: bool = True) -> None:
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

    def birth(self, mask: Any, op: Op, origin: Origin | None, value: Any, whole: bool) -> Birth:
        """The birth of the first bad entry: that of an operand's, or this operation."""
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
        made = Birth(kind, op, origin, value, at, self.iterations(), self.seen(op), cause)
        made.whole = whole
        return made

    def chosen(self, op: Op, value: Any, at: tuple[int, ...]) -> tuple[Operand, ...]:
        """The operands that an entry is made of."""
        if op.name != "where":
            return op.args
        condition = np.broadcast_to(self.read(op.args[0]), np.shape(value))[at]
        return (op.args[1] if condition else op.args[2],)

    def holds(self, x: Any, op: Op, out: Any, at: tuple[int, ...]) -> tuple[bool, bool]:
        """Whether an operand is NaN or inf: at the same entry where entries are independent."""
        if isinstance(x, list):
            return True, True
        rule = RULES.get(op.name)
        if rule is not None and rule.kind == "elementwise":
            x = np.broadcast_to(x, np.shape(out))[at]
        return bool(np.isnan(x).any()), bool(np.isinf(x).any())


def first(mask: Any) -> tuple[int, ...]:
    """The index of the first true entry."""
    mask = np.asarray(mask)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def kind_of(value: Any) -> str:
    if np.isnan(value):
        return "NaN"
    return "-inf" if not np.iscomplexobj(value) and value < 0 else "inf"


def _born_without_operation(value: Any, param: int | None) -> Bad | None:
    """The faults of a constant, or of a parameter as it was passed."""
    if not isinstance(value, (float, complex, np.ndarray, np.inexact)):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "fc" or np.isfinite(array).all():
        return None
    births = []
    for mask in (np.isnan(array), np.isinf(array)):
        at = first(mask)
        made = Birth(kind_of(array[at]), None, None, value, at, param=param)
        births.append(made if mask.any() else None)
    return Bad(*births)


def _texts(module: Module) -> dict[str, str]:
    """The user's text for values without a name: of several operations that one expression
    stands for, the last yields its value."""
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
    yield block
    for stmt in block:
        for inner in blocks_of(stmt):
            yield from _blocks(inner)

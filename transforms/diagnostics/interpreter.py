"""Reference interpreter: executes a function in value form with NumPy, one operation at a time.

It defines the semantics of the IR in the simplest form and is the oracle in the tests of the other
passes.  Every result is checked against its IR type."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    Carried,
    Const,
    Custom,
    Draw,
    For,
    Function,
    If,
    ListOf,
    Module,
    Operand,
    Print,
    Raise,
    Save,
    Scalar,
    Type,
    Var,
    While,
)
from ..rules import RULES
from ..rules.random_draws import evaluate_draw


def evaluate(program: Module | Function, *args: Any) -> tuple[list[Any], dict[str, Any]]:
    """The results, and the final contents of each written parameter.  The arguments are not
    modified.  A function that calls others is passed as a module."""
    function = program.main if isinstance(program, Module) else program
    run = Run(program.functions if isinstance(program, Module) else {})
    run.enter(function, args)
    effects = {param.name: run.read(value) for param, value in function.effects}
    return [run.read(r) for r in function.results], effects


class Run:
    """The state of one call: values by name, and saved values by slot, restored last in, first
    out.  Values that phis, loops, slots and calls pass on unchanged go through `take` and `put`,
    which subclasses override."""

    def __init__(self, functions: dict[str, Function]) -> None:
        self.functions = functions
        self.values: dict[str, Any] = {}
        self.saved: dict[str, list[Any]] = {}

    def enter(self, function: Function, args: Sequence[Any]) -> None:
        """Execute a function's body on its arguments."""
        with np.errstate(all="ignore"):
            for param, arg in zip(function.params, args, strict=True):
                self.put(param, arg)
            self.block(function.body)

    def callee(self) -> Run:
        """A new state, for a callee."""
        return Run(self.functions)

    def take(self, operand: Operand) -> Any:
        return self.read(operand)

    def put(self, var: Var, taken: Any) -> None:
        self.bind(var, taken)

    def read(self, operand: Operand) -> Any:
        if isinstance(operand, Const):
            return conform(operand.value, operand.type)
        return self.values[operand.name]

    def bind(self, var: Var, value: Any) -> None:
        try:
            self.values[var.name] = conform(value, var.type)
        except AssertionError as error:
            raise AssertionError(f"{var.name}: {error}") from None

    # ---- statements

    def block(self, block: Block) -> None:
        for stmt in block:
            self.statement(stmt)

    def statement(self, stmt: Any) -> None:
        if isinstance(stmt, Assign):
            self.assign(stmt)
        elif isinstance(stmt, Call):
            function, inner = self.functions[stmt.function], self.callee()
            inner.enter(function, [self.take(a) for a in stmt.args])
            for target, result in zip(stmt.targets, function.results, strict=True):
                self.put(target, inner.take(result))
        elif isinstance(stmt, Custom):
            for target, value in zip(stmt.targets, stmt.values, strict=True):
                self.put(target, self.take(value))
        elif isinstance(stmt, Draw):
            rng = None if stmt.rng is None else self.read(stmt.rng)
            size = None if stmt.size is None else tuple(self.read(s) for s in stmt.size)
            dtype = stmt.targets[0].type.dtype if stmt.targets else ""
            drawn = evaluate_draw(rng, stmt.method, [self.read(a) for a in stmt.args], size, dtype)
            for target in stmt.targets:
                self.bind(target, drawn)
        elif isinstance(stmt, Save):
            self.saved.setdefault(stmt.slot.name, []).append(self.take(stmt.value))
        elif isinstance(stmt, If):
            self.branch(stmt)
        elif isinstance(stmt, For):
            self.count(stmt)
        elif isinstance(stmt, While):
            self.repeat(stmt)
        elif isinstance(stmt, Raise):
            raise _exception(stmt.exception)(self.printed(stmt.message))
        elif isinstance(stmt, Print):
            print(*(self.printed(p) for p in stmt.parts), sep=stmt.sep, end=stmt.end)
        else:
            raise AssertionError(f"not in value form: {stmt}")

    def assign(self, stmt: Assign) -> None:
        op = stmt.op
        if op.name == "restore":
            saved = self.saved.get(op.attrs["slot"].name)
            assert saved, f"{op.attrs['slot'].name} was not saved"
            self.put(stmt.target, saved.pop())
            return
        if op.name == "undef":
            self.values[stmt.target.name] = None
            return
        function = RULES[op.name].evaluate
        assert function is not None, f"{op.name} cannot be evaluated"
        args = [self.read(a) for a in op.args]
        if op.name == "update" and args[1] is None:  # undef: the element is never read
            self.bind(stmt.target, args[0])
            return
        if op.name == "list_stack" and not args[0]:  # an empty list has no dtype and rank
            self.bind(stmt.target, np.empty((0,) * stmt.target.type.ndim, stmt.target.type.dtype))
            return
        self.bind(stmt.target, function(*args, **op.attrs))

    def branch(self, stmt: If) -> None:
        taken = bool(self.read(stmt.cond))
        self.block(stmt.then if taken else stmt.orelse)
        chosen = [self.take(p.then_value if taken else p.else_value) for p in stmt.phis]
        for phi, value in zip(stmt.phis, chosen, strict=True):
            self.put(phi.target, value)

    # ---- loops

    def count(self, stmt: For) -> None:
        start, stop, step = (int(self.read(o)) for o in (stmt.start, stmt.stop, stmt.step))
        if step == 0:
            raise ValueError("range() arg 3 must not be zero")
        number = len(range(start, stop, step))
        if stmt.count is not None:
            number = max(0, int(self.read(stmt.count)))
        indices = [start + k * step for k in range(number)]
        if stmt.reverse:
            indices.reverse()
        self.start(stmt.carried)
        trips = 0
        for index in indices:
            self.bind(stmt.index, index)
            self.block(stmt.body)
            trips += 1
            if self.step(stmt.carried, stmt.until):
                break
        assert not stmt.mirror or trips == number, "a mirrored loop ended early"
        self.end(stmt.carried, stmt.trips, trips)

    def repeat(self, stmt: While) -> None:
        self.start(stmt.carried)
        trips = 0
        while True:
            self.block(stmt.test)
            if not self.read(stmt.cond):
                break
            self.block(stmt.body)
            trips += 1
            if self.step(stmt.carried, stmt.until):
                break
        self.end(stmt.carried, stmt.trips, trips)

    def start(self, carried: Sequence[Carried]) -> None:
        for c, value in [(c, self.take(c.init)) for c in carried]:
            self.put(c.phi, value)

    def step(self, carried: Sequence[Carried], until: Operand | None) -> bool:
        """Advance the carried values to the next iteration.  True if the loop exits."""
        ends = until is not None and bool(self.read(until))
        for c, value in [(c, self.take(c.next)) for c in carried]:
            self.put(c.phi, value)
        return ends

    def end(self, carried: Sequence[Carried], counter: Var | None, trips: int) -> None:
        for c in carried:
            self.put(c.result, self.take(c.phi))
        if counter is not None:
            self.bind(counter, trips)

    def printed(self, part: Any) -> Any:
        if isinstance(part, tuple):
            return "".join(
                format(self.read(p[0]), p[1]) if isinstance(p, tuple) else str(self.printed(p))
                for p in part
            )
        return self.read(part) if isinstance(part, (Var, Const)) else part


def _exception(name: str) -> type[Exception]:
    if name.rpartition(".")[2] == "LinAlgError":
        return np.linalg.LinAlgError
    if name.rpartition(".")[2] == "AxisError":
        return np.exceptions.AxisError
    return getattr(builtins, name, RuntimeError)


# ---------------------------------------------------------------- values

_PYTHON = {"f": float, "i": int, "u": int, "b": bool, "c": complex}


def conform(value: Any, type_: Type) -> Any:
    """`value` in the representation of its type: weak scalars are Python numbers, other scalars
    NumPy's.  Raises AssertionError if it does not fit the type."""
    if value is None:
        return None
    if isinstance(type_, ListOf):
        return [conform(v, type_.elem) for v in value]
    if isinstance(type_, Scalar):
        assert np.ndim(value) == 0, f"a scalar was promised, not shape {np.shape(value)}"
        given, dtype = np.asarray(value).dtype, np.dtype(type_.dtype)
        loose = type_.weak or not isinstance(value, np.generic)
        kinds = "fc" if dtype.kind == "c" else dtype.kind
        assert given == dtype or loose and given.kind in kinds, (
            f"{type_.dtype} was promised, not {given}"
        )
        if type_.weak:
            return _PYTHON[dtype.kind](value)
        return dtype.type(value)
    if isinstance(type_, Array):
        array = np.asarray(value)
        assert array.ndim == type_.ndim, f"rank {type_.ndim} was promised, not {array.shape}"
        assert array.dtype == type_.dtype, f"{type_.dtype} was promised, not {array.dtype}"
        for size, dim in zip(array.shape, type_.shape, strict=True):
            assert not dim.is_const or dim.const == size, f"{type_.shape} is not {array.shape}"
        return array
    return value

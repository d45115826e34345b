"""Small programs in value form, built by hand, for the tests of the passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.builder import Builder, NameSupply, Sym, const
from s2s.transforms.ir.nodes import (
    Array,
    Carried,
    For,
    Function,
    If,
    Module,
    Operand,
    Origin,
    Phi,
    Scalar,
    Span,
    Type,
    Var,
    While,
)
from s2s.transforms.ir.symbolic_dims import Dim, Facts

F8 = Scalar("float64")
BOOL = Scalar("bool")


def vector(name: str, ndim: int = 1) -> Array:
    return Array("float64", tuple(Dim.of(f"{name}.{i}") for i in range(ndim)))


def int_scalar(name: str) -> Scalar:
    return Scalar("int64", value=Dim.of(name))


class Program(Builder):
    """A builder with loops and branches; each statement built gets its own line."""

    def __init__(self) -> None:
        super().__init__(NameSupply(), Facts())
        self.lines = 0

    def line(self) -> None:
        self.lines += 1
        span = Span("program.py", self.lines, 0, self.lines, 1)
        self.origin = Origin(span, span)

    def phi_like(self, x: Operand, name: str, type_: Type | None = None) -> Var:
        t = type_ or x.type
        if isinstance(t, Scalar):
            t = Scalar(t.dtype)
        v = self.var(t, name, name)
        if isinstance(t, Scalar) and t.dtype == "int64":
            v = replace(v, type=Scalar("int64", value=Dim.of(v.name)))
        return v

    def loop(
        self,
        n: Any,
        inits: Sequence[Any],
        body: Callable[..., Any],
        *,
        start: Any = 0,
        step: Any = 1,
        until: Callable[..., Any] | None = None,
        names: Sequence[str] = (),
        types: Sequence[Type | None] | None = None,
        **fields: Any,
    ) -> list[Sym]:
        """for i in range(start, n, step): *state = body(i, *state)"""
        self.line()
        at = self.origin
        index = self.phi_like(const(np.int64(0)), "i")
        names = names or [f"s{k}" for k in range(len(inits))]
        inits = [self.sym(x).operand for x in inits]
        types = types or [None] * len(inits)
        phis = [self.phi_like(x, n_, t) for x, n_, t in zip(inits, names, types)]
        block: list[Any] = []
        with self.into(block):
            self.line()
            nexts = body(self.sym(index), *(self.sym(p) for p in phis))
            nexts = [self.sym(x).operand for x in nexts]
            stop = None
            if until is not None:
                self.line()
                stop = self.sym(until(self.sym(index), *(self.sym(x) for x in nexts))).operand
        results = [self.phi_like(p, p.user, p.type) for p in phis]
        carried = [Carried(*c) for c in zip(phis, inits, nexts, results)]
        bounds = [self.sym(x).operand for x in (start, n, step)]
        label = self.names.fresh("L")
        self.block.append(
            For(index, *bounds, block, carried, stop, label=label, origin=at, **fields)
        )
        self.line()
        return [self.sym(r) for r in results]

    def repeat(
        self,
        inits: Sequence[Any],
        test: Callable[..., Any],
        body: Callable[..., Any],
        until: Callable[..., Any] | None = None,
        names: Sequence[str] = (),
    ) -> list[Sym]:
        """while test(*state)[0]: *state = body(*test values, *state)"""
        self.line()
        at = self.origin
        names = names or [f"s{k}" for k in range(len(inits))]
        inits = [self.sym(x).operand for x in inits]
        phis = [self.phi_like(x, n) for x, n in zip(inits, names)]
        syms = [self.sym(p) for p in phis]
        test_block: list[Any] = []
        block: list[Any] = []
        with self.into(test_block):
            cond, *seen = test(*syms)
        with self.into(block):
            self.line()
            nexts = [self.sym(x).operand for x in body(*seen, *syms)]
            stop = None if until is None else until(*(self.sym(x) for x in nexts)).operand
        results = [self.phi_like(p, p.user) for p in phis]
        carried = [Carried(*c) for c in zip(phis, inits, nexts, results)]
        cond = self.sym(cond).operand
        label = self.names.fresh("L")
        self.block.append(While(test_block, cond, block, carried, stop, label=label, origin=at))
        self.line()
        return [self.sym(r) for r in results]

    def branch(
        self, cond: Any, then: Callable[[], Any], orelse: Callable[[], Any], name: str = "y"
    ) -> list[Sym]:
        self.line()
        at = self.origin
        sides = []
        for side in (then, orelse):
            block: list[Any] = []
            with self.into(block):
                self.line()
                sides.append((block, [self.sym(x).operand for x in side()]))
        (a, xs), (b, ys) = sides
        phis = [Phi(self.phi_like(x, name, x.type), x, y) for x, y in zip(xs, ys)]
        self.block.append(If(self.sym(cond).operand, a, b, phis, at))
        self.line()
        return [self.sym(p.target) for p in phis]

    # ---- indexing

    def get(self, x: Any, *ints: Any) -> Sym:
        items = tuple(("int", k + 1) for k in range(len(ints)))
        items += (("all",),) * (self.sym(x).ndim - len(ints))
        return self.emit("index", x, *ints, items=items)

    def set(self, x: Any, v: Any, *ints: Any, add: bool = False) -> Sym:
        items = tuple(("int", k + 2) for k in range(len(ints)))
        items += (("all",),) * (self.sym(x).ndim - len(ints))
        name = "update_add" if add else "update"
        return self.emit(name, x, v, *ints, path=(("index", items),))

    def zeros_like(self, x: Any) -> Sym:
        return self.emit("zeros_like", x, dtype=self.sym(x).dtype)

    def sum(self, x: Any) -> Sym:
        return self.emit("sum", x, axis=None, keepdims=False)


def program(params: dict[str, Type], build: Callable[..., Any], name: str = "f") -> Module:
    """The module of a function; `build(p, *params)` yields its results."""
    p = Program()
    variables = [Var(p.names.fresh(n), t, n) for n, t in params.items()]
    p.line()
    out = build(p, *(p.sym(v) for v in variables))
    out = out if isinstance(out, (list, tuple)) else [out]
    results = [p.sym(r).operand for r in out]
    return Module({name: Function(name, variables, p.block, results)}, name)


# ---------------------------------------------------------------- running


def run(module: Module, *args: Any) -> list[Any]:
    return evaluate(module.main, *args)[0]


__all__ = [
    "BOOL", "F8", "Operand", "Program", "int_scalar", "program", "run", "vector",
]  # fmt: skip

"""Checks an operation by the passes of the compiler and the reference interpreter, against finite
differences.  No formula of a rule is repeated.

A *sample* is a small program that contains the operation under test.  Its result is reduced to a
scalar (`sum(sin(out) * w)`), so that first and second derivatives are those of a scalar function,
and both orders apply the operation's own rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from s2s.transforms.autodiff.forward import forward
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.builder import Builder, NameSupply
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Function,
    Module,
    Scalar,
    Type,
    Var,
    is_float,
    walk,
)
from s2s.transforms.ir.scopes import names_of
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.rules import RULES

Build = Callable[..., Any]


@dataclass(frozen=True)
class Sample:
    """`build(b, *operands)` emits the operation `op` on the arguments; `expected(*args)` is the
    same in NumPy.  `order` is the highest order of derivatives to check; with `single` the sample
    also runs in float32."""

    op: str
    args: tuple[Any, ...]
    build: Build
    expected: Callable[..., Any] | None = None
    order: int = 2
    single: bool = True
    constants: tuple[int, ...] = ()  # positions that are not differentiated
    note: str = ""

    @property
    def id(self) -> str:
        shapes = "-".join(
            "x".join(map(str, np.shape(a))) if isinstance(a, np.ndarray) else type(a).__name__
            for a in self.args
        )
        return f"{self.op}[{shapes}{',' if self.note else ''}{self.note}]"

    def in_dtype(self, dtype: str) -> Sample:
        return replace(self, args=tuple(_converted(a, dtype) for a in self.args))


def _converted(a: Any, dtype: str) -> Any:
    if np.asarray(a).dtype.kind != "f" or isinstance(a, float):
        return a
    return np.asarray(a).astype(dtype)[() if isinstance(a, np.generic) else ...]


def type_of(name: str, value: Any) -> Type:
    if isinstance(value, np.ndarray):
        dims = tuple(Dim.of(f"{name}.{i}") for i in range(value.ndim))
        return Array(value.dtype.name, dims, "A")
    weak = isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))
    dtype = np.asarray(value).dtype.name
    return Scalar(dtype, weak, Dim.of(name) if dtype == "int64" else None)


@dataclass
class Judge:
    """The programs of one sample: the result, the scalar made of it, and their derivatives."""

    sample: Sample
    params: list[Var] = field(default_factory=list)

    def __post_init__(self) -> None:
        args = self.sample.args
        self.params = [Var(f"x{i}", type_of(f"x{i}", a)) for i, a in enumerate(args)]
        sizes = {f"x{i}.{k}": n for i, a in enumerate(args) for k, n in enumerate(np.shape(a))}
        self.facts = Facts(sizes)
        b = Builder(NameSupply([p.name for p in self.params]), self.facts)
        out = b.sym(self.sample.build(b, *(b.sym(p) for p in self.params)))
        self.ops = {s.op.name for s in walk(b.block) if isinstance(s, Assign)}
        self.primal = Function("primal", self.params, list(b.block), [out.operand])
        self.active = [
            p.name
            for i, p in enumerate(self.params)
            if is_float(p.type) and i not in self.sample.constants
        ]
        self.differentiable = is_float(out.type) and bool(self.active)
        if self.differentiable:
            self.make_scalar(b, out)

    def make_scalar(self, b: Builder, out: Any) -> None:
        (value,) = evaluate(self.primal, *self.sample.args)[0]
        rng = np.random.default_rng(3)
        self.weights = np.asarray(rng.normal(size=np.shape(value)), np.asarray(value).dtype)
        dtype = self.weights.dtype.name
        w = Var("w", Array(dtype, out.type.shape) if isinstance(out.type, Array) else Scalar(dtype))
        b.checks = False
        part = np.sin(out) * b.sym(w)
        total = b.emit("sum", part, axis=None, keepdims=False) if part.ndim else part
        self.params = [*self.params, w]
        self.scalar = Module({"f": Function("f", self.params, b.block, [total.operand])}, "f")

    # ---- running

    def args(self, moved: dict[str, Any] | None = None) -> list[Any]:
        given = dict(zip([p.name for p in self.params], [*self.sample.args, self.weight()]))
        return list((given | (moved or {})).values())

    def weight(self) -> Any:
        whole = isinstance(self.params[-1].type, Array)
        return self.weights if whole else self.weights[()]

    def value(self) -> Any:
        return evaluate(self.primal, *self.sample.args)[0][0]

    def moved(self, directions: dict[str, Any], h: float) -> dict[str, Any]:
        at = dict(zip([p.name for p in self.params], self.sample.args))
        return {n: at[n] + h * directions[n] for n in self.active}

    def directions(self, seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        at = dict(zip([p.name for p in self.params], self.sample.args))
        return {
            n: np.asarray(rng.normal(size=np.shape(at[n])), np.asarray(at[n]).dtype)[()]
            for n in self.active
        }

    # ---- derivatives

    def vjp(self) -> Module:
        return reverse(self.scalar, tuple(self.active), 0, self.facts)

    def gradients(self, vjp: Module, moved: dict[str, Any] | None = None) -> dict[str, Any]:
        seed = np.ones((), self.weights.dtype)[()]
        return dict(zip(self.active, evaluate(vjp, *self.args(moved), seed)[0][1:]))

    def tangent(self, directions: dict[str, Any]) -> Any:
        jvp = forward(self.scalar, tuple(self.active), self.facts)
        return evaluate(jvp, *self.args(), *directions.values())[0][1]

    def second(self, vjp: Module) -> Module:
        """Reverse over reverse: the gradient of the sum of the gradients, weighted by further
        parameters."""
        main = vjp.main
        b = Builder(NameSupply(names_of(main)), self.facts, list(main.body))
        b.checks = False
        total: Any = None
        weights = []
        for name, bar in zip(self.active, main.results[1:]):
            given = dict(zip([p.name for p in self.params], self.sample.args))[name]
            u = Var(b.names.fresh("u"), type_of("u", np.asarray(given)[()]))
            if isinstance(u.type, Array) and isinstance(bar.type, Array):
                u = replace(u, type=replace(u.type, shape=bar.type.shape))
            weights.append(u)
            part = b.sym(bar) * b.sym(u)
            part = b.emit("sum", part, axis=None, keepdims=False) if part.ndim else part
            total = part if total is None else total + part
        g = Function("g", [*main.params, *weights], b.block, [total.operand])
        return reverse(Module({**vjp.functions, "g": g}, "g"), tuple(self.active), 0, self.facts)

    def hessian_product(self, second: Module, directions: dict[str, Any]) -> dict[str, Any]:
        one = np.ones((), self.weights.dtype)[()]
        found = evaluate(second, *self.args(), one, *directions.values(), one)[0]
        return dict(zip(self.active, found[1:]))


def inner(x: dict[str, Any], y: dict[str, Any]) -> float:
    return float(sum(np.sum(np.asarray(x[n], float) * np.asarray(y[n], float)) for n in x))


# ---------------------------------------------------------------- the verdict


def check(sample: Sample) -> None:
    """Value, gradient, tangent and second order in float64; value, gradient and tangent in
    float32, against those in float64."""
    wide = Judge(sample)
    assert sample.op in wide.ops, f"the sample holds no {sample.op}"
    _check_value(wide)
    if not wide.differentiable:
        return
    vjp = wide.vjp()
    u, v = wide.directions(5), wide.directions(6)
    bars = wide.gradients(vjp)
    _check_kinds(wide, bars)
    h = 1e-6
    ends = [evaluate(wide.scalar, *wide.args(wide.moved(v, s)))[0][0] for s in (h, -h)]
    _close(inner(bars, v), (ends[0] - ends[1]) / (2 * h), 2e-6, "reverse against differences")
    _close(wide.tangent(v), inner(bars, v), 1e-9, "forward against reverse")
    if sample.order > 1:
        second = wide.second(vjp)
        hv, hu = (wide.hessian_product(second, d) for d in (v, u))
        _close(inner(u, hv), inner(v, hu), 1e-8, "the Hessian is symmetric")
        near = [wide.gradients(vjp, wide.moved(v, s)) for s in (h, -h)]
        slope = (inner(near[0], u) - inner(near[1], u)) / (2 * h)
        _close(inner(u, hv), slope, 2e-5, "second order against differences")
    if sample.single:
        _check_single(sample.in_dtype("float32"), bars)


def _check_single(sample: Sample, wide: dict[str, Any]) -> None:
    judge = Judge(sample)
    _check_value(judge, 2e-5)
    bars = judge.gradients(judge.vjp())
    _check_kinds(judge, bars)
    for name in bars:
        np.testing.assert_allclose(bars[name], wide[name], 2e-3, 2e-4, err_msg="float32")
    v = judge.directions(6)
    _close(judge.tangent(v), inner(bars, v), 2e-3, "float32 forward")


def _check_value(judge: Judge, rtol: float = 1e-12) -> None:
    sample = judge.sample
    value = judge.value()
    if sample.expected is not None:
        with np.errstate(all="ignore"):
            want = sample.expected(*sample.args)
        assert np.shape(value) == np.shape(want), (np.shape(value), np.shape(want))
        assert np.asarray(value).dtype == np.asarray(want).dtype, np.asarray(want).dtype
        np.testing.assert_allclose(value, want, rtol, rtol)


def _check_kinds(judge: Judge, bars: dict[str, Any]) -> None:
    given = dict(zip([p.name for p in judge.params], judge.sample.args))
    for name, bar in bars.items():
        assert np.shape(bar) == np.shape(given[name]), name
        assert np.asarray(bar).dtype == np.asarray(given[name]).dtype, name


def _close(got: float, want: float, tolerance: float, what: str) -> None:
    assert np.isfinite(want) and abs(got - want) <= tolerance * (1 + abs(want)), (
        f"{what}: {got} and {want}"
    )


def operations(samples: Sequence[Sample]) -> set[str]:
    return {s.op for s in samples} & set(RULES)

"""Checks operations without any pass: values and dims against NumPy, pullbacks against finite
differences, pushforwards against pullbacks, texts by executing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.builder import Builder, NameSupply, Sym
from s2s.transforms.ir.nodes import Array, Assign, Function, ListOf, Scalar, Type, Var, is_float
from s2s.transforms.ir.precedence import ADD, ATOM
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.rules import RULES, SURFACES, Accumulate, Rule
from s2s.transforms.rules.broadcasting import unbroadcast
from s2s.transforms.rules.internal.update import add_contribution
from s2s.transforms.runtime import helpers

Build = Callable[..., Any]
NAMES = "xyzwuvpqrs"
# Operations whose text is not a NumPy expression, or whose value is undefined.
_UNTOLD = ("list_set", "unbroadcast", "empty_like")


def call(b: Builder, path: str, *args: Any, **keywords: Any) -> Any:
    """The operations that `numpy.sum(x, axis=0)` emits."""
    return SURFACES[path](b, *args, **keywords)


def type_of(name: str, value: Any) -> Type:
    if isinstance(value, np.ndarray):
        return Array(value.dtype.name, tuple(Dim.of(f"{name}.{i}") for i in range(value.ndim)), "A")
    dtype = np.asarray(value).dtype.name
    return Scalar(dtype, value=Dim.of(name) if dtype == "int64" else None)


class Trial:
    """Some operations on given arguments: `build(b, *syms)` emits them."""

    def __init__(self, build: Build, args: Sequence[Any], sizes: bool) -> None:
        self.args = list(args)
        self.params = [Var(n, type_of(n, a)) for n, a in zip(NAMES, args)]
        known = {
            f"{p.name}.{i}": n for p, a in zip(self.params, args) for i, n in enumerate(np.shape(a))
        }
        self.b = Builder(NameSupply(NAMES), Facts(known if sizes else None))
        self.xs = [self.b.sym(p) for p in self.params]
        self.out = self.b.sym(build(self.b, *self.xs))
        self.primal = list(self.b.block)

    def run(
        self,
        *results: Any,
        block: Any = None,
        extra: Sequence[tuple[Var, Any]] = (),
        args: Any = None,
    ) -> list[Any]:
        params = [*self.params, *(v for v, _ in extra)]
        values = [*(self.args if args is None else args), *(a for _, a in extra)]
        operands = [self.b.sym(r).operand for r in results]
        return evaluate(Function("f", params, block or self.b.block, operands), *values)[0]

    def value(self, args: Any = None) -> Any:
        return self.run(self.out, block=self.primal, args=args)[0]

    # ---- what is claimed of every value

    def check_claims(self) -> None:
        """Check that dims equal the actual shapes, and that executed texts equal the evaluation by
        the rules."""
        stmts = [s for s in self.b.block if isinstance(s, Assign)]
        values = dict(zip([p.name for p in self.params], self.args))
        found = self.run(*(s.target for s in stmts))
        values |= {s.target.name: v for s, v in zip(stmts, found)}
        symbols = {f"{n}.{i}": k for n, v in values.items() for i, k in enumerate(_shape(v))}
        symbols |= {n: int(v) for n, v in values.items() if np.asarray(v, object).dtype != object
                    and np.ndim(v) == 0 and np.asarray(v).dtype.kind in "iu"}  # fmt: skip
        for s in stmts:
            if isinstance(s.target.type, Array):
                shape = tuple(d.substitute(symbols) for d in s.target.type.shape)
                for d, n in zip(shape, values[s.target.name].shape):
                    assert not d.is_const or d.const == n, (s.target, shape)
            self._check_text(s, values)

    def _check_text(self, s: Assign, values: dict[str, Any]) -> None:
        rule = RULES[s.op.name]
        if rule.text is None or rule.kind == "update" or s.op.name in _UNTOLD:
            return
        # Sums in place of names reveal missing parentheses.
        texts = [_operand_text(a) for a in s.op.args]
        source, _ = rule.text(texts, s.op.attrs, [a.type for a in s.op.args])
        got = eval(source, {**vars(helpers), "np": np, "inf": np.inf}, dict(values))
        want = values[s.target.name]
        if isinstance(s.target.type, ListOf):
            assert len(got) == len(want), source
        else:
            np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=source)
            assert np.shape(got) == np.shape(want), source


def _operand_text(a: Any) -> tuple[str, int]:
    if isinstance(a, Var):
        return a.name, ATOM
    plain = isinstance(a.value, int) and not isinstance(a.value, bool)
    return (f"{a.value - 1} + 1", ADD) if plain else (repr(a.value), ATOM)


def _shape(v: Any) -> tuple[int, ...]:
    return () if isinstance(v, list) else np.shape(v)


# ---------------------------------------------------------------- two modes, straight-line


def pull(b: Builder, out: Sym, g: Any, xs: Sequence[Sym], stmts: Sequence[Any]) -> list[Sym]:
    """The cotangents of `xs`, by the pullbacks of the statements in reverse."""
    bars: dict[str, Any] = {out.operand.name: b.sym(g)}
    active = _active(xs, stmts)
    for s in reversed(stmts):
        bar = bars.pop(s.target.name, None)
        rule = RULES[s.op.name]
        wanted = tuple(i for i in _positions(rule, s) if _name(s.op.args[i]) in active)
        if bar is None or not wanted:
            continue
        args = [b.sym(a) for a in s.op.args]
        parts = rule.pullback(b, bar, b.sym(s.target), args, s.op.attrs, wanted)
        assert set(parts) <= set(_positions(rule, s))
        for i, part in parts.items():
            if i in wanted:
                name = args[i].operand.name
                bars[name] = _plus(b, bars.get(name), args[i], part)
    found = [bars.get(x.operand.name) for x in xs]
    return [
        b.emit("zeros_like", x, dtype=x.dtype) if bar is None else bar for x, bar in zip(xs, found)
    ]


def _plus(b: Builder, bar: Any, x: Sym, part: Any) -> Sym:
    if isinstance(part, Accumulate):
        return add_contribution(b, bar, x, part)
    if isinstance(x.type, ListOf):
        return part if bar is None else b.emit("list_add", bar, part)
    part = unbroadcast(b, part, x)
    return part if bar is None else bar + part


def push(b: Builder, out: Sym, dots: dict[str, Sym], stmts: Sequence[Any]) -> Sym | None:
    dots = dict(dots)
    for s in stmts:
        rule = RULES[s.op.name]
        args = [b.sym(a) for a in s.op.args]
        given = [
            dots.get(_name(a)) if i in _positions(rule, s) else None
            for i, a in enumerate(s.op.args)
        ]
        if any(d is not None for d in given):
            dots[s.target.name] = rule.pushforward(b, given, b.sym(s.target), args, s.op.attrs)
    return dots.get(out.operand.name)


def _name(operand: Any) -> str:
    return operand.name if isinstance(operand, Var) else ""


def _positions(rule: Any, s: Assign) -> Sequence[int]:
    if not is_float(s.target.type):
        return ()
    return range(len(s.op.args)) if rule.differentiable is None else rule.differentiable


def _active(xs: Sequence[Sym], stmts: Sequence[Assign]) -> set[str]:
    active = {x.operand.name for x in xs}
    for s in stmts:
        if any(_name(s.op.args[i]) in active for i in _positions(RULES[s.op.name], s)):
            active.add(s.target.name)
    return active


# The sweep adds lists in a loop; straight-line code needs an operation for it.
_LIST_ADD = Rule(
    "list_add",
    "list",
    lambda b, types, attrs, operands: types[0],
    evaluate=lambda left, right: [x + y for x, y in zip(left, right, strict=True)],
    pullback=lambda b, g, out, args, attrs, wanted: dict.fromkeys(wanted, g),
    pushforward=lambda b, dots, out, args, attrs: (
        b.emit("list_add", *dots)
        if all(d is not None for d in dots)
        else next(d for d in dots if d is not None)
    ),
)


# ---------------------------------------------------------------- the check


def check(
    build: Build, *args: Any, expected: Any = None, order: int = 2, sizes: bool | None = None
) -> None:
    """Check that `build(b, *syms)` computes the values of `expected(*args)` and has right
    derivatives, with and without known relations of sizes."""
    RULES["list_add"] = _LIST_ADD
    try:
        for known in (True, False) if sizes is None else (sizes,):
            _check(build, args, expected, known)
            if order > 1 and any(_is_active(a) for a in args):
                _check(gradient_of(build, args), args, None, known)
    finally:
        del RULES["list_add"]


def _check(build: Build, args: Sequence[Any], expected: Any, sizes: bool) -> None:
    t = Trial(build, args, sizes)
    out = t.value()
    if expected is not None:
        want = expected(*args)
        assert np.shape(out) == np.shape(want), (np.shape(out), np.shape(want))
        assert np.asarray(out).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(out, want, rtol=1e-6)
    t.check_claims()
    if not is_float(t.out.type):
        return
    rng = np.random.default_rng(7)
    active = [k for k, a in enumerate(args) if _is_active(a)]
    if not active:
        return
    stmts = [s for s in t.b.block if isinstance(s, Assign)]
    seed = np.asarray(rng.normal(size=np.shape(out)))[()].astype(np.asarray(out).dtype)
    directions = {
        k: np.asarray(rng.normal(size=np.shape(args[k]))).astype(args[k].dtype) for k in active
    }
    g = Var("g", _fresh_type("g", t.out.type))
    dots = {k: Var(f"{NAMES[k]}_dot", t.params[k].type) for k in active}
    t.b.checks = False
    bars = pull(t.b, t.out, g, [t.xs[k] for k in active], stmts)
    tangent = push(t.b, t.out, {NAMES[k]: t.b.sym(d) for k, d in dots.items()}, stmts)
    extra = [(g, seed), *((dots[k], directions[k][()]) for k in active)]
    *found, moved = t.run(*bars, t.out if tangent is None else tangent, extra=extra)
    for k, bar in zip(active, found):
        assert np.shape(bar) == np.shape(args[k]) and np.asarray(bar).dtype == args[k].dtype
    slope = sum(np.vdot(bar, directions[k]) for bar, k in zip(found, active))
    if tangent is not None:
        assert np.shape(moved) == np.shape(out) and np.asarray(moved).dtype == np.asarray(out).dtype
        np.testing.assert_allclose(np.vdot(seed, moved), slope, rtol=1e-9, atol=1e-9)
    eps = 1e-6
    ends = []
    for sign in (eps, -eps):
        near = [a + sign * directions[k] if k in directions else a for k, a in enumerate(args)]
        ends.append(t.value(near))
    np.testing.assert_allclose(
        np.vdot(seed, ends[0] - ends[1]) / (2 * eps), slope, rtol=1e-6, atol=1e-7
    )


def gradient_of(build: Build, args: Sequence[Any]) -> Build:
    """The gradient as a program with a scalar result: the sum over its parts, each weighted by its
    argument.  Differentiating it applies the rules of adjoint code."""

    def gradient(b: Builder, *xs: Sym) -> Sym:
        out = b.sym(build(b, *xs))
        stmts = [s for s in b.block if isinstance(s, Assign)]
        active = [x for x, a in zip(xs, args) if _is_active(a)]
        b.checks = False
        total = b.sym(0.0)
        seed = np.sin(out) if is_float(out.type) else out
        for x, bar in zip(active, pull(b, out, seed, active, stmts)):
            part = np.sin(bar) * x
            total = total + (b.emit("sum", part, axis=None, keepdims=False) if part.ndim else part)
        return total

    return gradient


def _fresh_type(name: str, t: Type) -> Type:
    return Array(t.dtype, t.shape) if isinstance(t, Array) else Scalar(t.dtype)


def _is_active(a: Any) -> bool:
    return np.asarray(a).dtype.kind == "f"

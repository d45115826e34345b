"""Checks of rules by finite differences, without the compiler: operations are built by hand and run
by the reference interpreter."""

from __future__ import annotations

import copy
import functools
import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.builder import Builder, NameSupply, Sym
from s2s.transforms.ir.nodes import Array, Function, Scalar, Type, Var
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.rules import RULES, SURFACES, Accumulate
from s2s.transforms.rules.broadcasting import unbroadcast
from s2s.transforms.rules.internal.update import add_contribution
from s2s.transforms.rules.library import LIBRARY

STEP = 1e-6


def type_of(value: Any, name: str = "x", static: bool = False) -> Type:
    """The type of an argument, with symbolic dims `x.0`, or with constant dims (`static`)."""
    if isinstance(value, np.generic):
        known = Dim.of(name) if value.dtype == "int64" else None
        return Scalar(value.dtype.name, value=known)
    if isinstance(value, bool):
        return Scalar("bool")
    if isinstance(value, int):
        return Scalar("int64", weak=True, value=Dim.of(name))
    if isinstance(value, float):
        return Scalar("float64", weak=True)
    sizes = [Dim.of(n if static else f"{name}.{i}") for i, n in enumerate(value.shape)]
    return Array(value.dtype.name, tuple(sizes), "C" if value.flags.c_contiguous else "A")


class Trial:
    """A function under construction: arguments become parameters `x0, x1, …`."""

    def __init__(self, *args: Any, static: bool = False) -> None:
        self.args: list[Any] = []
        self.params: list[Var] = []
        self.static = static
        self.sizes: dict[str, int] = {}
        self.b = Builder(NameSupply(), Facts(self.sizes))
        self.syms = [self.argument(a) for a in args]

    def argument(self, value: Any) -> Sym:
        name = self.b.names.fresh(f"x{len(self.args)}")
        for i, n in enumerate(np.shape(value)):
            self.sizes[f"{name}.{i}"] = n
        self.params.append(Var(name, type_of(value, name, self.static)))
        self.args.append(value)
        return self.b.sym(self.params[-1])

    def run(self, *results: Any) -> list[Any]:
        operands = [self.b.sym(r).operand for r in results]
        function = Function("trial", self.params, self.b.block, operands)
        return evaluate(function, *self.args)[0]


def run(build: Callable[..., Any], *args: Any, static: bool = False) -> Any:
    """The value of `build(b, *operands)`."""
    trial = Trial(*args, static=static)
    built = build(trial.b, *trial.syms)
    values = trial.run(*(built if isinstance(built, tuple) else (built,)))
    return tuple(values) if isinstance(built, tuple) else values[0]


def call(path: str, *args: Any, **keywords: Any) -> Any:
    """What a surface computes; arrays and NumPy scalars, in lists as well, are run-time values,
    all else is static."""
    dynamic: list[Any] = []

    def gather(a: Any) -> None:
        if isinstance(a, (np.ndarray, np.generic)):
            dynamic.append(a)
        elif isinstance(a, (list, tuple)):
            for item in a:
                gather(item)

    gather(args)

    def build(b: Builder, *syms: Sym) -> Any:
        given = iter(syms)

        def shown(a: Any) -> Any:
            if isinstance(a, (np.ndarray, np.generic)):
                return next(given)
            return type(a)(map(shown, a)) if isinstance(a, (list, tuple)) else a

        return SURFACES[path](b, *map(shown, args), **keywords)

    return run(build, *dynamic)


# ---------------------------------------------------------------- derivatives


def numeric_pushforward(
    f: Callable[..., Any], args: Sequence[Any], dots: Sequence[Any], h: float = STEP
) -> Any:
    """The central difference of f along `dots` (None for a constant argument)."""

    def shifted(t: float) -> Any:
        moved = [
            a if d is None else a + t * np.asarray(d, float)
            for a, d in zip(args, dots, strict=True)
        ]
        with np.errstate(all="ignore"):
            return np.asarray(f(*moved), dtype=float)

    return (shifted(h) - shifted(-h)) / (2 * h)


def numeric_pullback(
    f: Callable[..., Any], args: Sequence[Any], at: int, g: Any, h: float = STEP
) -> Any:
    """<g, df/dx> for every element of argument `at`."""
    x = np.asarray(args[at], dtype=float)
    bar = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        unit = np.zeros_like(x)
        unit[place] = 1.0
        dots = [unit if i == at else None for i in range(len(args))]
        bar[place] = np.sum(g * numeric_pushforward(f, args, dots, h))
    return bar


def check_derivatives(
    op: str,
    *args: Any,
    wrt: Sequence[int] | None = None,
    rtol: float = 1e-6,
    atol: float = 1e-7,
    static: bool = False,
    **attrs: Any,
) -> None:
    """Pullback and pushforward of one operation against finite differences of its meaning,
    for the float arguments (or `wrt`), each of the dtype of what it belongs to."""
    rule = RULES[op]
    if wrt is None:
        candidates = rule.differentiable
        wrt = [
            i
            for i in (range(len(args)) if candidates is None else candidates)
            if np.asarray(args[i]).dtype.kind == "f"
        ]
    rng = np.random.default_rng(7)

    def f(*values: Any) -> Any:
        assert rule.evaluate is not None
        return rule.evaluate(*values, **attrs)

    trial = Trial(*args, static=static)
    out = trial.b.emit(op, *trial.syms, **attrs)
    (value,) = trial.run(out)
    g = rng.normal(size=np.shape(value)).astype(np.asarray(value).dtype)[()]
    given = trial.argument(g)
    bars = pull(trial, op, given, out, wrt, attrs)
    results = trial.run(*bars.values())
    for at, bar in zip(bars, results, strict=True):
        expected = numeric_pullback(f, args, at, g)
        assert np.asarray(bar).dtype == np.asarray(args[at]).dtype, (op, at)
        assert np.shape(bar) == np.shape(args[at]), (op, at)
        np.testing.assert_allclose(bar, expected, rtol, atol, err_msg=f"{op} pullback {at}")
    for at in wrt:
        if at not in bars:
            expected = numeric_pullback(f, args, at, g)
            np.testing.assert_allclose(expected, 0, atol=atol, err_msg=f"{op} pullback {at}")
    check_pushforward(op, *args, wrt=wrt, rtol=rtol, atol=atol, static=static, **attrs)


def pull(
    trial: Trial, op: str, g: Any, out: Sym, wanted: Sequence[int], attrs: dict[str, Any]
) -> dict[int, Sym]:
    """The adjoints, with contributions accumulated and un-broadcast as in the reverse pass."""
    b = trial.b
    rule = RULES[op]
    assert rule.pullback is not None, op
    args = trial.syms
    bars = {}
    for at, part in rule.pullback(b, g, out, args, attrs, set(wanted)).items():
        if isinstance(part, Accumulate):
            part = add_contribution(b, None, args[at], part)
        bars[at] = unbroadcast(b, part, args[at])
    return bars


def check_pushforward(
    op: str,
    *args: Any,
    wrt: Sequence[int],
    rtol: float = 1e-6,
    atol: float = 1e-7,
    static: bool = False,
    **attrs: Any,
) -> None:
    rule = RULES[op]
    assert rule.pushforward is not None, op
    rng = np.random.default_rng(8)
    trial = Trial(*args, static=static)
    out = trial.b.emit(op, *trial.syms, **attrs)
    dots: list[Any] = [None] * len(args)
    for i in wrt:
        dots[i] = rng.normal(size=np.shape(args[i])).astype(np.asarray(args[i]).dtype)[()]
    given = [None if d is None else trial.argument(d) for d in dots]
    tangent = rule.pushforward(trial.b, given, out, trial.syms, attrs)
    expected = numeric_pushforward(lambda *v: rule.evaluate(*v, **attrs), args, dots)  # type: ignore[misc]
    (value,) = trial.run(0.0 if tangent is None else tangent)
    np.testing.assert_allclose(
        np.broadcast_to(value, expected.shape), expected, rtol, atol, err_msg=f"{op} pushforward"
    )


# ---------------------------------------------------------------- whole functions


def numpy_function(path: str) -> Callable[..., Any]:
    """The function that a path such as `numpy.linalg.norm` names."""
    package, *names = path.split(".")
    found: Any = importlib.import_module(package)
    for name in names:
        if not hasattr(found, name):
            found = importlib.import_module(f"{found.__name__}.{name}")
        else:
            found = getattr(found, name)
    return found


def same_as_numpy(path: str, *args: Any, dtypes: bool = True, **keywords: Any) -> Any:
    """What a surface or a library program gives: it is what NumPy gives, or, where NumPy raises an
    error, an error of that kind.  Library programs are run as the plain Python that they are."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        f = functools.partial(call, path) if path in SURFACES else LIBRARY[path]
        try:
            want = numpy_function(path)(*copy.deepcopy(args), **keywords)
        except (ValueError, TypeError, IndexError) as error:
            kinds = tuple(k for k in (ValueError, TypeError, IndexError) if isinstance(error, k))
            try:
                got = f(*args, **keywords)
            except kinds as own:
                return own
            raise AssertionError(f"{path}{args} gives {got}, but NumPy {error!r}") from None
        got = f(*args, **keywords)
    assert isinstance(got, (tuple, list)) == isinstance(want, (tuple, list))
    pairs = zip(got, want, strict=True) if isinstance(want, (tuple, list)) else [(got, want)]
    for g, w in pairs:
        assert np.shape(g) == np.shape(w), (path, np.shape(g), np.shape(w))
        assert not dtypes or np.asarray(g).dtype == np.asarray(w).dtype, (path, g, w)
        rtol = 1e-5 if np.asarray(w).dtype in ("float32", "complex64") else 1e-12
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)
    return got

"""Elementary functions: errors within 2 units in the last place, and NumPy's results at special
values."""

from __future__ import annotations

import functools
import platform
import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

import s2s
from s2s.backends.backends import signature
from s2s.backends.build_kernel import source
from s2s.backends.run_text import run_text
from s2s.codegen.kernel_module import listing
from s2s.codegen.type_lowering import of_numba

EXACT: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "expm1": mpmath.expm1,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "expit": lambda x: 1 / (1 + mpmath.exp(-x)),
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "log1p": mpmath.log1p,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
}
OF_TWO: dict[str, Callable[..., Any]] = {
    "power": mpmath.power,
    "hypot": mpmath.hypot,
    "arctan2": mpmath.atan2,
}
ALL = {**EXACT, **OF_TWO}
NUMPY: dict[str, Any] = {n: getattr(np, n, None) or getattr(special, n) for n in ALL}
FLOATS = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@functools.cache
def compiled(name: str) -> Any:
    owner = "np" if hasattr(np, name) else "special"
    arguments = "x, y" if name in OF_TWO else "x"
    called = f"{owner}.{name}({arguments})" if name != "power" else "x ** y"
    text = f"def {name}_of({arguments}):\n    return {called}\n"
    space: dict[str, Any] = {"np": np, "special": special}
    return s2s.function(run_text(text, f"<{name}>", space)[f"{name}_of"], backend="numba")


def points(name: str, dtype: Any) -> Any:
    rng = np.random.default_rng(1)
    form = np.finfo(dtype)
    largest = 700.0 if dtype is np.float64 else 85.0
    parts = [rng.normal(size=100) * size for size in (1e-9, 1e-4, 0.03, 0.3, 1.0, 4.0, 30.0)]
    if name in ("arcsin", "arccos", "arctanh"):
        parts = [rng.uniform(-1, 1, 400), 1 - np.exp(rng.uniform(-30, 0, 100)), *parts[:3]]
    elif name.endswith("h") or name.startswith("exp"):
        parts.append(rng.uniform(-largest, largest, 200))
        # subnormal results, and the bounds of the range
        parts.append(rng.uniform(-1.07 * largest, -largest, 100))
    elif name in ("erf", "erfc"):
        parts.append(rng.uniform(-6, 28 if dtype is np.float64 else 10.5, 300))
    else:
        parts.append(np.exp(rng.uniform(-largest, largest, 300)))
    if name in ("sin", "cos", "tan"):
        parts += [rng.integers(1, 10**6, 100) * np.pi / 2, np.exp(rng.uniform(5, 40, 200))]
    x = np.concatenate(parts).astype(dtype)
    if name in ("log", "log2", "log10"):
        x = np.abs(x)
        x = np.concatenate([x, rng.random(50).astype(dtype) * form.tiny])
    if name == "log1p":
        x = np.where(x <= -1, -x, x)
    if name == "arccosh":
        x = 1 + np.abs(x)
    return x[(x != 0) & ((np.abs(x) < 1) | (name not in ("arcsin", "arccos", "arctanh")))]


def pairs(name: str, dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(2)
    largest = np.log(float(np.finfo(dtype).max))
    x = np.exp(rng.uniform(-largest, largest, 600))
    if name != "power":
        y = np.concatenate([rng.permutation(x)[:300], x[300:] * rng.uniform(0, 1, 300)])
        signs = rng.choice([-1.0, 1.0], (2, 600))
        return (x * signs[0]).astype(dtype), (y * signs[1]).astype(dtype)
    x[:400] = np.concatenate([rng.uniform(0.5, 2, 200), 1 + rng.normal(size=200) * 1e-3])
    x = x.astype(dtype)
    ends = largest / np.abs(np.log(x.astype(np.float64)))
    y = np.clip(rng.uniform(-1.05, 1.0, 600) * ends, -1e30, 1e30).astype(dtype)
    y[::4] = np.clip(np.rint(y[::4]), -9, 9)
    return x, y


def errors(name: str, arguments: tuple[Any, ...], y: Any) -> Any:
    """Errors in units in the last place of the exact value."""
    out = []
    form = np.finfo(y.dtype)
    with mpmath.workprec(140):
        for b, *a in zip(y.tolist(), *(x.tolist() for x in arguments)):
            exact = ALL[name](*map(mpmath.mpf, a))
            if abs(exact) >= mpmath.mpf(float(form.max)):
                assert abs(b) in (np.inf, float(form.max))
                continue
            unit = np.spacing(y.dtype.type(max(abs(float(exact)), float(form.tiny))))
            out.append(float(abs(mpmath.mpf(b) - exact) / mpmath.mpf(float(unit))))
    return np.array(out)


@FLOATS
@pytest.mark.parametrize("name", ALL)
def test_error(name: str, dtype: Any) -> None:
    arguments = pairs(name, dtype) if name in OF_TWO else (points(name, dtype),)
    y = compiled(name)(*arguments)
    assert y.dtype == dtype
    assert np.max(errors(name, arguments, y)) < 2.0


def assert_same(got: Any, want: Any, units: float = 0.0) -> None:
    """Assert equality up to rounding; signs, integral values and non-finite values must be equal
    exactly."""
    eps = np.finfo(want.dtype).eps
    np.testing.assert_allclose(got, want, rtol=4 * eps, atol=units * eps)
    definite = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[definite]), np.signbit(want[definite]))
    whole = np.isin(want, [0.0, 1.0, -1.0, np.inf, -np.inf])
    np.testing.assert_array_equal(got[whole], want[whole])


@FLOATS
@pytest.mark.parametrize("name", EXACT)
def test_special_values(name: str, dtype: Any) -> None:
    form = np.finfo(dtype)
    tiny = [form.tiny, form.smallest_subnormal, -form.smallest_subnormal]
    plain = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1000.0, -1000.0, form.max, form.min]
    x = np.array([*plain, *tiny, 0.5, -0.5, 2.0, -2.0, 8.0, 1.5, -1.5], dtype)
    with np.errstate(all="ignore"):
        want = NUMPY[name](x)
    assert_same(compiled(name)(x), want)


@FLOATS
@pytest.mark.parametrize("name", [*OF_TWO, "logaddexp", "logaddexp2"])
def test_special_pairs(name: str, dtype: Any) -> None:
    form = np.finfo(dtype)
    few = [0.0, 0.5, 1.0, 2.0, 3.0, 1.5, 800.0, np.inf, form.max, form.tiny]
    few += [form.smallest_subnormal, 2.0**form.nmant + 1, np.nan]
    ends = [sign * e for e in few for sign in (1, -1)]
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(ends, ends))
    function = {
        "power": lambda x, y: x**y,
        "hypot": lambda x, y: np.hypot(x, y),
        "arctan2": lambda x, y: np.arctan2(x, y),
        "logaddexp": lambda x, y: np.logaddexp(x, y),
        "logaddexp2": lambda x, y: np.logaddexp2(x, y),
    }[name]
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    got = s2s.function(function, backend="numba")(x, y)
    assert_same(got, want, units=4 if name.startswith("log") else 0)  # sums may cancel


@FLOATS
def test_powers_of_ten(dtype: Any) -> None:
    x = 10.0 ** np.arange(0, 23 if dtype is np.float64 else 11)
    np.testing.assert_array_equal(compiled("log10")(x.astype(dtype)), np.arange(len(x)))


@FLOATS
def test_cubes(dtype: Any) -> None:
    whole = np.arange(-200, 200)
    np.testing.assert_array_equal(compiled("cbrt")((whole**3).astype(dtype)), whole)


def test_near_multiples_of_a_quarter_turn() -> None:
    """Arguments nearest to multiples of pi / 2, from Muller's Elementary Functions."""
    x = np.array([6381956970095103.0 * 2.0**797, 16367173.0 * 2.0**72, 2.0**45 + 0.5, 2.0**1023])
    for name in ("sin", "cos", "tan"):
        assert np.max(errors(name, (x,), compiled(name)(x))) < 2.0
    x = np.array([16367173.0 * 2.0**72, 2.0**17, 2.0**17 + 1], np.float32)
    for name in ("sin", "cos", "tan"):
        assert np.max(errors(name, (x,), compiled(name)(x))) < 2.0


def test_sinc() -> None:
    x = np.array([0.0, 1.0, -0.25, 3.5, 1e-300, np.nan, np.inf])
    with np.errstate(all="ignore"):
        want = np.sinc(x)
    got = s2s.function(lambda x: np.sinc(x), backend="numba")(x)
    np.testing.assert_allclose(got, want, rtol=1e-15, atol=1e-16)


X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="looks at code for this machine")


def assembly(f: Any, *arguments: Any) -> str:
    f(*arguments)
    entry: Any = f._specialiser("vjp").latest
    compiled = entry.compiled
    kinds = tuple(map(of_numba, signature(compiled, entry.seed, arguments)))
    return listing(source(compiled.lowered, compiled.entry, kinds), "asm")


@X86
def test_several_elements_at_once() -> None:
    f = s2s.grad(lambda x: np.sum(np.tanh(x) * np.exp(x)), backend="numba")
    text = assembly(f, np.ones(4))
    assert "mulpd" in text and "exp" not in text.replace("exp_vjp", "")


@X86
def test_several_large_arguments_at_once() -> None:
    """The vector variant of the reduction of large arguments is called, not the scalar one."""

    def loss(x: Any) -> Any:
        return np.sum(np.sin(x) * np.cos(x))

    text = assembly(s2s.grad(loss, backend="numba"), np.ones(4))
    assert "$s2s.turned.double.4" in text


@X86
def test_as_many_elements_as_vectors_hold() -> None:
    """Vectors are full although the sum is a float64."""
    f = s2s.grad(lambda x: np.sum(np.exp(x) * x), backend="numba")
    text = assembly(f, np.ones(4, np.float32))
    assert "ymm" not in text or re.search(r"(mul|fmadd\d+)ps\s.*ymm", text)

"""Elementary functions within 2 units in the last place, and NumPy's at special values."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

import s2s
from s2s.backends import signature
from s2s.compile import listing

EXACT: dict[str, Callable[[Any], Any]] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "expm1": mpmath.expm1,
    "tanh": mpmath.tanh,
    "expit": lambda x: 1 / (1 + mpmath.exp(-x)),
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log1p": mpmath.log1p,
}
NUMPY: dict[str, Any] = {n: getattr(np, n, None) or getattr(special, n) for n in EXACT}


def compiled(name: str) -> Any:
    owner = "special" if name == "expit" else "np"
    space: dict[str, Any] = {"np": np, "special": special}
    text = f"def {name}_of(x):\n    return {owner}.{name}(x)\n"
    from s2s.backends import run_text

    return s2s.function(run_text(text, f"<{name}>", space)[f"{name}_of"], backend="numba")


def points(name: str, dtype: Any) -> Any:
    rng = np.random.default_rng(1)
    largest = 700.0 if dtype is np.float64 else 85.0
    parts = [rng.normal(size=250) * size for size in (1e-9, 1e-4, 0.03, 0.3, 1.0, 4.0, 30.0)]
    parts += [rng.uniform(-largest, largest, 400), np.exp(rng.uniform(-largest, largest, 400))]
    if name.startswith("exp"):
        # results that have no leading one, and the ends of the range
        parts.append(rng.uniform(-1.07 * largest, -largest, 200))
    x = np.concatenate(parts).astype(dtype)
    if name in ("log", "log2"):
        x = np.abs(x)
        x = np.concatenate([x, rng.random(200).astype(dtype) * np.finfo(dtype).tiny])
    if name == "log1p":
        x = np.where(x <= -1, -x, x)
    return x[x != 0]


def errors(name: str, x: Any, y: Any) -> Any:
    """In units in the last place of the exact value."""
    out = []
    form = np.finfo(x.dtype)
    with mpmath.workprec(140):
        for a, b in zip(x.tolist(), y.tolist()):
            exact = EXACT[name](mpmath.mpf(a))
            if abs(exact) >= mpmath.mpf(float(form.max)):
                assert abs(b) in (np.inf, float(form.max))
                continue
            unit = np.spacing(x.dtype.type(max(abs(float(exact)), float(form.tiny))))
            out.append(float(abs(mpmath.mpf(b) - exact) / mpmath.mpf(float(unit))))
    return np.array(out)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", EXACT)
def test_error(name: str, dtype: Any) -> None:
    x = points(name, dtype)
    y = compiled(name)(x)
    assert y.dtype == dtype
    assert np.max(errors(name, x, y)) < 2.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", EXACT)
def test_special_values(name: str, dtype: Any) -> None:
    form = np.finfo(dtype)
    tiny = [form.tiny, form.smallest_subnormal, -form.smallest_subnormal]
    plain = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1000.0, -1000.0, form.max, form.min]
    x = np.array([*plain, *tiny], dtype)
    with np.errstate(all="ignore"):
        want = NUMPY[name](x)
    got = compiled(name)(x)
    np.testing.assert_allclose(got, want, rtol=4 * form.eps, atol=0.0)
    definite = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[definite]), np.signbit(want[definite]))
    whole = np.isin(want, [0.0, 1.0, -1.0, np.inf, -np.inf])
    np.testing.assert_array_equal(got[whole], want[whole])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logaddexp(dtype: Any) -> None:
    f = s2s.function(lambda x, y: np.logaddexp(x, y), backend="numba")
    ends = [0.0, 1.5, -1.5, 800.0, -800.0, np.inf, -np.inf, np.nan]
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(ends, ends))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(f(x, y), np.logaddexp(x, y), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="looks at code for this machine")
def test_several_elements_at_once() -> None:
    f = s2s.grad(lambda x: np.sum(np.tanh(x) * np.exp(x)), backend="numba")
    f(np.ones(4))
    entry: Any = f._specialiser("vjp").latest
    compiled = entry.compiled
    kinds = signature(compiled, entry.seed, (np.ones(4),))
    text = listing(compiled.lowered, compiled.entry, kinds, "asm")
    assert "mulpd" in text and "exp" not in text.replace("exp_vjp", "")

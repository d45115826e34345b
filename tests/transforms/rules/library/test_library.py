"""Library programs agree with NumPy on every kind of input that NumPy accepts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.rules import library

RNG = np.random.default_rng(0)
V, W, M = RNG.normal(size=5), RNG.normal(size=3), RNG.normal(size=(3, 4))
K = RNG.integers(0, 3, 7)
HOLES = np.where(np.arange(5) == 2, np.nan, V)
KNOTS = np.sort(RNG.normal(size=6))


def convolve(a, v, mode):
    return np.convolve(a, v, mode)


def correlate(a, v, mode):
    return np.correlate(a, v, mode)


def pad(x, mode):
    return np.pad(x, ((1, 2), (2, 3)), mode=mode)


def same(f: Any, *args: Any, static: tuple[str, ...] = ()) -> None:
    want = f(*args)
    got = s2s.function(f, backend="loops", static_argnames=static)(*args)
    for g, w in zip(got, want) if isinstance(want, (list, tuple)) else [(got, want)]:
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n, m", [(4, 2), (5, 3), (3, 3), (2, 4), (2, 5), (1, 1)])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(n, m, mode):
    for f in (convolve, correlate):
        same(f, RNG.normal(size=n), RNG.normal(size=m), mode, static=("mode",))


@pytest.mark.parametrize("mode", ["edge", "wrap", "reflect", "symmetric", "constant"])
def test_pads(mode):
    for x in (M, M.astype(np.float32), M[:2, :2], np.arange(12).reshape(3, 4)):
        same(pad, x, mode, static=("mode",))


@pytest.mark.parametrize("n", [1, 2, 3, 8, 33])
def test_order(n):
    x = RNG.normal(size=n)
    holes = np.where(np.arange(n) == n // 2, np.nan, x)
    for v in (x, np.round(2 * x), holes, RNG.integers(0, 3, n)):
        same(lambda v: np.argsort(v, kind="stable"), v)
        same(lambda v: np.sort(v), v)
    same(lambda v: (np.median(v), np.quantile(v, 0.3), np.quantile(v, 1.0), np.ptp(v)), x)
    same(lambda v: np.median(v), holes)


CALLS = [
    (lambda m: np.sort(m, axis=0), M),
    (lambda m: np.sort(m, axis=None), M),
    (lambda m: np.argsort(m, axis=0), M),
    (lambda m: np.median(m, axis=1), M),
    (lambda a, v: np.searchsorted(a, v, side="right"), KNOTS, KNOTS[::-1].copy()),
    (lambda a, v: np.searchsorted(a, v), KNOTS, RNG.normal(size=(2, 3))),
    (lambda x, xp, fp: np.interp(x, xp, fp), 3 * V, KNOTS, RNG.normal(size=6)),
    (lambda x, xp, fp: np.interp(x, xp, fp), KNOTS.copy(), KNOTS, RNG.normal(size=6)),
    (lambda x, xp, fp: np.interp(x, xp, fp, left=0.0, right=9), 3 * HOLES, KNOTS, KNOTS**2),
    (lambda k: (np.bincount(k), np.bincount(k, minlength=9), np.unique(k)), K),
    (lambda k, w: np.bincount(k, weights=w), K, RNG.normal(size=7)),
    (lambda x: (np.cumprod(x), np.maximum.accumulate(x), np.minimum.accumulate(x)), V),
    (lambda m: np.cumprod(m, axis=0), np.arange(6, dtype=np.int32).reshape(2, 3)),
    (lambda m: np.gradient(m), M),
    (lambda m, x: np.gradient(m, x, axis=1), M, np.array([0.0, 1.0, 3.0, 4.0])),
    (lambda m, x: np.trapezoid(m, x, axis=0), M, W),
    (lambda x: np.array_split(x, 3), V),
    (lambda m: np.split(m, [1, 2], axis=1), M),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3), V),
    (lambda m: (np.tri(3, 4, 1), np.rot90(m, 1), np.rot90(m, 2), np.rot90(m, -1)), M),
    (lambda m: np.unravel_index(np.argmax(m), m.shape), M),
    (lambda x: np.vander(x, 3, increasing=True), V),
    (lambda x: (np.polyval([1, 2, 3], x), np.polyval(x, 0.5)), V),
    (lambda m: (np.cov(m), np.cov(m, rowvar=False), np.corrcoef(m)), M),
    (lambda m, w: np.average(m, axis=0, weights=w), M, W),
    (lambda x: (np.nansum(x), np.nanmean(x), np.nanmax(x), np.nan_to_num(x)), HOLES),
    (lambda x: (np.sinc(x), np.sinc(0 * x), np.logspace(0, 1, 4)), V),
    (lambda m: (np.kron(m, m), np.cross(m[:, :3], m[:, 1:])), M),
    (lambda x, w: np.meshgrid(x, w), V, W),
    (lambda x, w: np.meshgrid(x, w, indexing="ij"), V, W),
    (lambda m: np.take(m, np.array([[1, -1]]), axis=1), M),
    (lambda m: np.take_along_axis(m, np.argsort(m, axis=0), axis=0), M),
    (lambda m: np.block([[m, m], [m, -m]]), M),
    (lambda x: np.select([x > 0.3, x > 0], [x, x * x], 7.0), V),
    (lambda x: np.isin(x, [1, 2]), K),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_value(call):
    same(*call)


def test_equal_division_is_checked():
    with pytest.raises(ValueError, match="equal division"):
        s2s.function(lambda x: np.split(x, 2)[0], backend="loops")(V)


def test_programs_have_the_parameters_of_numpy():
    import inspect

    for path, program in library.LIBRARY.items():
        module, _, name = path.rpartition(".")
        if module not in ("numpy", "numpy.linalg") or not hasattr(np, name):
            continue
        try:
            known = list(inspect.signature(getattr(np, name)).parameters)
        except ValueError:
            continue
        ours = [p for p in inspect.signature(program).parameters if p not in ("args", "kwargs")]
        assert set(ours) <= set(known), path

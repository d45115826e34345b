"""Matrix functions in lowered code: stacks, layouts, dtypes, and errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from s2s.transforms.ir.op_registry import SURFACES
from tests.transforms.lower.harness import check, lowered, run

R = np.random.default_rng(6)


def regular(*shape, dtype="float64"):
    return (R.normal(size=shape) * 0.4 + 2 * np.eye(shape[-1])).astype(dtype)


def surface(path, part=None, **keywords):
    def f(b, *xs):
        out = SURFACES[path](b, *xs, **keywords)
        return out if part is None else out[part]

    return f


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (0, 3, 3), (0, 0)])
@pytest.mark.parametrize("name", ["inv", "det", "pinv", "svdvals", "eigvalsh"])
def test_of_stacks(name, shape, dtype):
    x = regular(*shape, dtype=dtype)
    if name == "eigvalsh":
        x = x + np.swapaxes(x, -1, -2)
    function = getattr(np.linalg, name)
    tol = 1e-4 if dtype == "float32" else 1e-12
    check(surface(f"numpy.linalg.{name}"), function, x, tol=tol)


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 1, 3, 3), (4, 3, 2))],
)
def test_solve(left, right):
    x, y = regular(*left), R.normal(size=right)
    check(surface("numpy.linalg.solve"), np.linalg.solve, x, y, tol=1e-12)


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 2, 2)])
def test_qr(shape, part):
    x = R.normal(size=shape)
    check(surface("numpy.linalg.qr", part), lambda x: np.linalg.qr(x)[part], x, tol=1e-12)


def test_views_and_mixed_dtypes():
    x = regular(6, 6)[::-2, ::-2].T
    check(surface("numpy.linalg.inv"), np.linalg.inv, x, tol=1e-12)
    y = np.arange(3.0, dtype="float32")
    check(surface("numpy.linalg.solve"), np.linalg.solve, x, y, tol=1e-6)


def test_an_argument_is_not_copied():
    text = lowered(surface("numpy.linalg.inv"), regular(3, 3)).text
    assert text.count("np.empty") == 1 and "for " not in text


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1])
def test_solve_triangular(lower, trans):
    keywords = {"lower": lower, "trans": trans}
    check(
        surface("scipy.linalg.solve_triangular", **keywords),
        lambda x, y: scipy.linalg.solve_triangular(x, y, **keywords),
        regular(3, 3),
        R.normal(size=(3, 2)),
        tol=1e-12,
    )


@pytest.mark.parametrize(
    ("path", "args", "told"),
    [
        ("numpy.linalg.solve", (np.ones((2, 2)), np.ones(2)), "Singular matrix"),
        ("numpy.linalg.inv", (np.zeros((2, 2)),), "Singular matrix"),
        ("numpy.linalg.cholesky", (-np.eye(2),), "Matrix is not positive definite"),
        ("numpy.linalg.svdvals", (np.full((2, 2), np.nan),), "SVD did not converge"),
        (
            "scipy.linalg.solve_triangular",
            (np.diag([1.0, 0.0]), np.ones(2)),
            "singular matrix: resolution failed at diagonal 1",
        ),
    ],
)
def test_failures(path, args, told):
    with pytest.raises(np.linalg.LinAlgError, match=told):
        run(surface(path), *args)

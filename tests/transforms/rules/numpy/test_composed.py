"""Composed functions: values against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.rules import RULES
from tests.transforms.rules.numeric import Trial, call

A = np.arange(12.0).reshape(3, 4) - 3.0
V = np.array([1.0, -2.0, 3.0])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        *(("diagonal", (A, k)) for k in (-5, -1, 0, 1, 3)),
        *(("trace", (A, k)) for k in (-1, 0, 2)),
        *(("diag", (x, k)) for x in (A, V) for k in (-1, 0, 2)),
        *(("tril", (A, k)) for k in (-1, 0, 2)),
        *(("triu", (np.stack([A, A]), k)) for k in (-1, 0, 2)),
        *(("roll", (A, k, axis)) for k in (-1, 5) for axis in (None, 0, 1)),
        ("roll", (A, (1, 2), (0, 1))),
        ("roll", (np.zeros(0), 1)),
        *(("tile", (x, reps)) for x in (A, V) for reps in (2, (2, 3), (2, 1, 3))),
        *(("repeat", (A, 3, axis)) for axis in (None, 0, -1)),
        ("repeat", (V, 2)),
        ("repeat", (V, np.array([2, 0, 3]))),
        ("repeat", (A, np.array([0, 1, 0, 2]), 1)),
        *(("linalg.norm", (x,)) for x in (A, V, 0 * V)),
        *(("linalg.norm", (V, ord)) for ord in (1, 2, np.inf, -np.inf)),
        *(("linalg.norm", (A, None, axis)) for axis in (0, 1)),
        ("linalg.norm", (A, "fro")),
        ("isclose", (V, V + np.array([0.0, 1e-12, 1.0]))),
        ("isclose", (np.array([np.inf, np.nan, np.inf]), np.array([np.inf, np.nan, 1.0]))),
        ("allclose", (V, V)),
    ],
)
def test_values_are_numpys(name, args):
    function = np.linalg.norm if name == "linalg.norm" else getattr(np, name)
    np.testing.assert_allclose(call(f"numpy.{name}", *args), function(*args))


@pytest.mark.parametrize("x", [V > 0, A, A > 100, np.zeros(0)])
def test_nonzero(x):
    for path in ("numpy.nonzero", "numpy.where", "numpy.ndarray.nonzero"):
        found = call(path, x)
        assert [f.tolist() for f in found] == [f.tolist() for f in np.nonzero(x)]
    assert call("numpy.flatnonzero", x).tolist() == np.flatnonzero(x).tolist()


def test_norm_at_zero_has_derivative_zero():
    trial = Trial(np.zeros(2), np.float64(1.0))
    total, g = trial.syms
    some = total > 0
    out = trial.b.emit("where", some, total, 1.0)
    root = trial.b.emit("sqrt", out)
    root_bar = RULES["where"].pullback(trial.b, g, None, (some, root, total), {}, {1})[1]
    bar = RULES["sqrt"].pullback(trial.b, root_bar, root, (out,), {}, {0})[0]
    assert trial.run(bar)[0].tolist() == [0.0, 0.0]

"""One representative of each kind of program, compiled by Numba; and backends compared."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import s2s
from tests import oracle
from tests.corpus import Case, load
from tests.corpus.known import KNOWN
from tests.judge import judge, transform

CASES = load()


def representatives() -> list[Any]:
    """Cases in order, each of which adds a tag that five cases or more share."""
    common = Counter(tag for case in CASES.values() for tag in case.tags)
    covered = {"jax", *(tag for tag, count in common.items() if count < 5)}
    chosen = []
    for name, case in CASES.items():
        if set(case.tags) <= covered:
            continue
        covered |= set(case.tags)
        reason = next((KNOWN[k] for k in (name, f"{name}[numba]") if k in KNOWN), None)
        marks = [] if reason is None else [pytest.mark.xfail(strict=True, reason=reason)]
        chosen.append(pytest.param(case, id=name, marks=marks))
    return chosen


@pytest.mark.parametrize("case", representatives())
def test_numba(case: Case) -> None:
    """Primal and gradient, compiled; float64 at every trip count, float32 at the last."""
    f = transform(case, "numba")
    for n in case.trips:
        judge(case, f, n, np.float64)


PRECISION = ["augmented_whole_array", "two_layer_network", "broadcast_everything", "kalman_filter"]


@pytest.mark.parametrize("name", PRECISION)
def test_numba_in_float32(name: str) -> None:
    case = CASES[name]
    judge(case, transform(case, "numba"), case.trips[-1], np.float32)


def loss(w: Any, x: Any) -> Any:
    h = np.tanh(x @ w)
    s = 0.0
    for i in range(h.shape[0]):
        if h[i, 0] > 0.0:
            s += h[i, 0] ** 2
    return s


def test_backends_agree(rng: np.random.Generator) -> None:
    w, x = rng.normal(size=(3, 2)), rng.normal(size=(4, 3))
    outs = [s2s.value_and_grad(loss, backend=b)(w, x) for b in ("python", "loops", "numba")]
    for out in outs[1:]:
        oracle.assert_close(out, outs[0], 1e-12, "backends")


def test_backend_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "python")
    w, x = np.ones((3, 2)), np.ones((4, 3))
    assert np.all(np.isfinite(s2s.grad(loss)(w, x)))


def test_primal_and_python(rng: np.random.Generator) -> None:
    g = s2s.grad(loss, backend="loops")
    w, x = rng.normal(size=(3, 2)), rng.normal(size=(4, 3))
    assert g.python is loss
    assert g.primal(w, x) == pytest.approx(loss(w, x))


def test_check_grads(rng: np.random.Generator) -> None:
    s2s.check_grads(loss, rng.normal(size=(3, 2)), rng.normal(size=(4, 3)))


def solved(a, b):
    return np.linalg.solve(a, b)


def stacked(a, b):
    # nothing wrong up to here
    c = solved(a, b)
    return np.sum(np.concatenate([c, c]))


def beyond(a, b):
    s = 0.0
    for i in range(5):
        s += b[i] * a[0, i]
    return s


def checked(a, b):
    if a[0, 0] == 0.0:
        raise ValueError("no zeros")
    return np.sum(a * b)


@pytest.mark.parametrize("backend", ["python", "loops"])
@pytest.mark.parametrize("transform", [s2s.grad, s2s.function])
@pytest.mark.parametrize(
    ("function", "error", "line"),
    [
        (stacked, np.linalg.LinAlgError, "return np.linalg.solve(a, b)"),
        (beyond, IndexError, "s += b[i] * a[0, i]"),
        (checked, ValueError, 'raise ValueError("no zeros")'),
    ],
)
def test_errors_have_the_line(
    function: Any, error: type[Exception], line: str, transform: Any, backend: str
) -> None:
    with pytest.raises(error) as raised:
        transform(function, backend=backend)(np.zeros((2, 2)), np.ones(2))
    told: Any = raised.value
    assert told.file == __file__
    assert told.source_line.strip() == line
    if function is checked:
        assert str(told) == "no zeros"
    else:
        assert f"test_backends.py:{told.line}: " in str(told)


def halved(x):
    short = x.astype(np.float16)
    return float(np.sum(short * short))


def test_float16_is_not_compiled() -> None:
    x = np.ones(3)
    assert s2s.function(halved, backend="python")(x) == 3.0
    assert s2s.function(halved, backend="loops")(x) == 3.0
    with pytest.raises(s2s.UnsupportedError, match="float16, which is not compiled") as raised:
        s2s.function(halved, backend="numba")(x)
    assert raised.value.source_line.strip() == "short = x.astype(np.float16)"

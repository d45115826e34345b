"""One representative of each kind of program, compiled by Numba; and backends compared."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.call.backend_choice import BACKENDS
from s2s.errors import SizeGuardFailed
from s2s.runtime import block_pool
from tests import oracle
from tests.corpus import Case, load
from tests.corpus.known import KNOWN
from tests.judge import judge, transform

CASES = load()


def representatives() -> list[Any]:
    """Cases, each of which adds a tag that at least five cases have."""
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
    outs = [s2s.value_and_grad(loss, backend=b)(w, x) for b in BACKENDS]
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


def test_parameters_that_have_to_be_named(rng: np.random.Generator) -> None:
    """The emitted function has the user's `/` and `*`."""

    def f(x, /, k=2.0, *, n, y=3.0):  # type: ignore[no-untyped-def]
        return np.sum(x**n) * k - y * k

    x = rng.normal(size=4)
    value, x_bar = s2s.value_and_grad(f, backend="python")(x, 1.5, n=2, y=0.5)
    assert value == pytest.approx(f(x, 1.5, n=2, y=0.5))
    assert np.allclose(x_bar, 2 * x * 1.5)
    assert s2s.function(f, backend="python")(x, n=2) == pytest.approx(f(x, n=2))


def test_check_grads(rng: np.random.Generator) -> None:
    s2s.check_grads(loss, rng.normal(size=(3, 2)), rng.normal(size=(4, 3)))


def solved(a, b):
    return np.linalg.solve(a, b)


def stacked(a, b):
    # no error so far
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


def scaled(x, y):
    return x * y + 1.0


def test_scalars_of_float16_are_not_compiled() -> None:
    given = np.float32(2.0), np.float16(3.0)
    assert s2s.function(scaled, backend="python")(*given) == 7.0
    with pytest.raises(s2s.UnsupportedError, match="float16, which is not compiled"):
        s2s.function(scaled, backend="numba")(*given)


# ---------------------------------------------------------------- the Numba dispatcher


def test_the_default_is_a_numba_dispatcher(rng: np.random.Generator) -> None:
    from numba.core.dispatcher import Dispatcher

    f = s2s.value_and_grad(lambda w, x: np.sum(np.tanh(x @ w)))
    with pytest.raises(TypeError, match="has not been compiled with Numba yet"):
        f.compiled  # noqa: B018
    w, x = rng.normal(size=(3, 2)), rng.normal(size=(4, 3))
    value, gradient = f(w, x)
    kernel = f.compiled
    assert isinstance(kernel, Dispatcher)
    (types,) = kernel.signatures
    assert [str(t) for t in types] == ["array(float64, 2d, C)"] * 2
    for text in (*kernel.inspect_llvm().values(), *kernel.inspect_asm().values()):
        assert "fmul" in text or "mul" in text
    again, bar = kernel(w, x)
    assert again == value
    np.testing.assert_array_equal(bar, gradient)
    with pytest.raises(TypeError, match="No matching definition"):
        kernel(w.astype(np.float32), x)


def test_a_dispatcher_refuses_sizes_it_was_not_compiled_for() -> None:
    f = s2s.grad(lambda x, y: np.sum(x * y))
    f(np.ones(3), np.ones(3))
    with pytest.raises(SizeGuardFailed):
        f.compiled(np.ones(3), np.ones(4))
    assert f(np.ones(3), np.ones(1)).shape == (3,)  # another specialisation


@pytest.mark.parametrize("backend", ["numba", "njit", "native"])
def test_subclasses_and_unusual_arrays(backend: str) -> None:
    """The call stub rejects them, and the general path handles them."""
    f = s2s.grad(lambda x: np.sum(x * x * x), backend=backend)
    x = np.arange(1.0, 5.0)
    expected = 3 * x * x
    spread = np.zeros(8)[::2]
    spread[...] = x
    unaligned = np.zeros(33, np.uint8)[1:].view(np.float64)
    unaligned[...] = x

    class Own(np.ndarray):
        pass

    for _ in range(3):
        for given in (x, spread, unaligned, x.view(Own), x.reshape(2, 2)):
            np.testing.assert_array_equal(np.ravel(f(given)), expected)
    with pytest.raises(TypeError, match="big-endian|byte order"):
        f(x.astype(">f8"))


@pytest.mark.parametrize("backend", ["numba", "njit", "native"])
def test_out_buffers(backend: str, rng: np.random.Generator) -> None:
    f = s2s.grad(loss, backend=backend)
    w, x = rng.normal(size=(3, 2)), rng.normal(size=(4, 3))
    out = np.empty((3, 2))
    for _ in range(2):
        assert f(w, x, out=out) is out
        np.testing.assert_array_equal(out, f(w, x))


@pytest.mark.parametrize("backend", ["numba", "native", "loops"])
def test_out_buffers_are_written_by_the_kernel(backend: str) -> None:
    """The kernel returns the buffers themselves; others are copied to."""

    def f(x: Any, y: Any, n: int) -> Any:
        s = np.sum(np.sin(x) * x)
        for i in range(n):
            s += x[i] * np.sum(y)
        return s

    g = s2s.value_and_grad(f, wrt=("x", "y"), backend=backend)
    x, y = np.arange(1.0, 5.0), np.ones((2, 3), np.float32)
    expected, bars = s2s.value_and_grad(f, wrt=("x", "y"), backend="python")(x, y, 3)
    a, b = np.empty(4), np.empty((2, 3), np.float32)
    before = sys.getrefcount(a), sys.getrefcount(b)
    for _ in range(3):
        value, found = g(x, y, 3, out=(a, b))
        assert value == pytest.approx(expected) and found[0] is a and found[1] is b
        oracle.assert_close(found, bars, 1e-6, "out")
        a[...] = b[...] = np.nan
        with pytest.raises(IndexError):
            g(x, y, 5, out=(a, b))
    del found
    assert (sys.getrefcount(a), sys.getrefcount(b)) == before
    entry: Any = g._specialiser("vjp").latest
    known = entry.kernels_into if backend == "numba" else entry.kernels
    kernel = known[backend]
    assert len(entry.buffers) == 2
    positions = [result for result, _ in entry.buffers]
    returned = kernel((x, y, 3), entry.seed, [a, b])
    assert returned[positions[0]] is a and returned[positions[1]] is b
    if backend != "native":
        assert kernel((x, y, 3), entry.seed, [a, None])[positions[0]] is a
    # Buffers that the kernel cannot write into.
    for wide in (np.empty(8)[::2], np.zeros(33, np.uint8)[1:].view(np.float64)):
        _, found = g(x, y, 3, out=(wide, b))
        assert found[0] is wide
        oracle.assert_close(found, bars, 1e-6, "out")


def test_many_out_buffers() -> None:
    """More buffers than the kernel takes: the results are copied."""
    f = s2s.grad(lambda arrays: sum(np.sum(a * a) for a in arrays))
    arrays = [np.full(3, float(i)) for i in range(40)]
    out = [np.empty(3) for _ in arrays]
    found = f(arrays, out=out)
    assert all(a is b for a, b in zip(found, out, strict=True))
    np.testing.assert_array_equal(out, [2 * a for a in arrays])
    assert not f._specialiser("vjp").latest.kernels_into


@pytest.mark.parametrize("backend", ["numba", "native"])
def test_no_memory_is_lost_in_calls_and_errors(backend: str) -> None:
    @s2s.grad(backend=backend)
    def f(x: Any, n: int) -> Any:
        h = np.exp(x)
        s = 0.0
        for i in range(n):
            s += h[i] * x[i]
        return s

    x = np.ones(50_000)
    for _ in range(3):
        f(x, 3)
    before = block_pool.usage()["in_use"]
    for _ in range(5):
        f(x, 3)
        with pytest.raises(IndexError):
            f(x, x.shape[0] + 1)
    assert block_pool.usage()["in_use"] == before


def test_arrays_of_variables_are_passed_in_one_table() -> None:
    variables = [s2s.Variable(np.full(3, float(i))) for i in range(4)]

    @s2s.function
    def step(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = 0.0
            for variable in variables:
                loss = loss + np.sum(variable * variable * x)
        for variable, bar in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(0.1 * bar)
        return loss

    x = np.ones(3)
    expected = [float(i) for i in range(4)]
    for _ in range(4):
        step(x)
        expected = [0.8 * e for e in expected]
    assert len(step.compiled.signatures[0]) == 2  # x and the table
    for variable, value in zip(variables, expected):
        np.testing.assert_allclose(variable.numpy(), value)
    # A Variable with a new array is detected, and other integer arrays are rejected as tables.
    variables[1].assign(np.full(3, 7.0))
    step(x)
    np.testing.assert_allclose(variables[1].numpy(), 5.6)
    with pytest.raises(SizeGuardFailed):
        step.compiled(x, np.zeros(10, np.int64))


def test_many_arrays_of_any_kind() -> None:
    """So many arrays that all are passed in the table."""

    class Own(np.ndarray):
        pass

    f = s2s.grad(lambda arrays: sum(np.sum(a * a) for a in arrays))
    plain = [np.full(3, float(i)) for i in range(40)]
    unaligned = [np.zeros(25, np.uint8)[1:].view(np.float64) for _ in plain]
    for a, b in zip(unaligned, plain):
        a[...] = b
    kinds = [plain, [a.view(Own) for a in plain], [np.repeat(a, 2)[::2] for a in plain], unaligned]
    for _ in range(3):
        for arrays in kinds:
            for found, a in zip(f(arrays), plain, strict=True):
                np.testing.assert_array_equal(found, 2 * a)
    assert len(f.compiled.signatures[0]) == 1


@pytest.mark.parametrize("backend", ["numba", "native"])
def test_kernels_of_many_values(backend: str) -> None:
    """Arguments and variables are in a frame."""
    variables = [s2s.Variable(np.full((2, 3), 0.1 * i)) for i in range(30)]

    @s2s.function(backend=backend)
    def step(x: Any, k: int) -> Any:
        with s2s.GradientTape() as tape:
            loss = 0.0
            for variable in variables:
                loss = loss + np.sum((variable @ x) ** 2)
        for variable, bar in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(0.1 * bar)
        return loss, x[k]

    x = np.eye(3)
    expected = np.array([v.numpy() for v in variables])
    for _ in range(3):
        loss, row = step(x, 2)
        assert loss == pytest.approx(np.sum(expected**2))
        np.testing.assert_array_equal(row, x[2])
        expected = 0.8 * expected
    np.testing.assert_allclose([v.numpy() for v in variables], expected)
    with pytest.raises(IndexError):
        step(x, 3)

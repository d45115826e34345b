"""`for i in s2s.checkpoint(range(n), snapshots=…)`: the plain loop's derivatives in less memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pytest

import s2s

X = np.array([0.3, -0.7, 1.1])
W = np.array([[0.2, -0.4, 0.3], [0.5, 0.1, -0.6], [-0.3, 0.7, 0.2]])
U = np.cos(np.arange(40.0))
COUNTS = (0, 1, 2, 3, 7)


@dataclass
class Program:
    function: Callable[..., Any]
    wrt: tuple[str, ...]


PROGRAMS: dict[str, Program] = {}


def program(*wrt: str) -> Any:
    """A function of x, w, u and n; `over` wraps the ranges of its loops."""

    def declare(f: Any) -> Any:
        PROGRAMS[f.__name__] = Program(f, wrt)
        return f

    return declare


def plain(run: Any) -> Any:
    return run


def kept(run: Any) -> Any:
    return s2s.checkpoint(run, snapshots=2)


@program("x", "w", "u")
def arrays_and_a_total(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    total = 0.0
    for i in over(range(n)):
        x = np.tanh(w @ x + u[i])
        total += np.sum(x * u[i])
    return total + np.sum(x)


@program("x", "u")
def numbers_of_every_kind(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    a, k, flag, y, z = 1, 0, False, x[0], 0.5
    for _ in over(range(n)):
        if flag:
            y = y * np.cos(z) + u[k]
            k = k + 2
        else:
            z = z + y * y * 0.1
        flag = not flag
        a = a * 3 % 7
        y = np.sin(y + a * z)
    return y * z + a + k


@program("x")
def arrays_of_every_kind(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    h, y, m = x.copy(), np.array(x[0]), np.zeros((2, 3))
    where, at = x > 0.0, np.arange(3)
    for k in over(range(n)):
        h[0] = np.sin(h[1] * h[2])
        h[1:] = h[1:] * h[0] + x[1:]
        y = np.array(np.sin(y * h[1]))
        m[k % 2] = np.where(where, m[1 - k % 2] * y, x[at])
        where = ~where
        at = (at + 1) % 3
    return np.sum(h * h) + y[()] + np.sum(m * m)


@program("x", "w", "u")
def nested(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    t = 0.0
    for k in range(3):
        v = x * (k + 1)
        for i in over(range(n)):
            v = np.sin(w @ v) * u[i + k]
            for j in range(2):
                v[j] = v[j] * v[j + 1] + t
        t = t + np.sum(v)
        x = x * 0.5 + v
    return t


@program("x", "u")
def one_in_the_other(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    for k in over(range(n)):
        for i in over(range(n)):
            x = np.sin(x) * u[i + k]
        x = x + 0.3
    return np.sum(x)


@program("x", "u")
def ranges_of_every_kind(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    for k in over(range(2 * n + 5, 5, -2)):
        x = np.sin(x * k + u[k])
    for k in over(reversed(range(3, 3 * n + 3, 3))):
        x = np.sin(x * k + u[k])
    for k, (p, q) in over(enumerate(zip(u, u[1 : n + 1]))):
        x = np.sin(x * p) + q * k
    for row in over(u[:n]):
        x = np.sin(x * row)
    return np.sum(x)


@program("x", "u")
def branches_and_whiles(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    y = x[0]
    for k in over(range(n)):
        c = 0
        while y * y < 4.0 and c < 5:
            y = y * 1.7 + 0.3 * u[k]
            c += 1
        if y > 2.0:
            y = np.sqrt(y) * x[1]
        y = np.sin(y)
    return y


@program("x", "w")
def closures_and_temporaries(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    def slope(t: Any, y: Any) -> Any:
        return np.array([y[1], -y[0] * w[0, 0] + t * y[2], y[0] * y[1]])

    y, h, t = x, 0.05, 0.0
    for _ in over(range(n)):
        k1 = slope(t, y)
        k2 = slope(t + h, y + h * k1)
        y = y + h / 2 * (k1 + k2)
        t += h
    return np.sum(y * y)


@program("x", "u")
def swapped_and_shared(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    a, b = x, x
    out = np.zeros(3)
    for k in over(range(n)):
        a, b = b, np.sin(a) * u[k]
        out[k % 3] += a[0] * b[1]
    for _ in over(range(n)):
        a = x
        b = a * b
    return np.sum(a * b) + np.sum(out * b)


@program("x", "u")
def slices_that_grow(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    y = u.copy()
    for k in over(range(n)):
        y[k:] = np.sin(y[k:] * x[0]) * np.sum(y[: k + 1])
        y[:k] = y[:k] * y[k]
    return np.sum(y)


@program("x", "u")
def a_list_from_outside(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    factors = [x[0] * u[k] for k in range(n)]
    y = x[1]
    for k in over(range(n)):
        y = np.sin(y * factors[k])
    return y


@program("x", "u")
def complex_numbers(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    z, c = x + 0.1j, 0.2j
    for k in over(range(n)):
        z = z * z * 0.3 + c * u[k]
        c = c * np.exp(1j * z[0])
    return np.sum(np.abs(z)) + c.real


@program("x")
def only_the_last_is_used(over: Any, x: Any, w: Any, u: Any, n: int) -> Any:
    y, z, last = x[0], x[1], 0.0
    for _ in over(range(n)):
        y = np.sin(y * z)
        last = y * x[2]
    return last


def close(got: Any, want: Any, **tolerance: Any) -> None:
    assert len(got) == len(want)
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, **{"rtol": 1e-10, "atol": 1e-13, **tolerance})


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_of_the_plain_loop(name: str) -> None:
    p = PROGRAMS[name]
    both = [s2s.grad(p.function, wrt=p.wrt, backend=b) for b in ("loops", "python")]
    for n in COUNTS:
        assert p.function(kept, X, W, U, n) == p.function(plain, X, W, U, n)
        want = both[0](plain, X, W, U, n)
        for gradient in both:
            close(gradient(kept, X, W, U, n), want)


@pytest.mark.parametrize("name", ("numbers_of_every_kind", "nested", "closures_and_temporaries"))
def test_second_order_and_forward_mode(name: str) -> None:
    f = PROGRAMS[name].function
    for transform in (s2s.hvp, s2s.jvp):
        made = transform(f, wrt="x", backend="loops")
        for n in (1, 5):
            # The direction is the second argument.
            close(made(kept, U[:3], X, W, U, n), made(plain, U[:3], X, W, U, n), rtol=1e-8)


def test_reverse_over_reverse_and_batches() -> None:
    def f(x: Any, over: Any) -> Any:
        for k in over(range(6)):
            x = np.sin(x * (k + 1.0))
        return np.sum(x)

    def slope(t: float, over: Any) -> Any:
        return s2s.grad(lambda t: f(t * X, over))(t)

    second = s2s.grad(slope, backend="loops")
    np.testing.assert_allclose(second(0.3, kept), second(0.3, plain), rtol=1e-9)
    many = s2s.vmap(s2s.grad(f), in_axes=(0, None), backend="loops")
    np.testing.assert_allclose(many(W, kept), many(W, plain))
    total = s2s.grad(lambda w, over: s2s.vmap(lambda x: f(x, over))(w).sum(), backend="loops")
    np.testing.assert_allclose(total(W, kept), many(W, plain))


def test_single_precision() -> None:
    p = PROGRAMS["arrays_and_a_total"]
    gradient = s2s.grad(p.function, wrt=p.wrt, backend="loops")
    x, w, u = (a.astype(np.float32) for a in (X, W, U))
    got = gradient(kept, x, w, u, 9)
    assert [g.dtype for g in got] == [np.float32] * 3
    assert re.search(r"x_kept = np\.empty\(\(snapshots, .*\), dtype=np\.float32\)", gradient.source)
    close(got, gradient(plain, X, W, U, 9), rtol=1e-4, atol=1e-5)


def test_python_numbers_stay_python_numbers() -> None:
    """A snapshot of a Python float does not turn float32 arrays into float64."""

    def f(x: Any) -> Any:
        h = 0.5
        for _ in s2s.checkpoint(range(4), snapshots=2):
            x = np.sin(x * h)
            h = h * 0.9
        return np.sum(x)

    for backend in ("loops", "python"):
        assert s2s.grad(f, backend=backend)(X.astype(np.float32)).dtype == np.float32


def test_snapshots_and_memory_known_at_run_time() -> None:
    def f(x: Any, n: int, s: int) -> Any:
        for _ in s2s.checkpoint(range(n), snapshots=s):
            x = np.sin(x)
        return np.sum(x)

    def g(x: Any, n: int, size: int) -> Any:
        total = 0.0
        for _ in s2s.checkpoint(range(n), memory=size):
            x = np.sin(x)
            total += x[0]
        return total + np.sum(x)

    for backend in ("loops", "python"):
        one, two = (s2s.grad(h, backend=backend) for h in (f, g))
        for n in COUNTS:
            for s in (1, 2, 3, 50):
                np.testing.assert_allclose(one(X, n, s), one(X, n, 10))
                np.testing.assert_allclose(two(X, n, 24 * s + 5), two(X, n, 1))
        with pytest.raises(ValueError, match="snapshots must be at least 1"):
            one(X, 3, 0)
    # The total is not part of the state.
    assert "size // np.maximum(8 * x_in.shape[0], 1)" in two.source
    assert "total_kept" not in two.source


def test_what_is_stored() -> None:
    p = PROGRAMS["closures_and_temporaries"]
    gradient = s2s.grad(p.function, wrt=p.wrt, backend="loops")
    gradient(kept, X, W, U, 5)
    rooms = re.findall(r"(\w+) = np\.(?:empty|zeros)\((.*)\)", gradient.source)
    assert [(name, size) for name, size in rooms if "snapshots" in size] == rooms
    assert {name for name, _ in rooms} == {"places", "y_kept", "t_kept"}


def repeated(x: Any, w: Any, over: Any, k: int) -> Any:
    if k == 0:
        return x
    for _ in over(range(3)):
        x = np.sin(w @ x)
    return repeated(x, w, over, k - 1) * 2.0


def test_where_no_sizes_are_known_shapes_are_checked() -> None:
    """A recursive function, and a function called by compiled code, accept arrays of any size."""

    def f(x: Any, w: Any, over: Any, k: int) -> Any:
        return repeated(x, w, over, k).sum()

    gradient = s2s.grad(f, wrt=("x", "w"), backend="loops")
    close(gradient(X, W, kept, 2), gradient(X, W, plain, 2))
    doubled = s2s.function(shape_changes)
    with pytest.raises(ValueError, match="x changes its shape in a checkpointed loop"):
        numba.njit(lambda x: doubled(x))(X)


def test_prints_once(capsys: Any) -> None:
    def f(x: Any) -> Any:
        for i in s2s.checkpoint(range(4), snapshots=2):
            print("step", i)
            x = np.sin(x)
        return np.sum(x)

    s2s.grad(f, backend="loops")(X)
    assert capsys.readouterr().out == "step 0\nstep 1\nstep 2\nstep 3\n"


def test_under_numba() -> None:
    p = PROGRAMS["arrays_and_a_total"]

    @s2s.grad(wrt=("x", "w", "u"), backend="numba")
    def f(x: Any, w: Any, u: Any, n: int, s: int) -> Any:
        total = 0.0
        for i in s2s.checkpoint(range(n), snapshots=s):
            x = np.tanh(w @ x + u[i])
            total += np.sum(x * u[i])
        return total + np.sum(x)

    want = s2s.grad(p.function, wrt=p.wrt, backend="loops")
    for n in COUNTS:
        close(f(X, W, U, n, 3), want(plain, X, W, U, n))


# ---------------------------------------------------------------- plain Python, and refusals


def test_in_plain_python() -> None:
    assert list(s2s.checkpoint(range(3), snapshots=1)) == [0, 1, 2]
    with pytest.raises(TypeError, match="one of snapshots= and memory="):
        s2s.checkpoint(range(3))
    with pytest.raises(TypeError, match="one of snapshots= and memory="):
        s2s.checkpoint(range(3), snapshots=1, memory=8)
    with pytest.raises(ValueError, match="at least 1"):
        s2s.checkpoint(range(3), snapshots=0)


def shape_changes(x: Any) -> Any:
    for _ in s2s.checkpoint(range(3), snapshots=2):
        x = np.concatenate((x, x))
    return x.sum()


def shape_is_broadcast(x: Any) -> Any:
    y = np.zeros(1)
    for _ in s2s.checkpoint(range(3), snapshots=2):
        y = y * 2.0 + x
    return y.sum()


def bound_too_late(x: Any) -> Any:
    for i in s2s.checkpoint(range(4), snapshots=2):
        if i > 0:
            x = x * y[: len(x)]  # noqa: F821
        y = np.sin(np.concatenate((x, x)))  # noqa: F841
    return x.sum()


def list_grows(x: Any) -> Any:
    rows = []
    for i in s2s.checkpoint(range(3), snapshots=2):
        rows.append(x[i])
        x = x * rows[i]
    return x.sum()


def breaks(x: Any) -> Any:
    for _ in s2s.checkpoint(range(3), snapshots=2):
        x = x * 2.0
        if x[0] > 1.0:
            break
    return x.sum()


def returns(x: Any) -> Any:
    for _ in s2s.checkpoint(range(3), snapshots=2):
        x = x * 2.0
        if x[0] > 1.0:
            return x[0]
    return x.sum()


def draws(x: Any) -> Any:
    for _ in s2s.checkpoint(range(3), snapshots=2):
        x = x * np.random.normal()
    return x.sum()


def no_budget(x: Any) -> Any:
    for _ in s2s.checkpoint(range(3)):
        x = x * 2.0
    return x.sum()


def no_snapshots(x: Any) -> Any:
    for _ in s2s.checkpoint(range(3), snapshots=0):
        x = x * 2.0
    return x.sum()


@pytest.mark.parametrize(
    "function, says, advice",
    [
        (shape_changes, "x may change its shape in this loop", "keep one shape"),
        (shape_is_broadcast, "y may change its shape in this loop", "keep one shape"),
        (bound_too_late, "y goes from one iteration", "bind y before the loop"),
        (list_grows, "rows grows in this loop", "ys[i] = y"),
        (breaks, "runs to its end: no `break`", "let further iterations change nothing"),
        (returns, "runs to its end: no `break`", "let further iterations change nothing"),
        (draws, "would draw the random numbers a second time", "draw before"),
        (no_budget, "needs one of snapshots= and memory=", "snapshots=10"),
    ],
)
def test_refused(function: Any, says: str, advice: str) -> None:
    with pytest.raises(s2s.S2SError) as caught:
        s2s.grad(function, backend="loops")(X)
    assert says in str(caught.value) and advice in caught.value.advice
    assert "^^^" in str(caught.value)
    line = function.__code__.co_firstlineno
    found = re.search(rf"{__name__.rpartition('.')[2]}\.py:(\d+):", str(caught.value))
    assert found is not None and line < int(found[1]) <= line + 4


def test_no_snapshots_at_all() -> None:
    with pytest.raises(ValueError, match="snapshots must be at least 1"):
        s2s.grad(no_snapshots, backend="loops")(X)


def test_what_the_first_iteration_binds_may_be_of_an_arguments_size() -> None:
    def program(x: Any, rounds: Any) -> Any:
        for i in rounds:
            if i > 0:
                x = x * y  # noqa: F821
            y = np.sin(x)  # noqa: F841
        return x.sum()

    def plain(x: Any) -> Any:
        return program(x, range(4))

    def kept(x: Any) -> Any:
        return program(x, s2s.checkpoint(range(4), snapshots=2))

    expected = s2s.grad(plain, backend="loops")(X)
    np.testing.assert_allclose(s2s.grad(kept, backend="loops")(X), expected, rtol=1e-12)

"""The features of tapes, each under `@s2s.function` and in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


@pytest.fixture(params=["plain", "compiled"])
def run(request: Any) -> Any:
    """Run a function in plain Python, or compiled."""
    if request.param == "plain":
        return lambda f, *args: f(*args)
    return lambda f, *args: s2s.function(f)(*args)


def close(got: Any, want: Any) -> None:
    """Assert equal structures of numbers and None."""
    if isinstance(want, (list, tuple)):
        assert type(got) is type(want) and len(got) == len(want)
        for g, w in zip(got, want):
            close(g, w)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for k in want:
            close(got[k], want[k])
    elif want is None:
        assert got is None
    else:
        assert got is not None and np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-6)


# ---- sources, watching


def test_a_variable(run: Any) -> None:
    x = s2s.Variable(3.0)

    def f() -> Any:
        with s2s.GradientTape() as tape:
            y = x**2
        return tape.gradient(y, x)

    close(run(f), 6.0)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_on_other_backends(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", backend)
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f(n: int) -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            y = w * w
            z = y * 1.0
            for _ in range(n):
                z = z * w
        slopes = 0.0 * w
        for _ in range(2):
            slopes = slopes + tape.gradient(z, w)
        return tape.gradient(z, w), tape.jacobian(y, w), slopes

    one = np.array([5.0, 5 * 16.0])
    want = (one, np.diag([2.0, 4.0]), 2 * one)
    close(s2s.function(f)(3), want)
    with s2s.GradientTape() as tape:
        y = w * w
    close(tape.jacobian(y, w), want[1])


def test_structures_of_sources(run: Any) -> None:
    x, y = s2s.Variable(3.0), s2s.Variable(2.0)

    def f() -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            z = x**2 + x * y - 3.0 * y
        return (
            tape.gradient(z, [x, y]), tape.gradient(z, (x, y)), tape.gradient(z, {"x": x, "y": y}),
            tape.gradient(z, [x, [y, {"x": x}]]),
        )  # fmt: skip

    close(run(f), ([8.0, 0.0], (8.0, 0.0), {"x": 8.0, "y": 0.0}, [8.0, [0.0, {"x": 8.0}]]))


def test_what_is_watched(run: Any) -> None:
    w, fixed = s2s.Variable(2.0), s2s.Variable(3.0, trainable=False)

    def f(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            z = w * fixed * x[0]
        return tape.gradient(z, [w, fixed, x])

    close(run(f, np.array([5.0])), [15.0, None, None])

    def g(x: Any) -> Any:
        with s2s.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(fixed)
            z = w * fixed * x[0]
        return tape.gradient(z, [w, fixed, x]), len(tape.watched_variables())

    close(run(g, np.array([5.0])), ([None, 10.0, None], 1))


def test_watching_structures_and_numbers(run: Any) -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        with s2s.GradientTape() as tape:
            tape.watch([a, {"b": b}])
            z = np.sum(a * a) * b * c
        return tape.gradient(z, [a, b, c])

    close(run(f, np.array([1.0, 2.0]), 3.0, np.float64(2.0)), [np.array([12.0, 24.0]), 10.0, None])


def test_watched_arrays_that_are_written(run: Any) -> None:
    """The gradient is with respect to their values when they were watched."""

    def f(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x * x)
            x[0] = 5.0 * x[1]
            z = y + np.sum(x * x)
        return tape.gradient(z, x)

    close(run(f, np.array([1.0, 3.0])), np.array([2.0, 6.0 + 6.0 + 150.0]))


def test_constants_of_the_program_can_be_watched(run: Any) -> None:
    def f() -> Any:
        x = 3.0
        with s2s.GradientTape() as tape:
            tape.watch(x)
            y = x**2
        return tape.gradient(y, x)

    close(run(f), 6.0)


def test_integers_are_watched_in_vain(run: Any) -> None:
    count = s2s.Variable(np.array([1, 2]))

    def f(k: Any) -> Any:
        with s2s.GradientTape() as tape:
            tape.watch([k, count])
            y = np.sum(k * 2.0) + np.sum(count * 3.0)
        return tape.gradient(y, [k, count])

    with pytest.warns(UserWarning, match="the tape watches floats, not int64"):
        close(run(f, np.array([1, 2])), [None, None])


def test_watching_late_is_refused(run: Any) -> None:
    """Earlier uses would be ignored silently."""

    def f(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            y = x * x
            tape.watch(x)
            z = np.sum(y + x * 3.0)
        return tape.gradient(z, x)

    with pytest.raises(s2s.UnsupportedError, match="watched after it was used"):
        run(f, np.array([1.0, 2.0]))

    def g(x: Any, flag: bool) -> Any:
        with s2s.GradientTape() as tape:
            if flag:
                tape.watch(x)
            z = np.sum(x * 3.0)
        return tape.gradient(z, x)

    with pytest.raises(s2s.UnsupportedError, match=r"tape\.watch in a branch"):
        s2s.function(g)(np.array([1.0, 2.0]), True)


def test_watched_variables(run: Any) -> None:
    a, b, c = (s2s.Variable(1.0, name=n) for n in "abc")
    fixed = s2s.Variable(1.0, trainable=False)

    def f() -> Any:
        early = a * 1.0
        with s2s.GradientTape() as tape:
            z = c * fixed
            z = z + b * c * early
        return tape.watched_variables(), z

    seen = run(f)[0]
    assert [v is w for v, w in zip(seen, (c, b))] == [True, True] and len(seen) == 2


# ---- life of a tape


def test_asked_again_and_deleted() -> None:
    x = s2s.Variable(3.0)
    for persistent in (False, True):
        with s2s.GradientTape(persistent=persistent) as tape:
            y = x * x
            z = y * y
        close(tape.gradient(z, x), 108.0)
        close(tape.gradient(y, x), 6.0)
        del tape


def test_reset(run: Any) -> None:
    w = s2s.Variable(3.0)

    def f() -> Any:
        with s2s.GradientTape() as tape:
            y = w * w
            tape.reset()
            z = y + w * 2.0
        return tape.gradient(z, w), tape.gradient(y, w)

    close(run(f), (2.0, None))

    def g(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            tape.watch(x)
            tape.reset()
            y = np.sum(x * x)
        return tape.gradient(y, x), tape.watched_variables()

    close(run(g, np.array([1.0])), (None, ()))

    def h() -> Any:
        with s2s.GradientTape() as tape:
            y = w * w
        tape.reset()
        return tape.gradient(y, w)

    with pytest.raises(ValueError, match="outside its `with` block"):
        run(h)


# ---- targets


def test_lists_of_targets_and_targets_with_axes(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f(seed: Any) -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            y = w * w
            z = np.sum(w * 3.0)
        return (
            tape.gradient([y, z], w),
            tape.gradient({"y": y, "z": z}, [w]),
            tape.gradient(y, w),
            tape.gradient(y, w, output_gradients=seed),
            tape.gradient([y, z], w, output_gradients=[seed, 2.0]),
        )

    want = ([5.0, 7.0], [np.array([5.0, 7.0])], [2.0, 4.0], [20.0, 400.0], [26.0, 406.0])
    close(
        [np.asarray(g) if not isinstance(g, list) else g for g in run(f, np.array([10.0, 100.0]))],
        [np.array(v) if not isinstance(v[0], np.ndarray) else v for v in want],
    )


def test_targets_and_sources_that_are_one(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f() -> Any:
        with s2s.GradientTape() as tape:
            h = w * 3.0
        return tape.gradient(h, h), tape.gradient(h, [h, w])

    close(run(f), (np.ones(2), [np.ones(2), np.full(2, 3.0)]))


# ---- nesting


def test_second_derivatives(run: Any) -> None:
    x = s2s.Variable(np.array(3.0))

    def f() -> Any:
        with s2s.GradientTape() as outer:
            with s2s.GradientTape() as inner:
                y = x**3
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    close(run(f), (27.0, 18.0))

    def inside_its_own_block() -> Any:
        with s2s.GradientTape() as tape:
            y = x * x
            slope = tape.gradient(y, x)
            z = slope * x
        return tape.gradient(z, x)

    close(run(inside_its_own_block), 12.0)

    def two_at_once() -> Any:
        with s2s.GradientTape() as one, s2s.GradientTape() as two:
            y = x * x
            z = x * y
        return one.gradient(y, x), two.gradient(z, x), one.gradient(z, x)

    close(run(two_at_once), (6.0, 27.0, 27.0))


def test_an_outer_tape_inside_the_inner_block(run: Any) -> None:
    def f(x: Any) -> Any:
        with s2s.GradientTape() as outer:
            with s2s.GradientTape() as inner:
                inner.watch(x)
                outer.watch(x)
                y = np.sum(x**3)
                with outer.stop_recording():
                    z = np.sum(x**2)
            g = inner.gradient([y, z], x)
        return g, outer.gradient(g, x)

    x = np.array([1.0, 2.0])
    close(run(f, x), (3 * x**2 + 2 * x, 6 * x + 2))


def test_an_outer_tape_asked_first(run: Any) -> None:
    x = s2s.Variable(np.array(3.0))

    def f() -> Any:
        with s2s.GradientTape() as outer:
            a = x * 2.0
            with s2s.GradientTape() as inner:
                y = x * a
                for _ in range(2):
                    y = y * x
        g = outer.gradient(y, x)
        return g, inner.gradient(y, x), outer.gradient(y, x)

    close(run(f), (216.0, 162.0, 216.0))


# ---- None


def test_unconnected(run: Any) -> None:
    w, v = s2s.Variable(np.ones(2)), s2s.Variable(np.ones((3, 1), np.float32))

    def f(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(w * 2.0)
        z = y * 1.0
        return (
            tape.gradient(y, [v, w, x]),
            tape.gradient(y, [v, w, x], unconnected_gradients="zero"),
            tape.gradient(z, w, unconnected_gradients="zero"),
            tape.jacobian(y, v, unconnected_gradients="zero"),
        )

    two, three = np.full(2, 2.0), np.zeros((3, 1))
    want = ([None, two, None], [three, two, np.zeros(4)], np.zeros(2), three)
    close(run(f, np.ones(4)), want)

    def g() -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(w * 2.0)
        return tape.gradient(y, w, unconnected_gradients="nothing")

    with pytest.raises(ValueError, match="'none' or 'zero'"):
        run(g)


def test_targets_after_and_sources_from_elsewhere(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f(x: Any) -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            tape.watch(x)
            h = x * 2.0
            y = np.sum(w * h)
        late = y * y
        other = h * 1.0
        old = x
        x = x + 1.0
        return (
            tape.gradient(late, [w, x]), tape.gradient(y, x), tape.gradient(y, old),
            tape.gradient(y, other), tape.gradient(y, w[0]),
        )  # fmt: skip

    close(run(f, np.array([3.0, 4.0])), ([None, None], None, np.array([2.0, 4.0]), None, None))


def test_intermediates(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            h = w * 3.0
            k = x * 2.0
            z = np.sum(h * h * k)
        return tape.gradient(z, [h, w, k])

    close(run(f, np.ones(2)), [np.array([12.0, 24.0]), np.array([36.0, 72.0]), None])

    def g(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            k = x * 2.0
            tape.watch(k)
            z = np.sum(k * k)
        return tape.gradient(z, [k, x])

    close(run(g, np.ones(2)), [np.array([4.0, 4.0]), None])


def test_second_names(run: Any) -> None:
    """`b = a` names the same value."""
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f(x: Any, k: Any) -> Any:
        z, m = x, k
        with s2s.GradientTape() as tape:
            tape.watch([x, k])
            y = np.sum(x * z) * k * m + np.sum(w)
            h = y
            old = x
            x = x * 2.0
            q = h * h
        total = q
        return tape.gradient(total, [old, z, x, k, m, h, y, w])

    x, k = np.array([1.0, 3.0]), np.float64(2.0)
    y = 10.0 * 4.0 + 3.0
    by_x, by_k = 2 * y * 4.0 * 2 * x, 2 * y * 10.0 * 2 * k
    want = [by_x, by_x, None, by_k, by_k, 2 * y, 2 * y, np.full(2, 2 * y)]
    close(run(f, x, k), want)


# ---- custom gradients, control flow, stopping


@s2s.custom_gradient
def bent(x: Any, y: Any) -> Any:
    def grad(first_bar: Any, second_bar: Any) -> Any:
        return first_bar * 100.0, second_bar * 7.0 * y

    return (x * 1.0, x * y), grad


@s2s.custom_gradient
def bent_too(x: Any, y: Any) -> Any:
    def grad(*bars: Any) -> Any:
        return bars[0] * 100.0, bars[1] * 7.0 * y

    return (x * 1.0, x * y), grad


def test_custom_gradients_of_several_values(run: Any) -> None:
    u, v = s2s.Variable(np.array([1.0, 2.0])), s2s.Variable(np.array([3.0, 4.0]))

    def f() -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            p, q = bent(u * 1.0, v * 2.0)
            a, b = bent_too(u * 1.0, v * 2.0)
            y, z = np.sum(p + 2.0 * q), np.sum(a + 2.0 * b)
        return tape.gradient(y, [u, v]), tape.gradient(z, [u, v])

    want = [np.full(2, 100.0), 2 * 2 * 7.0 * 2 * np.array([3.0, 4.0])]
    close(run(f), (want, want))


def test_custom_gradients() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    @s2s.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = np.exp(x)

        def grad(upstream: Any) -> Any:
            return upstream * (1.0 - 1.0 / (1.0 + e))

        return np.log(1.0 + e), grad

    def f() -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(log1pexp(w * 1.0))
        return tape.gradient(y, w)

    want = 1 / (1 + np.exp(-np.array([1.0, 2.0])))
    close(np.asarray(s2s.function(f)()), want)
    with s2s.GradientTape() as tape:
        y = np.sum(log1pexp(w * 1.0))
    close(np.asarray(tape.gradient(y, w)), want)


def test_variables_inside_custom_gradients_are_refused(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]), name="weights")

    @s2s.custom_gradient
    def scaled(x: Any) -> Any:
        def grad(bar: Any) -> Any:
            return bar * 3.0

        return x * w, grad

    def f(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(scaled(x))
        return tape.gradient(y, x)

    with pytest.raises(s2s.UnsupportedError, match="reads the Variable weights"):
        run(f, np.ones(2))


def test_control_flow(run: Any) -> None:
    w = s2s.Variable(np.array([0.5, -0.3]))

    def f(n: int, big: bool) -> Any:
        with s2s.GradientTape() as tape:
            h = w * 1.0
            for _ in range(n):
                h = h * w
                if h[0] > 0.2:
                    h = h * 3.0
            if big:
                h = h * 10.0
            y = np.sum(h)
        return tape.gradient(y, w)

    v = np.array([0.5, -0.3])
    for n in (0, 1, 2):
        for big in (False, True):
            scale = (3.0 if n else 1.0) * (3.0 if n > 1 else 1.0) * (10.0 if big else 1.0)
            close(np.asarray(run(f, n, big)), scale * (n + 1) * v**n)


def test_asked_in_branches_and_loops(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def after(flag: bool, n: int) -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            y = w * 1.0
            for _ in range(n):
                y = y * w
            z = np.sum(y)
        g = np.zeros(2)
        if flag:
            g = tape.gradient(z, w)
        total = np.zeros(2)
        for k in range(3):
            total = total + (k + 1.0) * tape.gradient(z, w)
        return g, total, tape.gradient(z, w)

    one = 3 * np.array([1.0, 4.0])
    close(run(after, True, 2), (one, 6 * one, one))
    close(run(after, False, 2), (np.zeros(2), 6 * one, one))

    def within(flag: bool) -> Any:
        with s2s.GradientTape() as tape:
            y = w * w
            if flag:
                h = y * w
                z = np.sum(h * tape.gradient(h, w))
            else:
                z = np.sum(y)
        return tape.gradient(z, w)

    v = np.array([1.0, 2.0])
    close(run(within, True), 15 * v**4)
    close(run(within, False), 2 * v)

    def in_a_loop() -> Any:
        with s2s.GradientTape() as tape:
            total = 0.0
            for k in range(3):
                y = np.sum(w * w) * (k + 1.0)
                total = total + np.sum(tape.gradient(y, w) ** 2)
        return tape.gradient(total, w)

    # In plain Python, a loop of the block has run in part at the query.
    with pytest.raises(s2s.UnsupportedError, match="in a loop of the tape's block"):
        in_a_loop()
    close(s2s.function(in_a_loop)(), 8 * v * 14)


def test_what_reaches_into_a_running_loop_is_refused() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f(n: int) -> Any:
        with s2s.GradientTape() as tape:
            y = w * 1.0
            total = 0.0
            for _ in range(n):
                y = y * w
                total = total + np.sum(tape.gradient(y, w))
        return tape.gradient(total, w)

    with pytest.raises(s2s.UnsupportedError, match="earlier iterations of a loop") as error:
        s2s.function(f)(3)
    assert "after the loop" in error.value.advice


def test_a_tape_of_another_branch_is_refused() -> None:
    w = s2s.Variable(2.0)

    def f(flag: bool) -> Any:
        if flag:
            with s2s.GradientTape() as tape:
                y = w * w
        else:
            with s2s.GradientTape() as tape:
                y = w * 3.0
        return tape.gradient(y, w)

    with pytest.raises(s2s.UnsupportedError):
        s2s.function(f)(True)


def test_stopping(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f() -> Any:
        with s2s.GradientTape(persistent=True) as outer:
            with s2s.GradientTape(persistent=True) as tape:
                y = w * w
                with tape.stop_recording():
                    k = y * w
                    inside = tape.gradient(y, w)
                z = np.sum(y + k + inside)
                s = np.sum(s2s.stop_gradient(w) * w)
        return tape.gradient(z, w), outer.gradient(z, w), tape.gradient(s, w), inside

    v = np.array([1.0, 2.0])
    close(run(f), (2 * v, 2 * v + 3 * v**2 + 2.0, v, 2 * v))

    def g() -> Any:
        with s2s.GradientTape() as tape:
            y = w * w
            with tape.stop_recording():
                w.assign(3.0 * y)
            z = np.sum(y + w * w)
        return tape.gradient(z, w)

    close(run(g), 2 * v + 6 * v**2)
    w.assign(v)

    def after() -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(w)
        with tape.stop_recording():
            y = y * 1.0
        return tape.gradient(y, w)

    with pytest.raises(ValueError, match=r"stop_recording\(\) outside"):
        run(after)


# ---- Jacobians


def test_jacobians(run: Any) -> None:
    w, m = s2s.Variable(np.array([1.0, 2.0])), s2s.Variable(np.array([[1.0, 2.0, 3.0]]))
    unused = s2s.Variable(1.0)

    def f(n: int) -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            y = np.outer(w, w)
            z = m * w[0]
            p = w * 1.0
            for _ in range(n):
                p = p * w
            s = np.sum(p)
        return (
            tape.jacobian(y, w), tape.jacobian(z, [m, {"w": w}, unused]), tape.jacobian(p, w),
            tape.jacobian(s, w), tape.jacobian(y, y),
        )  # fmt: skip

    y, z, p, s, same = run(f, 2)
    v, e = np.array([1.0, 2.0]), np.eye(2)
    close(y, np.einsum("ik,j->ijk", e, v) + np.einsum("i,jk->ijk", v, e))
    close(z[0], np.eye(3).reshape(1, 3, 1, 3))
    close(z[1]["w"], np.array([[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]]))
    assert z[2] is None
    close(p, np.diag(3 * v**2))
    close(s, 3 * v**2)
    close(same, np.eye(4).reshape(2, 2, 2, 2))


def test_jacobians_of_one_target(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f() -> Any:
        with s2s.GradientTape() as tape:
            y, z = w * 2.0, w * 3.0
        return tape.jacobian([y, z], w)

    with pytest.raises(s2s.UnsupportedError, match="of one number or array"):
        run(f)

    def g() -> Any:
        with s2s.GradientTape() as tape:
            y = np.argmax(w)
        return tape.gradient(y, w)

    assert run(g) is None


def test_batch_jacobians(run: Any) -> None:
    other = s2s.Variable(np.ones((4, 5, 2)))

    def f(x: Any, a: Any) -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = np.tanh(x @ a)
        return tape.batch_jacobian(y, x), tape.jacobian(y, x), tape.batch_jacobian(y, other)

    rng = np.random.default_rng(3)
    x, a = rng.normal(size=(4, 3)), rng.normal(size=(3, 2))
    per_row, whole, zeros = run(f, x, a)
    close(zeros, np.zeros((4, 2, 5, 2)))
    close(per_row, np.einsum("bibj->bij", np.asarray(whole)))
    close(per_row, (1 - np.tanh(x @ a) ** 2)[:, :, None] * a.T[None])

    def wrong(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x * x, axis=1)
        return tape.batch_jacobian(y, x)

    with pytest.raises(ValueError, match="two axes or more"):
        run(wrong, x)

    def misfit(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            tape.watch(x)
            y = x[1:] * 2.0
        return tape.batch_jacobian(y, x)

    with pytest.raises(ValueError, match="first axis"):
        run(misfit, x)


def test_a_hessian(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0, 3.0]))

    def f() -> Any:
        with s2s.GradientTape() as outer:
            with s2s.GradientTape() as inner:
                y = np.sum(w**3) + w[0] * w[1]
            g = inner.gradient(y, w)
        return outer.jacobian(g, w)

    want = np.diag([6.0, 12.0, 18.0])
    want[0, 1] = want[1, 0] = 1.0
    close(run(f), want)


# ---- values the block saw


def test_assigned_afterwards_and_inside(run: Any) -> None:
    w = s2s.Variable(np.array(3.0))

    def after() -> Any:
        with s2s.GradientTape() as tape:
            y = w**3
        w.assign(100.0)
        return tape.gradient(y, w)

    close(run(after), 27.0)
    assert w.numpy() == 100.0
    w.assign(3.0)

    def inside() -> Any:
        with s2s.GradientTape() as tape:
            y = w**2
            w.assign_add(1.0)
            z = y + w**2
        return tape.gradient(z, w)

    close(run(inside), 14.0)
    assert w.numpy() == 4.0


def test_in_place_operators_are_assignments(run: Any) -> None:
    w = s2s.Variable(np.array([3.0, 5.0]))

    def f(x: Any) -> Any:
        v = w
        with s2s.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(v * v)
            v -= 1.0 * x
            v[0] = 7.0 * x[1]
            z = y + np.sum(v * v)
        return tape.gradient(z, [w, x])

    close(run(f, np.array([1.0, 2.0])), [np.array([6.0 + 28.0, 10.0 + 6.0]), None])
    close(w.numpy(), np.array([14.0, 3.0]))


def test_assigned_in_branches_and_loops(run: Any) -> None:
    w = s2s.Variable(np.array([2.0]))

    def branch(flag: bool) -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(w * w)
            if flag:
                w.assign(5.0 * w)
            z = y + np.sum(w * w)
        return tape.gradient(z, w)

    close(run(branch, True), np.array([24.0]))
    w.assign([2.0])
    close(run(branch, False), np.array([8.0]))

    def loop(n: int) -> Any:
        with s2s.GradientTape() as tape:
            z = 0.0
            for _ in range(n):
                z = z + np.sum(w**3)
                w.assign_add(np.ones(1))
        return tape.gradient(z, w)

    close(run(loop, 3), np.array([3.0 * (4 + 9 + 16)]))
    assert w.numpy() == 5.0

    def nested() -> Any:
        with s2s.GradientTape() as outer:
            z = np.sum(w * w)
            w.assign_sub([1.0])
            with s2s.GradientTape() as inner:
                y = np.sum(w * w)
                w.assign_sub([1.0])
                y = y + np.sum(w * w)
        return inner.gradient(y, w), outer.gradient([y, z], w)

    close(run(nested), (np.array([14.0]), np.array([24.0])))


def test_numpy_breaks_the_path(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def f() -> Any:
        with s2s.GradientTape() as tape:
            y = np.sum(w.numpy() * 2.0)
            z = np.sum(w.numpy() * w)
        return tape.gradient(y, w), tape.gradient(z, w)

    close(run(f), (None, np.array([1.0, 2.0])))


# ---- Variables


def test_what_was_read_of_a_variable_stays(run: Any) -> None:
    w = s2s.Variable(np.array([[1.0, 2.0], [3.0, 4.0]]))

    def f() -> Any:
        with s2s.GradientTape() as tape:
            row, turned = w[0], w.T
            w.assign_add(10.0)
            y = np.sum(row * row) + np.sum(turned) + np.sum(w[1])
        return y, row, turned, tape.gradient(y, w)

    y, row, turned, slope = run(f)
    close(y, np.float64(5.0 + 10.0 + 27.0))
    close(np.asarray(row), np.array([1.0, 2.0]))
    close(np.asarray(turned), np.array([[1.0, 3.0], [2.0, 4.0]]))
    close(slope, np.array([[3.0, 5.0], [2.0, 2.0]]))

    def g() -> Any:
        w[0][1] = 5.0
        return np.sum(w)

    with pytest.raises(ValueError, match="read-only"):
        run(g)


def test_the_shapes_of_assigned_values(run: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]), name="weights")

    def f(x: Any) -> Any:
        w.assign(x)
        return np.sum(w)

    close(run(f, np.array([3.0, 4.0])), np.float64(7.0))
    for wrong in (np.ones(1), np.ones((1, 2)), np.ones(3)):
        with pytest.raises(ValueError, match="weights"):
            run(f, wrong)
    close(w.numpy(), np.array([3.0, 4.0]))

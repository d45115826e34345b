"""The error of `s2s.debug_nans()`: the line of the first NaN or inf, the operands, advice."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import s2s


@pytest.fixture(autouse=True)
def off_again():
    yield
    s2s.debug_nans(False)


def caught(
    function: Any, *args: Any, make: Any = s2s.grad, backend: str = "loops", **options: Any
) -> Any:
    with s2s.debug_nans(), pytest.raises(FloatingPointError) as error:
        make(function, backend=backend, **options)(*args)
    return error.value


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


# ---------------------------------------------------------------- programs that go wrong


def root(x):
    h = x * 1.0
    return np.sqrt(h).sum()


def entropy(x):
    p = x / x.sum()
    return -(p * np.log(p)).sum()


def ratio(x, y):
    r = x / y
    return np.mean(r * 2.0)


def angle(u, v):
    return np.arctan2(u, v)


def turning(x):
    z = x[0]
    k = 0
    while k < 5:
        z = z - 1.0
        k += 1
        if k == 3:
            z = z + angle(z, x[1])
    return z


def growing(x, n):
    s = x
    for t in range(n):
        e = np.exp(s * t)
        s = s * e / (1.0 + e)
    return s.sum()


def length(x):
    return np.sqrt(np.sum(x**2))


def masked(x):
    m = np.where(x > 0, x, -np.inf)
    m = m - m.max()
    return np.exp(m).sum()


def in_place(x):
    x[0] = np.log(x[0])
    return x.sum()


def power(x):
    return (x**0.5).sum()


def outside(x):
    return np.arccos(x).sum()


def large(x):
    y = x * 1e200
    return (y * y).sum()


def steep(x):
    s = x
    for _ in range(2):
        s = s * 1e200
    return np.sin(s * 1e-20)


CASES = [
    (root, (np.array([1.0, 0.0]),), "np.sqrt(h)", "adjoint became inf at [1]", "np.linalg.norm"),
    (entropy, (np.array([1.0, 0.0]),), "np.log(p)", "np.log(p) became -inf at [1]", "log(0)"),
    (ratio, (np.zeros(2), np.zeros(2)), "x / y", "x / y became NaN at [0] and in one", "0/0"),
    (ratio, (np.ones((2, 2)), np.array([1.0, 0.0])), "x / y", "inf at [0, 1]", "division by 0"),
    (growing, (np.array([1.0, 800.0]), 3), "np.exp", "became inf at [1]", "exp overflows"),
    (length, (np.zeros(3),), "np.sqrt", "adjoint became inf, in the derivative", "infinite slope"),
    (masked, (-np.ones(2),), "m - m.max()", "became NaN at [0]", "inf - inf"),
    (in_place, (np.array([0.0, 1.0]),), "np.log", "became -inf", "log(0)"),
    (power, (np.zeros(1),), "x**0.5", "adjoint became inf", "x**0.5 has an infinite slope"),
    (outside, (np.array([[0.0, 1.0], [2.0, 0.0]]),), "np.arccos", "NaN at [1, 0]", "[-1, 1]"),
    (large, (np.ones(2),), "y * y", "became inf at [0]", "too large for float64"),
    (steep, (1e-300,), "s * 1e200", "adjoint became -inf", "the derivative grew too large"),
]


@pytest.mark.parametrize("function, args, text, message, help", CASES)
def test_the_line_and_the_cause(function, args, text, message, help):
    error = caught(function, *args)
    assert error.line == line_of(function, text)
    assert error.file == inspect.getsourcefile(function)
    assert message in error.message
    assert help in error.advice
    assert text in error.source_line and "^" in str(error)


def test_what_the_operands_were():
    text = str(caught(entropy, np.array([1.0, 0.0, 4.0])))
    assert "p is float64[3] from 0 to 0.8; p[1] = 0.0" in text
    text = str(caught(ratio, np.zeros((2, 2)), np.zeros(2)))
    assert "y is float64[2] from 0 to 0; y[0] = 0.0" in text


def test_loops_tell_the_iteration():
    error = caught(growing, np.array([1.0, 800.0]), 3)
    line = line_of(growing, "for t")
    assert f"in iteration 3 of `for t in range(n)` (L{line}, t = 2)" in str(error)
    assert "it became NaN in s * e / (1.0 + e)" in str(error)


def test_adjoints_tell_the_iteration_that_they_mirror():
    def f(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += np.sqrt(x[i])
        return s

    text = str(caught(f, np.array([1.0, 1.0, 0.0, 1.0])))
    assert "x[i] = 0.0" in text and "i = 2" in text


def test_helpers_and_while_loops():
    error = caught(turning, np.array([3.0, 0.0]))
    assert error.line == line_of(angle, "np.arctan2")
    assert "in iteration 3 of `while k < 5`" in str(error)
    line = line_of(turning, "angle(")
    assert f"called in test_debug_nans_report.py:{line}, angle(z, x[1])" in str(error)
    assert "arctan2 has no derivative at (0, 0)" in error.advice


@pytest.mark.parametrize("make", [s2s.jvp, s2s.hvp], ids=lambda m: m.__name__)
def test_tangents(make):
    error = caught(root, np.array([1.0, 0.0]), np.ones(2), make=make)
    assert error.line == line_of(root, "np.sqrt")
    assert error.message.startswith("the tangent became")
    assert "h[1] = 0.0" in str(error)


def test_adjoints_of_given_seeds():
    error = caught(lambda x: np.sqrt(x), np.array([4.0, 0.0]), np.ones(2), make=s2s.vjp)
    assert "adjoint became inf at [1]" in error.message


@pytest.mark.parametrize("make", [s2s.value_and_grad, s2s.function], ids=lambda m: m.__name__)
def test_values(make):
    error = caught(entropy, np.array([1.0, 0.0]), make=make)
    assert error.line == line_of(entropy, "np.log")


def test_recursion():
    def fall(x, depth):
        return np.sqrt(x) if depth <= 0 else fall(x * 1.0, depth - 1) + 1.0

    error = caught(lambda x, d: fall(x, d), 0.0, 3)
    assert error.line == line_of(fall, "np.sqrt")


def test_library_functions_are_called_in_a_line_of_the_user():
    def f(x):
        y = x * 2.0
        return np.sum(np.corrcoef(y, y - y))

    error = caught(f, np.ones(3))
    assert error.line == line_of(f, "np.corrcoef")
    assert "np.corrcoef(y, y - y)" in str(error) and "computes " in str(error)


def test_complex_numbers():
    def f(z):
        w = 1.0 / z
        return np.sum(w.real)

    error = caught(f, np.array([1.0 + 1.0j, 0.0j]))
    assert error.line == line_of(f, "1.0 / z")
    assert "became NaN at [1]" in error.message


# ---------------------------------------------------------------- what is given


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_inputs_are_reported_as_such(bad):
    error = caught(root, np.array([1.0, bad]))
    assert error.line is None
    kind = "NaN" if np.isnan(bad) else "inf"
    assert error.message == f"x[1] is {kind} before the call (1 {kind} in 2 entries)"


def test_parts_of_inputs():
    error = caught(lambda p: p["W"].sum() * p["b"], {"W": np.ones(2), "b": np.nan})
    assert error.message == "p['b'] is NaN before the call"


def test_an_infinite_bound_that_does_no_harm():
    def f(x, bound):
        y = np.minimum(x, bound)
        return np.sqrt(y).sum()

    error = caught(f, np.array([1.0, 0.0]), np.inf)
    assert error.line == line_of(f, "np.sqrt")


def test_the_branch_not_taken_is_not_blamed():
    def f(x):
        logs = np.log(x - 1.0)
        roots = np.sqrt(x - 1.0)
        y = np.where(x > 2.0, logs, roots)
        return y.sum()

    assert caught(f, np.array([0.0, 3.0])).line == line_of(f, "np.sqrt")


def test_arguments_that_the_function_writes():
    """The program runs again from what the arguments were."""
    x = np.array([0.0, 1.0])
    error = caught(in_place, x)
    assert "x[0] = 0.0" in str(error)


def test_random_numbers_are_the_same_again():
    def f(x, rng):
        u = rng.normal()
        return np.sqrt(x * np.where(u > 0, u, 1.0)) + u * 0.0

    rng = np.random.default_rng(3)
    expected = np.random.default_rng(3)
    caught(f, 0.0, rng)
    expected.normal()
    assert rng.random() == expected.random()


def test_numpy_s_own_random_numbers_are_the_same_again():
    def f(x):
        u = np.random.random()
        return np.sqrt(x) + u

    np.random.seed(0)
    first, second = np.random.random(), np.random.random()
    np.random.seed(0)
    error = caught(f, 0.0)
    assert error.line == line_of(f, "np.sqrt")
    assert np.random.random() == second != first


def test_prints_are_not_repeated(capsys):
    def f(x):
        print("once")
        return np.sqrt(x)

    caught(f, 0.0)
    assert capsys.readouterr().out == "once\n"


# ---------------------------------------------------------------- what is fine


@pytest.mark.parametrize(
    "function, args",
    [
        (lambda x: np.where(x > 0, np.sqrt(x), 0.0).sum(), (np.zeros(2),)),
        (lambda x: np.where(x > 0, np.log(x), 0.0).sum(), (np.zeros(2),)),
        (lambda x, y: np.where(y != 0, x / y, 0.0).sum(), (np.zeros(2), np.zeros(2))),
        (lambda x: np.where(x > 0, x**0.5, 0.0).sum(), (np.zeros(2),)),
        (lambda x: np.where((x != 0), np.arctan2(x, x), 0.0).sum(), (np.zeros(2),)),
        (lambda x: np.linalg.norm(x), (np.zeros(2),)),
        (lambda x: np.sqrt(x + 1e-12).sum(), (np.zeros(2),)),
        (masked, (np.array([1.0, -1.0]),)),
    ],
)
def test_what_the_hints_promise(function, args):
    with s2s.debug_nans():
        gradient = s2s.grad(function, backend="loops")(*args)
    assert np.isfinite(gradient).all()


def test_the_code_of_a_custom_gradient():
    @s2s.custom_gradient
    def twice(x):
        def grad(out_bar):
            return out_bar / (x - x)

        return x * 2.0, grad

    error = caught(lambda x: twice(x * 3.0), 1.0)
    assert error.line == line_of(twice.python, "out_bar /")
    assert error.message == "out_bar / (x - x) became inf"


def test_tapes_in_plain_python():
    w = s2s.Variable(np.array([0.0, 1.0]))
    with s2s.GradientTape() as tape:
        loss = np.sum(np.sqrt(w))
    w.assign(np.ones(2))  # the tape's gradient is about what it saw
    with s2s.debug_nans(), pytest.raises(FloatingPointError, match="adjoint became inf at .0."):
        tape.gradient(loss, w)


def test_a_value_inside_an_expression():
    """Of what one expression stands for, the first bad value is told as what it is."""

    def f(x):
        return np.linalg.norm(x)

    error = caught(f, np.full(3, 1e200))
    assert error.message.startswith("a value inside np.linalg.norm(x) became inf")


def test_the_symptom_is_told_whatever_happens(monkeypatch):
    from s2s.transforms.diagnostics import nan_origin

    def broken(*args):
        raise KeyError("gone")

    monkeypatch.setattr(nan_origin, "origin_of_nonfinite", broken)
    error = caught(root, np.zeros(1))
    assert error.message == "the gradient with respect to x holds 1 inf in 1 entry"
    assert "its origin was not found: KeyError" in str(error)


def test_generators_made_inside():
    def f(x):
        rng = np.random.default_rng(0)
        return np.sqrt(x) * rng.normal()

    assert caught(f, 0.0).line == line_of(f, "np.sqrt")

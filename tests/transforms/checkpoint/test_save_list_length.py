"""If the sweep needs only the length of a list, only the length is saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s


def front_of_a_queue(x: Any) -> Any:
    q = []
    for i in range(x.shape[0]):
        q.append(x[i] * 2.0)
    s = 0.0
    while len(q) > 0:
        s = np.sin(s + q.pop(0))
    return s


def queue_that_grows_again(x: Any) -> Any:
    q = [x[0]]
    s, rounds = 0.0, 0
    while len(q) > 0 and rounds < 9:
        v = q.pop(0)
        s += v * v
        q.append(np.sin(v))
        if rounds % 2 == 0:
            q.append(v * x[1])
        rounds += 1
    return s


def elements_are_needed_too(x: Any) -> Any:
    q = [x[0], x[1]]
    s = 0.0
    for i in range(5):
        q.append(q[i] * q[i + 1])
        q.insert(0, np.sin(q[i]))
        s += q[0] * q[len(q) - 1]
    return s


def lists_of_arrays(x: Any) -> Any:
    q = []
    for i in range(4):
        q.append(x * i)
    s = 0.0
    while len(q) > 0:
        v = q.pop(0)
        s += np.sum(v * v) * len(q)
    return s


def slopes(program: Any, x: Any) -> list[Any]:
    return [(program(x + h) - program(x - h)) / 2e-6 for h in np.eye(x.size) * 1e-6]


@pytest.mark.parametrize("backend", ["loops", "numba", "python"])
@pytest.mark.parametrize(
    "program", [front_of_a_queue, queue_that_grows_again, elements_are_needed_too, lists_of_arrays]
)
def test_gradient(program: Any, backend: Any) -> None:
    gradient = s2s.grad(program, backend=backend)
    x = np.array([0.4, 0.9, -0.3])
    np.testing.assert_allclose(gradient(x), slopes(program, x), rtol=1e-7, atol=1e-9)


def test_the_list_itself_is_not_kept() -> None:
    gradient = s2s.grad(front_of_a_queue)
    gradient(np.ones(3))
    assert "list(q)" not in gradient.source and ".append(len(q))" in gradient.source


def test_second_derivatives() -> None:
    hessian = s2s.hessian(front_of_a_queue)
    x = np.array([0.4, 0.9, -0.3])
    wanted = slopes(s2s.grad(front_of_a_queue), x)
    np.testing.assert_allclose(hessian(x), wanted, rtol=1e-6, atol=1e-8)


def stack_of_arrays(x: Any) -> Any:
    h = []
    for i in range(4):
        h.append(x * (i + 1.0))
    while len(h) > 1:
        a = h.pop()
        b = h.pop()
        h.append(np.sin(a) + b)
    return np.sum(h[0])


def list_of_arrays_written(x: Any) -> Any:
    h = []
    for i in range(4):
        h.append(x * (i + 1.0))
    for i in range(1, 4):
        h[i] = h[i] * np.sin(h[i - 1])
    return np.sum(h[3])


def shapes_that_differ(x: Any) -> Any:
    """A list whose elements have different shapes."""
    h = []
    for i in range(1, 4):
        h.append(x[:i] * 2.0)
    for i in range(2):
        h[i] = np.sin(h[i + 1]) * x[0]
    s = 0.0
    while len(h) > 0:
        s += np.sum(h.pop() ** 2) * len(h)
    return s


@pytest.mark.parametrize("backend", ["loops", "numba", "python"])
@pytest.mark.parametrize("program", [stack_of_arrays, list_of_arrays_written, shapes_that_differ])
def test_lists_of_arrays(program: Any, backend: Any) -> None:
    gradient = s2s.grad(program, backend=backend)
    x = np.array([0.4, 0.9, -0.3])
    np.testing.assert_allclose(gradient(x), slopes(program, x), rtol=1e-7, atol=1e-9)
    if program is not shapes_that_differ:
        assert "list(h)" not in gradient.source

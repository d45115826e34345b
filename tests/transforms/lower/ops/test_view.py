"""Views, creation and joining against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.transforms.lower.harness import check, lowered

X = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("axes", [(2, 1, 0), (0, 2, 1), (1, 0, 2)])
def test_transpose(axes):
    check(lambda b, x: b.emit("transpose", x, axes=axes), lambda x: x.transpose(axes).copy(), X)


@pytest.mark.parametrize("shape", [(24,), (6, 4), (2, 12), (3, 8), (1, 24, 1), (2, 3, 1, 4)])
def test_reshape(shape):
    def f(b, x):
        return b.emit("reshape", x, *shape)

    check(f, lambda x: x.reshape(shape), X)
    check(lambda b, x: f(b, x) * 2.0 + f(b, x), lambda x: x.reshape(shape) * 3.0, X)
    strided = X.transpose(0, 2, 1)
    check(f, lambda x: x.reshape(shape), strided)
    check(lambda b, x: f(b, x + 1.0), lambda x: (x + 1.0).reshape(shape), strided)


def test_reshape_of_contiguous_memory_copies_nothing():
    def f(b, x):
        return b.emit("sum", b.emit("reshape", x, 6, 4), axis=(0,), keepdims=False)

    assert lowered(f, X).text.count("np.empty") == 1


def test_zero_dimensional_reshape():
    check(lambda b, x: b.emit("reshape", x, 1, 1), lambda x: x.reshape(1, 1), np.array(3.0))
    check(lambda b, x: b.emit("reshape", x, 0, 5), lambda x: x.reshape(0, 5), np.ones((5, 0)))


def test_expand_and_squeeze():
    check(
        lambda b, x: b.emit("expand_dims", x, axes=(0, 2)), lambda x: np.expand_dims(x, (0, 2)), X
    )
    y = X[:, None, :, None].copy()
    check(lambda b, x: b.emit("squeeze", x, axes=(1, 3)), lambda x: x.squeeze((1, 3)), y)


def test_broadcast():
    x = np.arange(3.0)
    check(lambda b, x: b.emit("broadcast_to", x, 2, 3), lambda x: np.broadcast_to(x, (2, 3)), x)
    check(lambda b, x: b.emit("broadcast_to", x, 2, 3), lambda x: np.broadcast_to(x, (2, 3)), x[:1])
    like = np.ones((4, 3))
    check(
        lambda b, x, y: b.emit("broadcast_like", np.exp(x), y),
        lambda x, y: np.exp(x) + 0 * y,
        x,
        like,
    )


def test_creation():
    x = np.float32([1, 2, 3])
    check(lambda b, x: b.emit("zeros_like", x, dtype=x.dtype), np.zeros_like, x)
    check(lambda b, x: b.emit("ones_like", x, dtype=x.dtype), np.ones_like, x)
    check(
        lambda b, x, n: b.emit("zeros", n, 2, dtype="float64"), lambda x, n: np.zeros((n, 2)), x, 3
    )
    check(
        lambda b, n: b.emit("full", 2.5, n, dtype="float32"),
        lambda n: np.full(n, 2.5, "float32"),
        3,
    )
    check(
        lambda b, x, v: b.emit("full_like", x, v, dtype=x.dtype),
        lambda x, v: np.full_like(x, v),
        x,
        2.5,
    )
    check(lambda b, n: b.emit("eye", n, 4, 1, dtype="float64"), lambda n: np.eye(n, 4, 1), 3)
    check(lambda b, n: b.emit("eye", n, n, 0, dtype="int64"), lambda n: np.eye(n, dtype=int), 3)


@pytest.mark.parametrize(
    "args",
    [(0, 5, 1), (2, 11, 3), (5, 0, -2), (3, 3, 1), (0, -4, 1), (0.0, 1.0, 0.1), (1.0, 0.0, -0.3)],
)
def test_arange(args):
    dtype = "float64" if isinstance(args[0], float) else "int64"
    for dt in (dtype, "float32"):
        check(
            lambda b, p, q, s: b.emit("arange", p, q, s, dtype=dt),
            lambda p, q, s: np.arange(p, q, s).astype(dt),
            *args,
            tol=1e-6 if dt == "float32" else 0,
        )


@pytest.mark.parametrize("num", [0, 1, 2, 7])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(num, endpoint):
    check(
        lambda b, p, q, n: b.emit("linspace", p, q, n, endpoint=endpoint, dtype="float64"),
        lambda p, q, n: np.linspace(p, q, n, endpoint),
        -1.0,
        2.5,
        num,
    )


def test_pack():
    check(
        lambda b, x, y: b.emit("pack", x, y, 3.0, x + y, shape=(2, 2), dtype="float64"),
        lambda x, y: np.array([[x, y], [3.0, x + y]]),
        1.5,
        2.5,
    )


@pytest.mark.parametrize("axis", [0, 1])
def test_joining(axis):
    x, y = np.arange(6.0).reshape(2, 3), np.ones((2, 3), "float32")
    check(
        lambda b, x, y: b.emit("concatenate", x, y * 2.0, x, axis=axis),
        lambda x, y: np.concatenate([x, y * 2.0, x], axis),
        x,
        y,
    )
    for at in (0, 1, 2):
        check(
            lambda b, x, y: b.emit("stack", x, y, axis=at), lambda x, y: np.stack([x, y], at), x, y
        )


def test_structured_arrays():
    r = np.zeros(3, [("x", "f8"), ("n", "i8")])
    r["x"], r["n"] = [1.5, 2.5, 3.5], [1, 2, 3]

    def f(b, r, i):
        one = b.emit("index", r, i, items=(("int", 1),))
        return b.emit("field", r, name="x") * 2.0, b.emit("field", one, name="n") + 1

    check(f, lambda r, i: (r["x"] * 2.0, r[i]["n"] + 1), r, 1)

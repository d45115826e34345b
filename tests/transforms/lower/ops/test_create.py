"""Arrays from sizes, scalars and other arrays, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.transforms.lower.harness import check, lowered, run

NEGATIVE = "negative dimensions are not allowed"


@pytest.mark.parametrize("name", ["zeros", "ones"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_constants(name, dtype, n):
    numpy = getattr(np, name)
    check(lambda b, n: b.emit(name, n, 2, dtype=dtype), lambda n: numpy((n, 2), dtype), n)
    check(lambda b, n: b.emit(name, dtype=dtype), lambda n: numpy((), dtype), n)


@pytest.mark.parametrize("name", ["zeros", "empty", "full"])
def test_sizes_that_are_refused(name):
    def f(b, n, m):
        fill = (1.5,) if name == "full" else ()
        return b.emit(name, *fill, n, m, dtype="float64")

    assert run(f, 2, 0).shape == (2, 0)
    for sizes in ((-1, 2), (2, -1)):
        with pytest.raises(ValueError, match=NEGATIVE):
            run(f, *sizes)
    # An empty axis counts as one: the other may not have any size.
    for sizes in ((2**31, 2**31), (0, 2**62), (2**62, 4)):
        with pytest.raises(ValueError, match="too big"):
            run(f, *sizes)


def test_sizes_of_arrays_are_not_checked():
    def f(b, x):
        return b.emit("zeros", b.emit("shape", x, axis=0), dtype="float64")

    x = np.ones(3)
    check(f, np.zeros_like, x)
    assert "raise" not in lowered(f, x).text


def test_a_constant_is_fused_into_its_reader():
    text = lowered(lambda b, x: b.emit("zeros_like", x, dtype="float64") + x, np.ones(3)).text
    assert text.count("np.empty") == 1 and text.count("for ") == 1


@pytest.mark.parametrize("dtype", ["float64", "int64", "float32"])
def test_full(dtype):
    check(
        lambda b, v, n: b.emit("full", v, n, dtype=dtype),
        lambda v, n: np.full(n, v, dtype),
        2.0,
        3,
    )


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_like_another(shape):
    x = np.ones(shape, np.float32)
    for name in ("zeros_like", "ones_like"):
        numpy = getattr(np, name)
        check(lambda b, x: b.emit(name, x, dtype="float32"), numpy, x)
        check(lambda b, x: b.emit(name, x, dtype="int64"), lambda x: numpy(x, np.int64), x)
    check(
        lambda b, x, v: b.emit("full_like", x, v, dtype="float32"),
        lambda x, v: np.full_like(x, v),
        x,
        2.5,
    )
    made = run(lambda b, x: b.emit("empty_like", x, dtype="float32"), x)
    assert made.shape == shape and made.dtype == np.float32


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, 4, 1), (3, 3, 1), (4, 0, -1), (1, 8, 3), (0, 3, -1), (-2, 2, 1)]
)
def test_integer_ranges(start, stop, step):
    for dtype in ("int64", "float32"):
        check(
            lambda b, *ends: b.emit("arange", *ends, dtype=dtype),
            lambda *ends: np.arange(*ends).astype(dtype),
            start,
            stop,
            step,
        )


def test_float_ranges():
    def f(b, *ends):
        return b.emit("arange", *ends, dtype="float64")

    for ends in ((0.0, 1.0, 0.1), (1.0, 0.0, -0.25), (0.0, 0.0, 1.0), (0.5, 4.0, 1.5)):
        check(f, np.arange, *ends)
    for ends in ((0.0, np.nan, 1.0), (0.0, np.inf, 1.0)):
        with pytest.raises(ValueError, match="arange|too big"):
            run(f, *ends)


def test_a_range_of_too_many():
    with pytest.raises(ValueError, match="too big"):
        run(lambda b, n: b.emit("arange", 0, n, 1, dtype="int64"), 2**62)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 5])
def test_linspace(num, endpoint):
    def f(b, p, q, n):
        return b.emit("linspace", p, q, n, endpoint=endpoint, dtype="float64")

    check(f, lambda p, q, n: np.linspace(p, q, n, endpoint), 0.1, 0.7, num)
    if endpoint and num > 1:
        assert run(f, 0.1, 0.7, num)[-1] == 0.7  # exactly


def test_linspace_of_a_negative_number():
    with pytest.raises(ValueError, match=NEGATIVE):
        run(lambda b, n: b.emit("linspace", 0.0, 1.0, n, dtype="float64"), -1)


@pytest.mark.parametrize("k", [-2, 0, 1, 5])
def test_eye(k):
    for n, m in ((0, 2), (1, 1), (3, 4)):
        check(
            lambda b, n, m, k: b.emit("eye", n, m, k, dtype="float64"),
            lambda n, m, k: np.eye(n, m, k),
            n,
            m,
            k,
        )


@pytest.mark.parametrize("shape", [(3,), (3, 1), (1, 3)])
def test_pack(shape):
    check(
        lambda b, x, y: b.emit("pack", x, y, 1, shape=shape, dtype="float64"),
        lambda x, y: np.array([x, y, 1.0]).reshape(shape),
        1.5,
        2.5,
    )
    made = run(lambda b, x: b.emit("pack", shape=(0,), dtype="float64"), 1.0)
    assert made.shape == (0,)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_joining(axis):
    x, y = np.arange(6.0).reshape(2, 3), np.arange(6, dtype=np.int64).reshape(2, 3)
    check(
        lambda b, x, y: b.emit("concatenate", x, y, x, axis=axis),
        lambda x, y: np.concatenate([x, y, x], axis),
        x,
        y,
    )
    check(
        lambda b, x, y: b.emit("stack", x, y, axis=axis), lambda x, y: np.stack([x, y], axis), x, y
    )


def test_joining_empty_arrays_and_views():
    x, none = np.arange(6.0).reshape(2, 3), np.ones((0, 3))

    def join(b, x, y):
        return b.emit("concatenate", x, y, axis=0)

    for pair in ((x, none), (none, x), (none, none), (x.T.copy().T, x[::-1])):
        check(join, lambda x, y: np.concatenate([x, y]), *pair)


def test_numbers_are_stacked():
    check(lambda b, x, y: b.emit("stack", x, y, axis=0), lambda x, y: np.stack([x, y]), 1.5, 2.5)


def test_an_undefined_array_has_the_sizes_of_its_type():
    """It is copied by loops over these sizes, so its elements must exist."""
    import s2s

    def f(x, n):
        if n > 0:
            y = x * 2.0
        else:
            z = x + 1.0
        return y if n > 0 else z

    g = s2s.function(f, backend="loops")
    x = np.arange(3.0)
    np.testing.assert_array_equal(g(x, 1), x * 2.0)
    np.testing.assert_array_equal(g(x, 0), x + 1.0)


def test_an_alias_is_no_copy():
    import s2s

    def f(x):
        y = np.zeros(x.shape[0])
        z = y
        z[0] = x[0]
        return y

    g = s2s.function(f, backend="loops")
    np.testing.assert_array_equal(g(np.arange(2.0) + 5.0), [5.0, 0.0])
    assert g.lowered.count("np.empty") == 1

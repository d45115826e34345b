import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from tests.s2s.cuda.running import BLOCKS, run
from tests.s2s.cuda.texts import GEMM, REDUCTION, SCATTER, SCRATCH, SOFTMAX

ORDERS = (False, True)


@pytest.mark.parametrize("reversed", ORDERS)
@pytest.mark.parametrize("block", BLOCKS)
def test_block_tree(rng, block, reversed):
    for n in (0, 1, 5, 300):
        x = rng.normal(size=n)
        s, y = run(REDUCTION, x, block=block, reversed=reversed)
        np.testing.assert_allclose(s, [np.sum(x**2)])
        np.testing.assert_array_equal(y, 2.0 * x)


@pytest.mark.parametrize("block", BLOCKS)
def test_row_block(rng, block):
    for rows, n in ((0, 3), (1, 1), (5, 37), (3, 200)):
        x = rng.normal(size=(rows, n))
        (y,) = run(SOFTMAX, x, block=block)
        shifted = np.exp(x - x.max(axis=1, keepdims=True)) if rows else x
        np.testing.assert_allclose(y, shifted / shifted.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    "sizes", [(5, 7, 3), (33, 17, 40), (1, 1, 1), (16, 16, 16), (0, 3, 2), (3, 2, 0)]
)
@pytest.mark.parametrize("swap_b", (False, True))
@pytest.mark.parametrize("swap_a", (False, True))
def test_tiled_product(rng, swap_a, swap_b, sizes):
    m, n, k = sizes
    a = rng.random((k, m) if swap_a else (m, k))
    b = rng.random((n, k) if swap_b else (k, n))
    c = rng.random((m, n))
    (found,) = run(GEMM, swap_a, swap_b, 2.0, a, b, 0.5, c)
    np.testing.assert_allclose(
        found, 2.0 * ((a.T if swap_a else a) @ (b.T if swap_b else b)) + 0.5 * c
    )


def test_batched_product(rng):
    a, b = rng.random((3, 4, 5)), rng.random((3, 5, 6))
    (found,) = run(GEMM, a, b, np.full((3, 4, 6), np.nan), entry="products")
    np.testing.assert_allclose(found, a @ b)


@pytest.mark.parametrize("reversed", ORDERS)
@pytest.mark.parametrize("block", BLOCKS)
def test_scatter_with_atomics(rng, block, reversed):
    n, m = 300, 7
    index, x, flags = rng.integers(0, m, n), rng.normal(size=n), rng.random(n) < 0.5
    expected = np.zeros(m)
    np.add.at(expected, index[flags], x[flags] ** 2)
    (y,) = run(SCATTER, index, x, flags, m, block=block, reversed=reversed)
    np.testing.assert_allclose(y, expected)


def test_scratch_and_local_arrays(rng):
    x = rng.normal(size=20)
    (s,) = run(SCRATCH, x, 1e9, block=4)
    np.testing.assert_allclose(s, [np.sum(x * (1 + 2 * 2 + 3))])


def test_errors_have_values_and_lines(rng):
    index = np.array([0, 1, 9, 2])
    with pytest.raises(IndexError) as caught:
        run(SCATTER, index, np.full(4, 0.25), np.ones(4, bool), 7)
    assert str(caught.value) == (
        "index 9 is out of bounds for size 7 at x = 0.25 (model.py:7: y[idx[i]] += x[i] ** 2)"
    )
    assert caught.value.line == 7


@pytest.mark.parametrize("block", (2, 8))
def test_an_error_before_a_barrier_ends_the_block(rng, block):
    with pytest.raises(ValueError, match="too large") as caught:
        run(SCRATCH, np.arange(40.0), 5.0, block=block)
    assert caught.value.line == 3

"""Kernels that are split into parts compute the same results."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.codegen import llvm_passes
from s2s.codegen.partition import outline_nests, split_function
from s2s.transforms.ir.errors import S2SError


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """Lower the thresholds, so that all kernels are split."""
    monkeypatch.setattr(split_function, "LONG", 3)
    monkeypatch.setattr(split_function, "PART", 2)
    monkeypatch.setattr(split_function, "MANY", 3)
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))


def same(function, *args, transform=s2s.grad) -> None:
    """Compare three back ends, with two calls each; the second call takes the stub."""
    expected = transform(function, backend="python")(*args)
    for compiled in (transform(function, backend=b) for b in ("numba", "native")):
        for _ in range(2):
            found = compiled(*args)
            for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)


def test_arrays_and_numbers_that_several_parts_use() -> None:
    def f(x, y, n, scale):
        a = np.sin(x) * scale
        s = a.sum()
        b = a[:, None] * y[None, :] + s
        t = 0.0
        for i in range(n):
            t += b[i % b.shape[0], 0] * s
        c = b @ b.T
        d = np.exp(-(c * c).sum()) + t
        e = (c.reshape(-1) * d).sum()
        return e * s + t

    same(f, np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.7]), 4, 0.3)


def test_what_is_bound_again() -> None:
    def f(x, flag):
        y = x.copy()
        y = y * 2.0
        if flag:
            y = y[1:] * y[:-1]
            k = 2
        else:
            k = 3
        z = np.zeros((3, 2))
        z[0, 1] = y[0]
        z[k - 1, 0] = y.sum()
        k = k + 1
        for _ in range(k):
            y = y * 0.5 + z[0, 1]
        return y.sum() + z.sum()

    same(f, np.array([0.1, 0.2, 0.3]), True)
    same(f, np.array([0.1, 0.2, 0.3]), False)


def test_a_number_that_is_given_and_bound_again_in_one_part() -> None:
    def f(x, n):
        buf = np.zeros(4)
        s = 0.0
        for k in range(n):
            for i in range(4):
                buf[i] = x[i] * (k + 1.0) + s
            s += np.sum(buf * buf)
        return s

    same(f, np.array([0.1, 0.2, 0.3, 0.4]), 3)


def test_complex_numbers_take_two_words() -> None:
    def f(x, z):
        a = x.sum() * z
        b = a * a + z
        c = np.abs(b) + x[0]
        d = c * (b * np.conj(b)).real
        e = d + (a * 1j).real
        return e * c

    same(f, np.array([0.1, 0.2, 0.3]), 0.3 + 0.4j)


def test_results_and_effects() -> None:
    @s2s.function(backend="numba")
    def step(w, x, v, out):
        g = x.T @ (x @ w)
        v *= 0.9
        v += g
        w -= 0.1 * v
        out[:] = w
        n = np.sqrt((g * g).sum())
        return n, v + 1.0, g[:1]

    rng = np.random.default_rng(0)
    w, x, v, out = rng.normal(size=3), rng.normal(size=(4, 3)), np.zeros(3), np.zeros(3)
    g = x.T @ (x @ w)
    expected = w - 0.1 * g
    norm, more, first = step(w, x, v, out)
    np.testing.assert_allclose(w, expected)
    np.testing.assert_allclose(out, expected)
    np.testing.assert_allclose(more, g + 1.0)
    np.testing.assert_allclose(first, g[:1])
    assert norm == pytest.approx(np.linalg.norm(g))


def test_errors_in_a_part() -> None:
    def f(x, i, n):
        a = x * 2.0
        b = a + x[0]
        c = a * b
        d = c[i]
        if n < 0:
            raise ValueError(f"{n} is negative")
        e = np.zeros(n)
        e[0] = d
        return e.sum() + a.sum()

    g = s2s.grad(f, backend="numba")
    x = np.array([0.1, 0.2, 0.3])
    g(x, 1, 2)
    with pytest.raises(IndexError, match="out of bounds"):
        g(x, 7, 2)
    with pytest.raises(ValueError, match="-1 is negative"):
        g(x, 1, -1)
    same(f, x, 1, 3)


def test_written_arrays_may_not_overlap() -> None:
    @s2s.function(backend="numba")
    def f(a, b, c, d):
        a += b
        c += a
        d += c
        b2 = b * 2.0
        e = b2 + d
        return e.sum()

    x = np.ones(6)
    with pytest.raises(S2SError, match="overlap"):
        f(x[:4], x[2:], np.ones(4), np.ones(4))


def test_sizes_and_kinds_are_looked_at_by_the_door() -> None:
    def f(x, y, z):
        a = x * y
        b = a + z
        c = b * b
        d = c.sum(axis=0)
        e = d * z
        return e.sum()

    g = s2s.grad(f, wrt=("x", "y", "z"), backend="numba")
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(4, 6))
    for x in (wide[:, :3], wide[:, ::2], np.asfortranarray(wide[:, 3:])):
        y, z = rng.normal(size=(4, 3)), rng.normal(size=3)
        expected = s2s.grad(f, wrt=("x", "y", "z"), backend="python")(x, y, z)
        for a, b in zip(g(x, y, z), expected):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    # One row is broadcast: another relation of sizes.
    one = rng.normal(size=(1, 3))
    expected = s2s.grad(f, wrt=("x", "y", "z"), backend="python")(one, y, z)
    for a, b in zip(g(one, y, z), expected):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The LLVM IR of the kernel that was compiled last."""
    found: dict[str, str] = {}
    parsed = llvm_passes.parse_module

    def note(text: str) -> object:
        if "s2s.kernel" in text:  # not a matrix product
            found["kernel"] = text
        return parsed(text)

    monkeypatch.setattr(llvm_passes, "parse_module", note)
    monkeypatch.setattr(outline_nests, "LARGE", 3)
    return found


def test_only_what_calls_nests_is_compiled_without_care(written: dict[str, str]) -> None:
    def numbers(a, b):
        c = np.sin(a) * b
        d = np.cos(c) + a * c
        e = np.exp(-d * d) * c
        return np.tanh(e) * d + c

    def arrays(x, y):
        a = np.cumsum(x * y)
        b = np.cumsum(np.sin(a) + y)
        c = np.cumsum(np.exp(b) * a)
        return (c * b).sum()

    same(numbers, 0.3, 0.7)
    assert "s2s.part" in written["kernel"] and "optnone" not in written["kernel"]
    same(arrays, np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.5, 0.6]))
    assert "optnone" in written["kernel"]


def layer(x, w):
    return np.tanh(x @ w) @ w


def test_parts_that_do_the_same_for_each_layer_are_one_function(
    written: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_function, "PART", 12)
    monkeypatch.setattr(split_function, "LEAST", 2)
    monkeypatch.setattr(split_function, "ODDS", 3)

    def network(x, weights):
        for w in weights:
            x = layer(x, w)
        return (x * x).sum()

    def counts(depth: int) -> tuple[int, int]:
        x = np.linspace(0.1, 0.5, 9).reshape(3, 3)
        weights = [np.eye(3) / 2 + k / 100 for k in range(depth)]
        expected = s2s.grad(network, wrt="weights", backend="python")(x, weights)
        compiled = s2s.grad(network, wrt="weights", backend="native")
        for _ in range(2):
            np.testing.assert_allclose(compiled(x, weights), expected, rtol=1e-12)
        text = written["kernel"]
        return text.count('define internal i32 @"s2s.part'), text.count('call i32 @"s2s.part')

    few, many = counts(5), counts(9)
    assert many[1] >= few[1] + 8  # calls
    assert many[0] == few[0]  # functions

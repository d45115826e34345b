"""Gradient functions as libraries: results, statuses and refusals."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import s2s
from s2s.aot import build, status_codes
from tests.s2s.aot.programs import (
    MIXED,
    bits,
    blurred,
    growing,
    mixed,
    mixed_args,
    needs_compiler,
    waves,
)

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Any:
    function = s2s.value_and_grad(mixed, wrt=("W", "b"))
    return build(function, MIXED, out=tmp_path_factory.mktemp("aot") / "mixed")


def test_equals_the_compiled_gradient_to_the_last_bit(built, monkeypatch) -> None:
    monkeypatch.setenv("S2S_GEMM", "builtin")
    library = built.load()
    function = s2s.value_and_grad(mixed, wrt=("W", "b"))
    for n in (50, 7, 1, 200):
        args = mixed_args(n)
        value, (W_bar, b_bar) = library.mixed(*args)
        expected, (W_expected, b_expected) = function(*args)
        assert value == expected and value.dtype == expected.dtype
        np.testing.assert_array_equal(W_bar, W_expected)
        np.testing.assert_array_equal(b_bar, b_expected)


def test_elementary_functions_equal_to_the_last_bit(tmp_path) -> None:
    """Also sine and cosine of large arguments, which are reduced by a vector function."""
    library = build(s2s.value_and_grad(waves), "float64[n]", out=tmp_path / "waves").load()
    x = np.concatenate([np.random.default_rng(0).normal(size=100), [1e300, 1e22, 1e6]])
    value, x_bar = library.waves(x)
    expected, x_expected = s2s.value_and_grad(waves)(x)
    assert value == expected
    np.testing.assert_array_equal(x_bar, x_expected)


def test_shifts(tmp_path) -> None:
    library = build(s2s.value_and_grad(bits), "float64[n], int64", out=tmp_path / "bits").load()
    x = np.linspace(0.5, 1.5, 70)
    places = np.arange(70)
    for n in map(np.int64, (1, -3, 2**62)):
        value, x_bar = library.bits(x, n)
        assert value == s2s.value_and_grad(bits)(x, n)[0]
        np.testing.assert_allclose(x_bar, 2 * x * (n >> places) + (n << (places + 60)))


def test_what_is_relied_on_of_sizes_does_not_fix_them(tmp_path) -> None:
    library = build(s2s.value_and_grad(blurred), "float64[n]", out=tmp_path / "blurred").load()
    for n in (3, 8, 21):
        x = np.random.default_rng(n).normal(size=n)
        value, x_bar = library.blurred(x)
        expected, x_expected = s2s.value_and_grad(blurred, backend="loops")(x)
        np.testing.assert_allclose(value, expected)
        np.testing.assert_allclose(x_bar, x_expected)


def test_threads_are_left_to_the_program(tmp_path) -> None:
    function = s2s.value_and_grad(waves, parallel=True)
    library = build(function, "float64[n]", out=tmp_path / "waves").load()
    x = np.random.default_rng(0).normal(size=100_000)
    value, x_bar = library.waves(x)
    expected, x_expected = s2s.value_and_grad(waves, parallel=False)(x)
    assert value == expected
    np.testing.assert_array_equal(x_bar, x_expected)


@pytest.mark.parametrize(
    "change, error, text",
    [
        (lambda W, b, x, y: (W.astype(float), b, x, y), TypeError, "W must be of float32"),
        (lambda W, b, x, y: (W, b[None], x, y), ValueError, "b must have 1 axes"),
        (lambda W, b, x, y: (W.T, b, x, y), ValueError, "W must be contiguous"),
        (lambda W, b, x, y: (W, b, x, y[1:]), ValueError, "n = 50"),
        (lambda W, b, x, y: (W, b, x, list(y)), TypeError, "y must be an array"),
        (lambda W, b, x, y: (W, b, x, y.astype(">f8")), TypeError, "y must be of float64"),
    ],
)
def test_loader_refuses(built, change, error, text) -> None:
    with pytest.raises(error, match=text):
        built.load().mixed(*change(*mixed_args()))


def raw(built: Any, **changes: Any) -> int:
    """The status of a call through ctypes with raw pointers."""
    library = ctypes.CDLL(str(built.files["so"]))
    W, b, x, y = mixed_args()
    given: dict[str, Any] = {"d": 20, "h": 30, "n": 50}
    outs = np.zeros(()), np.zeros_like(W), np.zeros_like(b)
    arrays = dict(zip(("W", "b", "x", "y", "value", "W_bar", "b_bar"), (W, b, x, y, *outs)))
    given |= {name: array.ctypes.data for name, array in arrays.items()}
    need = library.mixed_workspace
    need.restype = ctypes.c_int64
    size = need(*(ctypes.c_int64(given[k]) for k in "dhn"))
    memory = np.zeros(size + 64, np.uint8)
    given["workspace"] = memory.ctypes.data + -memory.ctypes.data % 64
    given["bytes"] = size
    for name, change in changes.items():
        given[name] = change(given) if callable(change) else change
    return library.mixed(*(ctypes.c_int64(v) for v in given.values()))


@pytest.mark.parametrize(
    "changes, status",
    [
        ({}, status_codes.OK),
        ({"W": 0}, status_codes.NULL),
        ({"value": 0}, status_codes.NULL),
        ({"workspace": 0}, status_codes.NULL),
        ({"n": -1}, status_codes.SIZES),
        ({"workspace": lambda g: g["workspace"] + 8}, status_codes.ALIGNMENT),
        ({"x": lambda g: g["x"] + 2}, status_codes.ALIGNMENT),
        ({"W_bar": lambda g: g["W"] + 8}, status_codes.OVERLAP),
        ({"b_bar": lambda g: g["workspace"]}, status_codes.OVERLAP),
        ({"bytes": lambda g: g["bytes"] - 64}, status_codes.WORKSPACE),
        ({"bytes": 0}, status_codes.WORKSPACE),
        ({"bytes": -64}, status_codes.WORKSPACE),
    ],
)
def test_statuses(built, changes, status) -> None:
    assert raw(built, **changes) == status
    message = built.load()._library.message(status).decode()
    assert message == status_codes.MESSAGES[status]


def test_an_error_of_the_program(tmp_path) -> None:
    def picked(x, i):
        return np.sum(x[i] ** 2)

    library = build(s2s.grad(picked), "float64[n], int64[m]", out=tmp_path / "picked").load()
    np.testing.assert_array_equal(library.picked(np.arange(3.0), np.array([1, 1])), [0, 4, 0])
    with pytest.raises(IndexError, match=r"out of bounds for axis 0 \(test_functions.py"):
        library.picked(np.arange(3.0), np.array([3]))


def test_memory_that_only_the_run_tells(tmp_path) -> None:
    function = s2s.value_and_grad(growing)
    built = build(function, "float64[n]", out=tmp_path / "growing")
    library = built.load()
    for x in (np.arange(1.0, 5.0), np.arange(1.0, 5.0) * 0.01, np.linspace(0.1, 1.0, 100)):
        value, gradient = library.growing(x)
        expected, expected_gradient = function(x)
        assert value == expected
        np.testing.assert_array_equal(gradient, expected_gradient)


def halves(v):
    if v.shape[0] == 1:
        return v * v
    h = v.shape[0] // 2
    return np.sin(halves(v[:h])) + 0.5 * halves(v[h:])


def endless(x):
    return x if x > 1e6 else endless(x * 1.0) + 1.0


def test_recursion(tmp_path) -> None:
    def total(v):
        return np.sum(halves(v))

    function = s2s.value_and_grad(total, backend="loops")
    wanted = {
        "total": (s2s.value_and_grad(total), "float64[n]"),
        "endless": (s2s.function(endless), "float64"),
    }
    library = build(wanted, out=tmp_path / "recursive").load()
    for n in (1, 2, 3, 5, 17, 64):
        v = np.linspace(0.1, 1.0, n)
        value, gradient = library.total(v)
        expected, expected_gradient = function(v)
        assert value == pytest.approx(expected, rel=1e-13)
        np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12)
    with pytest.raises(RecursionError, match="maximum recursion depth"):
        library.endless(1.0)


def test_a_limit_for_trips(tmp_path) -> None:
    """The queried workspace size suffices; a smaller workspace gives an error status."""
    function = s2s.value_and_grad(growing)
    built = build(function, "float64[4]", out=tmp_path / "growing", max_trips=20_000)
    (size,) = built.workspace.values()
    assert size is not None and size > 2 * 8 * 20_000
    library = built.load()
    call = library._growing
    call.grows = False
    x = np.arange(1.0, 5.0) * 0.01  # about 13,000 iterations
    np.testing.assert_array_equal(library.growing(x)[1], function(x)[1])
    with pytest.raises(library.LibraryError, match="workspace is too small"):
        library.growing(x * 0.1)


def test_containers_numbers_and_fixed_arguments(tmp_path) -> None:
    def model(p, x, scale, power):
        for _ in range(power):
            x = x * p["w"] + p["b"][0]
        return {"loss": np.sum(x * x) * scale}["loss"]

    function = s2s.value_and_grad(model, wrt=("p", "scale"), static_argnames="power")
    signature = ({"w": "float64[k]", "b": ("float64[1]",)}, "float64[k]", "float64", 2)
    built = build(function, signature, out=tmp_path / "model")
    p = {"w": np.arange(3.0), "b": (np.array([0.5]),)}
    found = built.load().model(p, np.ones(3), 2.0, 2)
    expected = function(p, np.ones(3), 2.0, 2)
    assert found[0] == expected[0] and found[1][1] == expected[1][1]
    np.testing.assert_allclose(found[1][0]["w"], expected[1][0]["w"], rtol=1e-15)
    np.testing.assert_allclose(found[1][0]["b"][0], expected[1][0]["b"][0], rtol=1e-15)
    with pytest.raises(ValueError, match="compiled for 2"):
        built.load().model(p, np.ones(3), 2.0, 3)


class Pair(NamedTuple):
    low: Any
    high: Any


@dataclass
class Range:
    low: Any
    high: Any


def test_containers_in_results(tmp_path) -> None:
    def ends(x):
        return {"pair": Pair(x.min(), x.max()), "range": Range(x[0], [x[-1], x])}

    found = (
        build(s2s.function(ends), "float64[n]", out=tmp_path / "ends").load().ends(np.arange(3.0))
    )
    assert found["pair"] == (0.0, 2.0) and found["pair"].high == 2.0
    assert found["range"].low == 0.0 and found["range"].high[0] == 2.0


def test_sizes_that_follow_from_others(tmp_path) -> None:
    """The sizes of example arguments are run-time sizes; the conditions of the program on them are
    checked."""

    def misfit(x, t):
        return np.sum((x[::2] - t) ** 2)

    function = s2s.grad(misfit, wrt=("x", "t"))
    library = build(function, (np.ones(7), np.ones(4)), out=tmp_path / "misfit").load()
    x, t = np.arange(9.0), np.ones(5)
    for found, expected in zip(library.misfit(x, t), function(x, t)):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="the sizes do not fit together: x_0 = 9, t_0 = 4"):
        library.misfit(x, t[1:])


def test_complex_numbers(tmp_path) -> None:
    def power(z, w):
        return np.sum(np.abs(z * w) ** 2)

    function = s2s.value_and_grad(power, wrt="z")
    built = build(function, "complex128[n], complex128[n]", out=tmp_path / "power")
    assert "const double *z /* [n] of complex numbers */" in built.files["h"].read_text()
    z, w = np.array([1.0 + 2j, 3.0 - 1j]), np.array([0.5j, 2.0 + 1j])
    value, gradient = built.load().power(z, w)
    expected, expected_gradient = function(z, w)
    assert value == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-14)


def test_arguments_that_are_written(tmp_path) -> None:
    def relax(u, n):
        for _ in range(n):
            u[1:-1] = 0.5 * (u[:-2] + u[2:])
        return u.sum()

    library = build(s2s.function(relax), "float64[n], int64", out=tmp_path / "relax").load()
    u = np.arange(6.0) ** 2
    v = u.copy()
    assert library.relax(u, 3) == relax(v, 3)
    np.testing.assert_array_equal(u, v)
    u.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        library.relax(u, 3)


def test_several_functions_and_signatures(tmp_path) -> None:
    def energy(x):
        return 0.5 * np.sum(x * x)

    both = ["float32[n]", "float64[n]"]
    wanted = {
        "gradient": (s2s.grad(energy), both),
        "push": (s2s.jvp(energy), "float64[n], float64[n]"),
    }
    built = build(wanted, out=tmp_path / "energy")
    assert built.functions == ["energy_gradient", "energy_gradient_2", "energy_push"]
    library = built.load()
    for dtype in (np.float32, np.float64):
        x = np.arange(4, dtype=dtype)
        assert library.gradient(x).dtype == dtype
        np.testing.assert_array_equal(library.gradient(x), x)
    value, tangent = library.push(np.arange(4.0), np.ones(4))
    assert (value, tangent) == (7.0, 6.0)


def test_constants_for_fixed_sizes(tmp_path) -> None:
    def energy(x):
        y = np.sin(x)
        return np.sum(y[::-1] * x)

    built = build(s2s.grad(energy), "float64[100]", out=tmp_path / "energy")
    (size,) = built.workspace.values()
    assert f"#define ENERGY_WORKSPACE_BYTES {size}" in built.files["h"].read_text()
    library = ctypes.CDLL(str(built.files["so"]))
    library.energy_workspace.restype = ctypes.c_int64
    assert library.energy_workspace() == size


def test_sizes_that_do_not_fit(tmp_path) -> None:
    def inner(x, y):
        return np.sum(x * y)

    library = build(s2s.grad(inner), "float64[n], float64[m]", out=tmp_path / "inner").load()
    np.testing.assert_array_equal(library.inner(np.ones(3), np.arange(3.0)), np.arange(3.0))
    with pytest.raises(ValueError, match="could not be broadcast"):
        library.inner(np.ones(3), np.ones(4))


def test_readable_source_and_snippets(built) -> None:
    assert "def mixed_vjp(" in built.files["adjoint"].read_text()
    assert "mixed::mixed" in built.files["cmake"].read_text()
    assert "-lmixed" in built.files["pc"].read_text()
    assert {p.name for p in Path(built.files["so"]).parent.iterdir()} == {
        "libmixed.so", "libmixed.a", "mixed.o", "mixed.h", "mixed.py", "mixed_adjoint.py",
        "mixed.pc", "mixed.cmake",
    }  # fmt: skip

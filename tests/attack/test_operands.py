"""Arguments of unusual memory, extreme ranges, empty operands, and very large programs: the result
is NumPy's or CPython's, or an error says what is not supported."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import s2s
from s2s.aot import build
from tests.attack.beside import judge, judge_source, load
from tests.oracle import central_differences
from tests.s2s.aot.programs import needs_compiler
from tests.scale import count, sample

# ---------------------------------------------------------------- ranges

LEAST, MOST = -(2**63), 2**63 - 1


def by_one(x: float, a: int, b: int) -> Any:
    s = x
    for i in range(a, b):
        s = s * np.sin(s) * (1.0 + (i % 3))
    return s


def by_minus_one(x: float, a: int, b: int) -> Any:
    s = x
    for i in range(a, b, -1):
        s = s * np.sin(s) * (1.0 + (i % 3))
    return s


def by_step(x: float, a: int, b: int, c: int) -> Any:
    s = x
    for _ in range(a, b, c):
        s = s * 2.0 + np.sin(s)
    return s


def rows(x: float, starts: Any) -> Any:
    """The range is read from an array."""
    s = x
    for r in range(starts.shape[0] - 1):
        for i in range(starts[r], starts[r + 1]):
            s = s * np.sin(s) * (1.0 + (i % 3))
    return s


RANGES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((f, pair) for f in (by_one, by_minus_one) for pair in [
        (LEAST, LEAST + 3), (LEAST, LEAST + 1), (LEAST, LEAST), (LEAST + 1, LEAST + 4),
        (MOST - 3, MOST), (MOST, MOST - 3), (MOST, MOST), (LEAST + 3, LEAST), (MOST, LEAST + 5),
        (0, 3), (3, 0), (-2, 2), (2, -2),
    ] if not range(*pair, 1 if f is by_one else -1)[5:]),
    *((by_step, bounds) for bounds in [
        (LEAST, LEAST + 5, 2), (LEAST + 4, LEAST, -2), (MOST - 5, MOST, 2), (MOST, MOST - 5, -2),
        (LEAST, 0, MOST), (-1, MOST, MOST), (LEAST, LEAST + 3, -1), (0, 5, MOST), (0, -5, LEAST),
    ]),
    (rows, (np.array([LEAST, LEAST + 2, LEAST + 3]),)),
    (rows, (np.array([0, 2, 2, 3]),)),
]  # fmt: skip


@pytest.mark.parametrize("backend", ["loops", "numba"])
@pytest.mark.parametrize(("function", "args"), RANGES)
def test_gradients_of_loops_over_extreme_ranges(
    function: Callable[..., Any], args: tuple[Any, ...], backend: str
) -> None:
    h = 1e-6
    difference = (function(0.7 + h, *args) - function(0.7 - h, *args)) / (2 * h)
    got = s2s.grad(function, backend=backend)(0.7, *args)
    np.testing.assert_allclose(got, difference, rtol=1e-6)


@pytest.mark.parametrize("bounds", [(LEAST, MOST, 2**62), (MOST, LEAST, LEAST), (0, LEAST, LEAST)])
def test_ranges_whose_length_has_more_than_63_bits_of_span_raise(bounds: tuple[int, ...]) -> None:
    with pytest.raises((IndexError, ValueError)):
        s2s.grad(by_step, backend="loops")(0.7, *bounds)


def listed(x: Any) -> Any:
    values = [x[0]]
    for i in range(len(x)):
        values.append(values[-1] * x[i])
    s = 0.0
    for i in range(len(values)):
        s = s * np.sin(s) + values[i]
    return s


def test_sizes_and_lengths_of_lists_are_not_clipped_in_reverse_loops() -> None:
    gradient = s2s.grad(listed, backend="loops")
    x = np.array([0.5, 1.5, 0.25])
    h = 1e-6 * np.eye(3)
    expected = [(listed(x + d) - listed(x - d)) / 2e-6 for d in h]
    np.testing.assert_allclose(gradient(x), expected, rtol=1e-6)
    backwards = [line for line in gradient.lowered.splitlines() if line.endswith(", -1):")]
    assert len(backwards) == 2
    assert not any(" else " in line for line in backwards)


# ---------------------------------------------------------------- arguments

VALUES = np.arange(1.0, 7.0)
VALUES.flags.writeable = False


class Plain(np.ndarray):
    """A subclass that does not override arithmetic."""


class OwnUfuncs(np.ndarray):
    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("units differ")


class OwnSum(np.ndarray):
    def sum(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        return 7.0


class OwnItems(OwnSum):
    def __getitem__(self, index: Any) -> Any:
        return 5.0


def unaligned(writeable: bool = True) -> Any:
    raw = bytearray(b"x" + VALUES.tobytes())
    return np.frombuffer(raw if writeable else bytes(raw), offset=1)


def mapped(mode: Any) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        VALUES.tofile(folder / "values")
        return np.memmap(folder / "values", dtype="f8", mode=mode)

    return make


def field(dtype: Any) -> Any:
    records: Any = np.zeros(6, dtype)
    records["a"] = VALUES
    return records["a"]


def read_only() -> Any:
    return VALUES.view()


ARGUMENTS: dict[str, Callable[[Path], Any]] = {
    "plain": lambda _: VALUES.copy(),
    "unaligned": lambda _: unaligned(),
    "unaligned, read-only": lambda _: unaligned(False),
    "mapped, r": mapped("r"),
    "mapped, r+": mapped("r+"),
    "mapped, c": mapped("c"),
    "read-only": lambda _: read_only(),
    "reversed": lambda _: VALUES.copy()[::-1],
    "every other": lambda _: np.repeat(VALUES, 2)[::2],
    "broadcast": lambda _: np.broadcast_to(2.0, (6,)),
    "Fortran order": lambda _: np.asfortranarray(VALUES.reshape(2, 3)),
    "field": lambda _: field([("a", "f8"), ("b", "i4")]),
    "packed field": lambda _: field([("b", "i1"), ("a", "f8")]),
    "0-d": lambda _: np.array(3.0),
    "number": lambda _: np.float64(3.0),
    "number of float32": lambda _: np.float32(3.0),
    "empty": lambda _: np.zeros(0),
    "empty, far strides": lambda _: as_strided(np.zeros(1), (0,), (2**60,)),
    "one, far stride": lambda _: as_strided(VALUES.copy(), (1,), (2**62,)),
    "subclass": lambda _: VALUES.copy().view(Plain),
    "recarray": lambda _: VALUES.copy().view(np.recarray),
    "list": lambda _: list(VALUES),
    "tuple": lambda _: tuple(VALUES),
    # These are refused.
    "swapped": lambda _: VALUES.astype(">f8"),
    "swapped complex": lambda _: VALUES.astype(">c16"),
    "matrix": lambda _: np.matrix(VALUES),
    "masked": lambda _: np.ma.array(VALUES, mask=[True, False, False, False, True, False]),
    "records": lambda _: np.zeros(6, [("a", "f8"), ("b", "i4")]),
    "object": lambda _: VALUES.astype(object),
    "dates": lambda _: np.arange(6).astype("datetime64[s]"),
    "durations": lambda _: np.arange(6).astype("timedelta64[s]"),
    "half": lambda _: VALUES.astype(np.float16),
    "long double": lambda _: VALUES.astype(np.longdouble),
    "text": lambda _: np.array(list("abcdef")),
    "void": lambda _: np.zeros(6, "V8"),
    "own ufuncs": lambda _: VALUES.copy().view(OwnUfuncs),
    "own sum": lambda _: VALUES.copy().view(OwnSum),
    "own items": lambda _: VALUES.copy().view(OwnItems),
}
REFUSED = list(ARGUMENTS)[list(ARGUMENTS).index("swapped") :]


def total(x: Any) -> Any:
    return np.sum(x * x)


def looped(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s = s + x[i] * x[i] * (i + 1)
    return s


def written(x: Any) -> Any:
    x[0] = x[0] * 2.0
    return np.sum(x * x)


def doubled(x: Any) -> Any:
    return x * 2.0


def turned(x: Any) -> Any:
    return np.sum(x[::-1] * x)


def identity(x: Any) -> Any:
    return x


FUNCTIONS = (total, looped, written, doubled, turned, identity)
TRANSFORMS = ("function", "grad", "value_and_grad")
CASES = list(itertools.product(FUNCTIONS, ARGUMENTS, TRANSFORMS))


def outcome(function: Callable[..., Any], value: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return function(value)
        except Exception as error:
            return error


def problem(
    function: Callable[..., Any], kind: str, transform: str, backend: str, folder: Path
) -> str | None:
    """A description of the failure of a call, or an empty string."""
    make = ARGUMENTS[kind]
    expected = outcome(function, before := make(folder))
    before = np.array(before)
    compiled = getattr(s2s, transform)(function, backend=backend)
    got = outcome(compiled, after := make(folder))
    if isinstance(got, s2s.InternalCompilerError):
        return f"internal: {got}"
    if kind in REFUSED and (function is not identity or transform != "function"):
        return None if isinstance(got, Exception) else f"not refused: {got!r}"
    if isinstance(got, Exception):
        refused = isinstance(got, s2s.errors.S2SError)
        return None if refused or isinstance(expected, Exception) else repr(got)
    if isinstance(expected, Exception):
        return f"{got!r}, NumPy raises {expected!r}"
    if not np.array_equal(before, np.array(after)):
        return f"the argument became {after!r}, expected {before!r}"
    value, gradient = {"function": (got, None), "grad": (expected, got)}.get(transform, got)
    if not np.array_equal(value, expected):
        return f"{value!r}, expected {expected!r}"
    if gradient is not None and not isinstance(gradient, (list, tuple)):
        close = np.allclose(gradient, central_differences(function, (make(folder),)), rtol=1e-4)
        return None if close else f"gradient {gradient!r}"
    return None


def test_kinds_of_arguments(tmp_path: Path) -> None:
    found = {
        (function.__name__, *rest): why
        for function, *rest in CASES
        if (why := problem(function, *rest, "loops", tmp_path)) is not None  # type: ignore[arg-type]
    }
    assert not found


def test_kinds_of_arguments_compiled(tmp_path: Path) -> None:
    found = {
        (function.__name__, *rest): why
        for function, *rest in sample(CASES, 40, seed=1)
        if (why := problem(function, *rest, "numba", tmp_path)) is not None  # type: ignore[arg-type]
    }
    assert not found


@pytest.mark.parametrize("backend", ["loops", "numba"])
@pytest.mark.parametrize("kind", ["own ufuncs", "own items", "masked", "matrix"])
def test_subclasses_are_refused_after_plain_arrays_were_given(
    kind: str, backend: str, tmp_path: Path
) -> None:
    gradient = s2s.grad(total, backend=backend)
    for _ in range(3):
        gradient(VALUES.copy())
    with pytest.raises(TypeError, match=r"of total: .*(pass|not supported)"):
        gradient(ARGUMENTS[kind](tmp_path))


def added(x: Any, y: Any) -> Any:
    x += 2.0 * y
    return np.sum(x * y)


OVERLAPS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "shifted": lambda: (lambda v: (v[1:], v[:-1]))(np.arange(1.0, 8.0)),
    "the same": lambda: (lambda v: (v, v))(np.arange(1.0, 8.0)),
    "reversed": lambda: (lambda v: (v, v[::-1]))(np.arange(1.0, 8.0)),
    "half an element": lambda: (
        lambda v: (np.frombuffer(v, count=6), np.frombuffer(v, offset=4, count=6))
    )(bytearray(np.arange(8.0).tobytes())),
    "one element": lambda: (as_strided(np.arange(7.0), (4,), (0,)), np.arange(4.0)),
    "windows": lambda: (as_strided(np.arange(7.0), (3, 3), (8, 8)), np.ones((3, 3))),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("backend", ["loops", "numba"])
@pytest.mark.parametrize("kind", OVERLAPS)
def test_written_arguments_that_overlap_are_refused(
    kind: str, backend: str, transform: str
) -> None:
    function = getattr(s2s, transform)(added, backend=backend)
    x, y = OVERLAPS[kind]()
    for _ in range(3):  # with disjoint arrays of the same layout
        function(np.zeros(tuple(2 * n for n in x.shape))[(slice(None, None, 2),) * x.ndim], y + 0)
    before = x.copy()
    with pytest.raises(ValueError, match="overlap in memory"):
        function(x, y)
    np.testing.assert_array_equal(x, before)


def test_interleaved_arguments_do_not_overlap() -> None:
    values = np.arange(1.0, 9.0)
    assert judge(lambda x, y: added(x, y), (values[::2], values[1::2])).kind == "right"
    got = s2s.function(added, backend="loops")(values[::2], values[1::2])
    again = np.arange(1.0, 9.0)
    assert got == added(again[::2], again[1::2])
    np.testing.assert_array_equal(values, again)


def cubed(x: Any) -> Any:
    return np.sum(x * x * x)


OUT: dict[str, tuple[Callable[[Path], Any], str | None]] = {
    "plain": (lambda _: np.zeros(6), None),
    "unaligned": (lambda _: np.frombuffer(bytearray(49), offset=1), None),
    "reversed": (lambda _: np.zeros(6)[::-1], None),
    "every other": (lambda _: np.zeros(12)[::2], None),
    "mapped": (lambda f: np.memmap(f / "out", "f8", "w+", shape=(6,)), None),
    "recarray": (lambda _: np.zeros(6).view(np.recarray), None),
    "subclass": (lambda _: np.zeros(6).view(Plain), None),
    "read-only": (lambda _: read_only(), "read-only"),
    "one element": (lambda _: as_strided(np.zeros(1), (6,), (0,)), "overlap in memory"),
    "half elements": (lambda _: as_strided(np.zeros(7), (6,), (4,)), "overlap in memory"),
    "swapped": (lambda _: np.zeros(6, ">f8"), "is of >f8"),
    "masked": (lambda _: np.ma.zeros(6), "masked"),
    "object": (lambda _: np.zeros(6, object), "is of object"),
    "short": (lambda _: np.zeros(5), "shape"),
}


@pytest.mark.parametrize("backend", ["loops", "numba"])
@pytest.mark.parametrize("kind", OUT)
def test_buffers_for_gradients(kind: str, backend: str, tmp_path: Path) -> None:
    make, refused = OUT[kind]
    out = make(tmp_path)
    gradient = s2s.grad(cubed, backend=backend)
    if refused is not None:
        with pytest.raises((TypeError, ValueError), match=refused):
            gradient(VALUES.copy(), out=out)
        return
    assert gradient(VALUES.copy(), out=out) is out
    np.testing.assert_allclose(out, 3 * VALUES**2)


def far_element(x: Any) -> Any:
    return x[0] * x[-1] + x[2**32] * x.shape[0]


def test_arrays_of_more_elements_than_memory_holds() -> None:
    x = np.broadcast_to(0.5, (2**33,))
    for backend in ("loops", "numba"):
        assert s2s.function(far_element, backend=backend)(x) == far_element(x)
        with pytest.raises(MemoryError):
            s2s.grad(far_element, backend=backend)(np.broadcast_to(0.5, (2**59,)))


# ---------------------------------------------------------------- empty and single operands

MATRICES = {
    "1x1": np.array([[2.0]]), "0x0": np.zeros((0, 0)), "0x3": np.zeros((0, 3)),
    "3x0": np.zeros((3, 0)), "2x0x0": np.zeros((2, 0, 0)), "0x2x2": np.zeros((0, 2, 2)),
}  # fmt: skip
VECTORS = {"0": np.zeros(0), "1": np.array([2.0]), "3": np.array([1.0, 2.0, 3.0])}
OF_MATRICES = """
np.linalg.inv(a);np.linalg.det(a);np.linalg.slogdet(a);np.linalg.cholesky(a);np.linalg.qr(a)
np.linalg.svd(a);np.linalg.svd(a, compute_uv=False);np.linalg.eigh(a);np.linalg.eigvalsh(a)
np.linalg.pinv(a);np.linalg.matrix_power(a, 3);np.linalg.matrix_power(a, -1);np.linalg.norm(a)
np.trace(a);a.T @ a;a @ a;np.einsum('ij,jk->ik', a, a);np.einsum('ij->j', a)
np.tensordot(a, a, 2)[()]
np.kron(a, a);np.sum(a, axis=0);np.max(a, axis=0);np.max(a, axis=1);np.min(a)
np.argmax(a, axis=0);np.mean(a);np.mean(a, axis=0);np.prod(a, axis=0);np.cumsum(a, axis=0)
np.sort(a, axis=0);np.fft.fft(a);np.fft.fft(a, axis=0);np.fft.rfft(a);np.fft.irfft(a);np.median(a)
np.quantile(a, 0.5, axis=0);np.cov(a);np.corrcoef(a);np.vander(a);np.pad(a, 1)
"""
OF_VECTORS = """
np.max(a);np.argmin(a);np.mean(a);np.std(a);np.percentile(a, 30);np.sort(a);np.unique(a)
np.fft.fft(a);np.fft.fft(a, n=0);np.fft.rfft(a, n=0);np.fft.irfft(a, n=0);np.fft.irfft(a)
np.searchsorted(a, 1.5);np.interp(1.5, a, a);np.convolve(a, a);np.convolve(a, np.ones(2))
np.convolve(a, np.ones(2), 'valid');np.convolve(np.ones(2), a, 'same');np.correlate(a, np.ones(2))
np.cumsum(a);np.diff(a);np.outer(a, a);np.dot(a, a);np.einsum('i,i', a, a);np.linalg.norm(a)
np.maximum.reduce(a);np.add.reduce(a);max(a);min(a);np.roll(a, 3);np.linspace(0, 1, a.size)
np.polyval(a, 2.0)[()];np.average(a);np.ptp(a);np.partition(a, 0);np.pad(a, (1, 1), mode='edge')
"""
OF_BOTH = "np.linalg.solve(a, b);a @ b;np.dot(a, b);np.inner(a, b);np.einsum('ij,j->i', a, b)"


def texts(lines: str) -> list[str]:
    return [t for line in lines.split("\n") for t in line.split(";") if t]


OPERANDS = [
    *((t, (a,)) for t in texts(OF_MATRICES) for a in MATRICES.values()),
    *((t, (a,)) for t in texts(OF_VECTORS) for a in VECTORS.values()),
    *((t, (a, b)) for t in texts(OF_BOTH) for a in MATRICES.values() for b in VECTORS.values()),
]
# NumPy returns a value for a matrix of one row; s2s raises.
RAISES_INSTEAD = ("np.cov(a)", "np.corrcoef(a)")


def test_empty_and_single_operands() -> None:
    found = {}
    for text, args in sample(OPERANDS, 50, seed=3):
        source = f"def f({', '.join('ab'[: len(args)])}):\n    return {text}\n"
        verdict = judge_source(source, args)
        instead = text in RAISES_INSTEAD and "single variable" in verdict.text
        if not verdict.allowed and not instead:
            found[text, tuple(a.shape for a in args)] = verdict
    assert not found


# ---------------------------------------------------------------- large programs


def nested(head: str, depth: int, inner: str) -> str:
    lines = [" " * k + head.replace("@", str(k)) for k in range(depth)]
    return textwrap.indent("\n".join([*lines, " " * depth + inner]), "    ")


MANY = count(200, 1000)
LARGE = {
    "many statements": "    y = x\n" + "    y = y * 1.0001 + x\n" * MANY + "    return y",
    "many terms": "    return " + " + ".join(f"x * {k}.0" for k in range(count(150, 400))),
    "190 parentheses": "    return " + "(" * 190 + "x" + " + 1.0)" * 190,
    "nested ifs": "    y = x\n"
    + nested("if x > -@.5:", count(40, 90), "y = x * x")
    + "\n    return y",
    "nested loops": "    y = x\n"
    + nested("for i@ in range(1):", count(6, 10), "y = y * x")
    + "\n    return y",
    "many elements": f"    t = ({', '.join(f'x * {k}.0' for k in range(MANY))})\n    return sum(t)",
}
TOO_LARGE = {
    "1,000 terms": "    return " + " + ".join(["x"] * 990),
    "elif": "    if x > 9e9: y = x\n"
    + "".join(f"    elif x > {900 - k}.5: y = x * {k}.0\n" for k in range(900))
    + "    else: y = x\n    return y",
    "conditions": "    return "
    + "".join(f"{k}.0 if x > {k} else " for k in range(300, 0, -1))
    + "x",
    "15 loops": "    y = x\n" + nested("for i@ in range(1):", 15, "y = y * x") + "\n    return y",
    "comparisons": f"    if {' < '.join(map(str, range(600)))} < x: return x * 2.0\n    return x",
}


@pytest.mark.parametrize("name", LARGE)
def test_large_programs(name: str) -> None:
    function = load(f"def f(x):\n{LARGE[name]}\n")["f"]
    assert judge(function, (1.5,)).kind == "right"
    got = s2s.grad(function, backend="loops")(1.5)
    np.testing.assert_allclose(got, central_differences(function, (1.5,)), rtol=1e-5)


@pytest.mark.parametrize("name", TOO_LARGE)
def test_programs_that_are_nested_too_deeply_are_refused_with_a_line(name: str) -> None:
    function = load(f"def f(x):\n{TOO_LARGE[name]}\n")["f"]
    for transform in (s2s.function, s2s.grad):
        with pytest.raises(s2s.UnsupportedError, match="too deeply|inside each other") as info:
            transform(function, backend="loops")(1.5)
        assert info.value.line


def test_300_arguments() -> None:
    names = [f"a{k}" for k in range(300)]
    squares = " + ".join(f"{n} * {n}" for n in names)
    function = load(f"def f({', '.join(names)}):\n    return {squares}\n")["f"]
    args = tuple(float(k) for k in range(300))
    assert judge(function, args).kind == "right"
    assert s2s.grad(function, wrt=299, backend="loops")(*args) == 2 * 299.0


@pytest.mark.parametrize("returned", [[1.0, 2.0], (1.0,), {"a": 1.0}, [[1.0], [2.0]]])
def test_the_gradient_of_a_container_that_is_returned_as_it_came(returned: Any) -> None:
    for transform in (s2s.grad, s2s.value_and_grad):
        with pytest.raises(TypeError, match="needs one scalar, and this function returns a cont"):
            transform(identity, backend="loops")(returned)


# ---------------------------------------------------------------- powers

POWERS = """
import numpy as np, s2s

def power(x, y, n):
    if n < 0:
        return 0.0
    return power(x, y, n - 1) + (x[n] * 1.0) ** y[n]

x, y = np.array([2, 3, 1, 5], np.float64), np.array([2, 3, 0, 1], np.uint16)
assert s2s.function(power)(x, y, 3) == power(x, y, 3) == 37.0
print("done")
"""


def test_integer_powers_that_llvm_makes_of_pow(tmp_path: Path) -> None:
    """In a subprocess, because LLVM aborts if a symbol is missing."""
    (tmp_path / "powers.py").write_text(POWERS)
    run = subprocess.run([sys.executable, tmp_path / "powers.py"], capture_output=True, text=True)
    assert run.stdout == "done\n", run.stderr


def powers(x: Any, y: Any) -> Any:
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] ** y[i]
    return s


@needs_compiler
def test_integer_powers_in_a_library(tmp_path: Path) -> None:
    built = build(s2s.value_and_grad(powers), "float64[n], uint16[n]", out=tmp_path / "powers")
    x, y = np.array([2.0, 3.0, 1.0, 5.0]), np.array([2, 3, 0, 1], np.uint16)
    value, gradient = built.load().powers(x, y)
    assert value == 37.0
    np.testing.assert_allclose(gradient, [4.0, 27.0, 0.0, 1.0])

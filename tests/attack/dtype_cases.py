"""Programs over all dtypes, operations and kinds of operands, compared with NumPy (NEP 50).

A `Case` is an expression with its arguments.  Expressions over the same arguments that NumPy
accepts are compiled as one function, which returns a tuple; an expression for which NumPy raises is
compiled alone, because it ends the call.
"""

from __future__ import annotations

import importlib.util
import itertools
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import s2s

INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
REALS = [*INTEGERS, "float32", "float64"]
DTYPES = ["bool", *REALS, "complex64", "complex128"]
PYTHON = ["bool", "int", "float", "complex"]

# ---------------------------------------------------------------- operations

_OPERATORS = [f"a {op} b" for op in "+ - * / // % ** & | ^ << >> == != < <= > >=".split()]
_UFUNCS = (
    "add subtract multiply divide floor_divide remainder power float_power fmod maximum minimum"
    " fmax fmin arctan2 hypot copysign nextafter logaddexp logaddexp2 heaviside gcd lcm logical_and"
    " logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift equal less"
).split()
BINARY = [
    *_OPERATORS,
    *(f"np.{name}(a, b)" for name in _UFUNCS),
    "divmod(a, b)[0]",
    "divmod(a, b)[1]",
    "np.where(a == a, a, b)",
    "np.where(a != a, a, b)",
    "np.clip(a, b, b)",
]
ARRAYS = [
    "a @ b",
    "np.dot(a, b)",
    "np.inner(a, b)",
    "np.vdot(a, b)",
    "np.outer(a, b)",
    "np.concatenate([a, b])",
    "np.stack([a, b])",
    "np.array([a[0], b[1]])",
    "np.array([a[0], b[1], 1])",
    "np.convolve(a, b)",
    "np.tensordot(a, b, 1)",
    "np.einsum('i,i->', a, b)",
]
_UNARY_UFUNCS = (
    "negative positive absolute sign sqrt square reciprocal exp log sin arctan floor ceil trunc"
    " rint invert logical_not isnan isinf isfinite signbit conjugate exp2 expm1 log1p cbrt"
    " deg2rad fabs"
).split()
UNARY = [
    "-a",
    "+a",
    "~a",
    "abs(a)",
    "not a",
    *(f"np.{name}(a)" for name in _UNARY_UFUNCS),
    "np.real(a)",
    "np.imag(a)",
    "np.angle(a)",
    "np.nan_to_num(a)",
    "np.round(a)",
    "a ** 2",
    "a ** 3",
    "a ** 0.5",
    "a + True",
    "a + 1",
    "a * 3",
    "1 - a",
    "a + 100",
    "a + 0.1",
    "a * 1j",
    "a / 2",
    "a // 2",
    "a % 3",
    "a + 300",
    "a - 70000",
    "a * 2**40",
    "a + 2**63",
    "a + -1",
    "a == 300",
    "a < -1",
    "a > 2**63",
    "a != 2**70",
    "np.maximum(a, 300)",
    "np.maximum(a, -1)",
    "np.where(a == a, a, 300)",
    "np.where(a == a, a, 0.1)",
    "np.clip(a, -1, 300)",
    "np.clip(a, 0, 1)",
    "a + np.uint8(1)",
    "a + np.int64(1)",
    "a + np.float32(0.1)",
    "a + np.float64(0.1)",
    "a + np.pi",
    "np.float32(a)",
]
_REDUCTIONS = (
    "sum prod mean var std max min argmax argmin any all cumsum cumprod median ptp".split()
)
REDUCED = [
    *(f"np.{name}(a)" for name in _REDUCTIONS),
    *(f"a.{name}()" for name in _REDUCTIONS if name not in ("median", "ptp")),
    *(
        f"np.{name}(a, dtype=np.{dtype})"
        for name in ("sum", "prod", "cumsum", "cumprod", "mean")
        for dtype in ("int8", "uint16", "int64", "float32", "float64", "complex64")
    ),
    "np.add.reduce(a)",
    "np.multiply.reduce(a)",
    "np.maximum.reduce(a)",
    "np.add.accumulate(a)",
    "np.multiply.accumulate(a)",
    "np.count_nonzero(a)",
    "np.diff(a)",
    "np.sort(a)",
    "np.average(a)",
    "np.trapezoid(a)",
    "np.quantile(a % 50, 0.3)",
    "np.median(a[1:])",
    "np.cumsum(a)[-1] * a[0]",
    "sum(a)",
    "max(a)",
    "min(a)",
    "max(a[0], 7)",
    "min(a[0], 7.5)",
    "a[0] * a[1]",
    "a[0] + a[1] + a[2]",
    "a[0] * 100",
    "a[0] - 1",
    "abs(a[0])",
    "-a[0]",
    "int(a[2]) * 100",
    "float(a[0])",
    "bool(a[0])",
    "a[2].item() * 1000",
    "sum(v for v in a)",
    "sum([v * v for v in a])",
    "np.dot(a, a)",
    "a.T @ a",
    "np.linalg.norm(a)",
    "np.zeros_like(a)",
    "np.full_like(a, 1)",
    "np.full_like(a, 300)",
    "np.full_like(a, -1)",
    "np.full(2, a[0])",
    "np.ones_like(a) * a",
    "np.asarray(a)",
    "np.asarray([a[0], a[1]])",
    "np.array([a[0], 1])",
    "np.array([a[0], 0.1])",
    "np.array([a, a])",
    "np.append(a, 1)",
    "np.repeat(a, 2)",
    "np.arange(a[2])",
    "np.arange(a[2], a[2] + 3)",
    "np.linspace(a[0], a[1], 3)",
    "np.linspace(0, 1, 3, dtype=a.dtype)",
    "np.arange(3, dtype=a.dtype)",
    "np.eye(2, dtype=a.dtype)",
    "np.zeros(2, dtype=a.dtype)",
    "np.zeros(2, a.dtype) + a[:2]",
    *(f"a.astype(np.{dtype})" for dtype in DTYPES),
    *(f"np.{dtype}(a[0])" for dtype in DTYPES),
    "(a[2] * np.float64(2.0**62)).astype(np.uint64)",
    *(f"np.array(a, np.{dtype})" for dtype in ("int8", "uint64", "float32")),
]
# Numbers converted by NumPy's scalar classes and creation functions.
CONVERSIONS = [
    f"np.{dtype}({value})"
    for dtype in DTYPES
    for value in ("1", "-1", "300", "70000", "-40000", "2**31", "2**32", "2**63", "2**64", "-2**63",
                  "-2**63 - 1", "10**30", "0.5", "-1.5", "300.7", "1e300", "1j", "True")
]  # fmt: skip
CREATIONS = [
    form.format(dtype=dtype, value=value)
    for form in (
        "np.full(2, {value}, np.{dtype})",
        "np.array([1, {value}], np.{dtype})",
        "np.asarray({value}, np.{dtype})",
        "np.arange({value}, dtype=np.{dtype})[:1]",
        "np.zeros(1, np.{dtype}) + {value}",
    )
    for dtype in ("bool", *INTEGERS, "float32", "float64")
    for value in ("3", "-1", "300", "70000", "2**63", "0.5")
    if not (form.startswith("np.arange") and (value in ("70000", "2**63") or dtype == "bool"))
]
PLAIN = [
    "np.array([1, 2])",
    "np.array([1, 2.5])",
    "np.array([True, 2])",
    "np.array([1, 2**63])",
    "np.array([2**63, 2**64 - 1])",
    "np.array([-1, 2**63])",
    "np.full(2, 2**63)",
    "np.full(2, 1)",
    "np.full(2, True)",
    "np.full(2, 0.5)",
    "np.arange(3)",
    "np.arange(3.0)",
    "np.arange(0, 1, 0.5)",
    "np.linspace(0, 1, 3)",
    "np.zeros(2)",
    "np.array([np.int8(1), np.uint8(2)])",
    "np.array([np.int8(100), 100]) * 3",
    "np.stack([np.int8(1), np.float32(2)])",
    "np.int8(100) * np.int8(100)",
    "np.uint8(200) + 100",
    "np.uint8(3) - np.uint8(5)",
    "-np.uint8(1)",
    "~np.uint8(1)",
    "np.int64(5) + 3 + np.uint8(1)",
    "np.float32(0.1) + np.float32(0.2)",
    "np.float32(0.1) * 3 + np.float64(1)",
    "np.int8(7) // 2",
    "np.int8(-7) % 3",
    "np.int8(100) ** 2",
    "np.int8(100) << 1",
    "np.uint8(200) > 100",
    "np.True_ + np.True_",
    "True + True",
    "np.uint8(200) + True",
    "abs(np.int8(-128))",
    "np.uint8(200) if np.uint8(200) > 3 else 1",
]
# Statements that write into an array, in place.
INPLACE = [
    *(f"a {op}= b" for op in "+ - * / // % ** & | ^ << >>".split()),
    *(f"a[:] {op}= b" for op in "+ * / &".split()),
    "a[:] = b",
    "a[0:2] = b[0:2]",
    "a[0] = b[0]",
    "a[0] += b[0]",
    "a[0] *= b[1]",
    "a[np.array([0, 1])] = b[:2]",
    "a[np.array([0, 1])] += b[:2]",
    "a[a == a] = b[0]",
    "a.fill(b[0])",
    "np.add(a, b, out=a)",
    "np.add.at(a, np.array([0, 0]), b[0])",
]
ASSIGNED = [
    form.format(value)
    for form in ("a[0] = {}", "a[:] = {}", "a += {}", "a[0] += {}", "a *= {}", "a.fill({})",
                 "a[a == a] = {}", "a[0] = a[0] + {}", "a[np.array([0])] = {}", "a[:2] = [1, {}]")
    for value in ("1", "-1", "300", "70000", "2**40", "2**63", "2**64", "0.5", "1e300", "1j",
                  "True", "np.int64(-1)", "np.int64(300)", "np.float64(2.5)", "np.uint8(200)")
]  # fmt: skip
WRITES = ["a += b", "a *= b", "a -= b", "a[0] = b", "a[:] = b", "a.fill(b)", "a[0] += b"]

# ---------------------------------------------------------------- values


def array(dtype: str, second: bool = False) -> np.ndarray:
    """An array of three elements, at least one of them near a bound of the dtype's range."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([True, True, False] if second else [True, False, True])
    if kind in "iu":
        top = int(np.iinfo(dtype).max)
        low = int(np.iinfo(dtype).min)
        return np.array([3, top, 5] if second else [top - 1, low + 2 if low else 7, 2], dtype)
    if kind == "f":
        return np.array([3.5, -0.25, 2.0] if second else [-1.5, 7.25, 2.0], dtype)
    return np.array([1 - 2j, 0.5, 3j] if second else [1.5 + 1j, -2j, 2.0], dtype)


def operand(kind: str, dtype: str, second: bool) -> Any:
    values = array(dtype, second)
    return {"array": values, "scalar": values[1 if second else 0], "0-d": np.array(values[0])}[kind]


def python_numbers(kind: str) -> list[Any]:
    return {
        "bool": [True, False],
        "int": [1, -1, 3, 300, -70000, 2**40],
        "float": [0.5, -3.0, 1e300],
        "complex": [1 + 2j],
    }[kind]


# ---------------------------------------------------------------- cases


@dataclass(frozen=True)
class Case:
    """`body` is an expression, or a statement that changes `a`."""

    body: str
    args: tuple[Any, ...]
    label: str

    @property
    def statement(self) -> bool:
        return self.body in _STATEMENTS

    def lines(self) -> list[str]:
        return [self.body, "return a"] if self.statement else [f"return {self.body}"]

    def __str__(self) -> str:
        return f"{self.label}: {self.body}"


_STATEMENTS = {*INPLACE, *ASSIGNED, *WRITES}


def groups() -> Iterator[tuple[tuple[Any, ...], str, list[str]]]:
    """Arguments, their label and the bodies to run on them."""
    for one, two in itertools.product(DTYPES, DTYPES):
        for p, q in itertools.product(("array", "scalar", "0-d"), repeat=2):
            args = operand(p, one, False), operand(q, two, True)
            bodies = BINARY + (ARRAYS + INPLACE if p == q == "array" else [])
            if p == "scalar" and q == "scalar":
                bodies = [*bodies, "min(a, b)", "max(a, b)"]
            yield args, f"{p} {one}, {q} {two}", bodies
    for one, two in itertools.product(DTYPES, PYTHON):
        for p in ("array", "scalar", "0-d"):
            for number in python_numbers(two):
                x = operand(p, one, False)
                yield (x, number), f"{p} {one}, {number!r}", BINARY
                yield (number, x), f"{number!r}, {p} {one}", BINARY
                if p == "array":
                    yield (x, number), f"write {one}, {number!r}", WRITES
    for dtype in DTYPES:
        for p in ("array", "scalar", "0-d"):
            yield (operand(p, dtype, False),), f"{p} {dtype}", UNARY
        yield (operand("array", dtype, False),), f"array {dtype}", [*REDUCED, *ASSIGNED]
    for number in [n for kind in PYTHON for n in python_numbers(kind)]:
        yield (number,), f"{number!r}", [*UNARY, "max(a, 7)", "np.sum(a)", "np.array([a, 1])"]
    yield (0,), "constants", [*CONVERSIONS, *CREATIONS, *PLAIN]


# ---------------------------------------------------------------- judging


def expected(case: Case) -> Any:
    """The outcome under CPython: the result, or the exception."""
    source = "def f({}):\n{}".format(
        ", ".join("ab"[: len(case.args)]), "".join(f"    {line}\n" for line in case.lines())
    )
    scope: dict[str, Any] = {"np": np}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            exec(source, scope)
            return scope["f"](*_copied(case.args))
        except Exception as error:
            return error


def _copied(args: Sequence[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


@dataclass
class Report:
    """The cases by outcome: "right", "refused", "deviation", "wrong" or "internal"."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, verdict: str, case: Case, told: str = "") -> None:
        self.counts[verdict] += 1
        if verdict in ("wrong", "internal"):
            self.failures.append(f"{verdict}: {case}: {told}")


def judge(cases: Sequence[Case], backend: str, folder: Path) -> Report:
    """Run all cases, those over the same arguments in as few calls as possible."""
    report = Report()
    together: dict[str, list[tuple[Case, Any]]] = {}
    alone: list[tuple[Case, Any]] = []
    for case in cases:
        wanted = expected(case)
        if isinstance(wanted, Exception) or case.statement:
            alone.append((case, wanted))
        else:
            together.setdefault(case.label, []).append((case, wanted))
    for batch in together.values():
        _run_batch(batch, backend, folder, report)
    for item in alone:
        _run_batch([item], backend, folder, report)
    return report


def _run_batch(batch: list[tuple[Case, Any]], backend: str, folder: Path, report: Report) -> None:
    """Compile the batch as one function; if that fails, in halves."""
    results = _call([case for case, _ in batch], backend, folder)
    if isinstance(results, Exception) and len(batch) > 1:
        middle = len(batch) // 2
        _run_batch(batch[:middle], backend, folder, report)
        _run_batch(batch[middle:], backend, folder, report)
        return
    for i, (case, wanted) in enumerate(batch):
        found = results if isinstance(results, Exception) else results[i]
        report.add(*_verdict(case, found, wanted))


def _call(cases: list[Case], backend: str, folder: Path) -> Any:
    names = ", ".join("ab"[: len(cases[0].args)])
    if cases[0].statement:
        body = "".join(f"    {line}\n" for line in [cases[0].body, "return (a,)"])
    else:
        body = "    return (\n" + "".join(f"        {case.body},\n" for case in cases) + "    )\n"
    path = folder / f"program_{next(_NUMBERS)}.py"
    path.write_text(f"import numpy as np\n\n\ndef f({names}):\n{body}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
        try:
            return s2s.function(module.f, backend=backend)(*_copied(cases[0].args))
        except Exception as error:
            return error
        finally:
            path.unlink()


_NUMBERS = itertools.count()


def _verdict(case: Case, found: Any, wanted: Any) -> tuple[str, Case, str]:
    told = f"got {found!r}, expected {wanted!r}"
    if isinstance(found, s2s.UnsupportedError):
        return "refused", case, told
    if isinstance(found, s2s.InternalCompilerError):
        return "internal", case, told
    if isinstance(found, Exception) and isinstance(wanted, Exception):
        expected_class = next(k for k in type(wanted).__mro__ if k.__module__ == "builtins")
        return "right" if isinstance(found, expected_class) else "wrong", case, told
    failed = isinstance(found, Exception) or isinstance(wanted, Exception)
    if not failed and same(found, wanted):
        return "right", case, told
    return "deviation" if deviates(case, found, wanted) else "wrong", case, told


def deviates(case: Case, found: Any, wanted: Any) -> bool:
    """True for a documented difference from NumPy (docs/language.md)."""
    if isinstance(found, OverflowError):
        # `np.where` wraps a Python integer that does not fit; here it raises.
        return case.body.startswith("np.where")
    if all(type(a) in (bool, int, float, complex) for a in case.args):
        # Python's integers have 64 bits, its floats give inf and nan where Python raises, and a
        # root of a negative number is nan.
        return not isinstance(wanted, (np.generic, np.ndarray))
    if case.body.startswith(("max(", "min(")) and not isinstance(wanted, Exception):
        # One dtype holds both operands.
        return found == wanted
    return False


def same(found: Any, wanted: Any) -> bool:
    """True if dtype, shape and values agree: integers exactly, floats within rounding."""
    p, q = np.asarray(found), np.asarray(wanted)
    if p.dtype != q.dtype or p.shape != q.shape:
        return False
    if p.dtype.kind not in "fc":
        return bool(np.array_equal(p, q))
    with np.errstate(all="ignore"):
        rtol = 3e-6 if p.dtype.itemsize <= (4 if p.dtype.kind == "f" else 8) else 1e-11
        return bool(np.allclose(p, q, rtol=rtol, atol=1e-12, equal_nan=True))

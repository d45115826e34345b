"""Compares a program with CPython: the outcome must be equal, or the program refused with its
line."""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import s2s
from tests import oracle

_numbers = itertools.count()
_HEADER = "import math\nimport numpy as np\n\n\n"

# Errors of CPython that compiled arithmetic does not raise (docs/language.md, "Numbers").
NOT_RAISED = (ZeroDivisionError, OverflowError)


@dataclass
class Verdict:
    """`kind` is "right", "refused", "wrong" or "internal"; only the first two are allowed."""

    kind: str
    text: str = ""

    @property
    def allowed(self) -> bool:
        return self.kind in ("right", "refused")


@dataclass
class Outcome:
    """The outcome of a call: its value or error, the arguments afterwards, and the printed text."""

    value: Any
    error: Exception | None
    arguments: tuple[Any, ...]
    printed: str


def load(source: str) -> dict[str, Any]:
    """The namespace of a module with this source, which gets a unique file name."""
    file = f"<beside {next(_numbers)}>"
    text = _HEADER + source
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "beside"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, file, "exec", dont_inherit=True), names)
    return names


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    mine = oracle.copy_tree(args)
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        try:
            value, error = function(*mine), None
        except Exception as caught:
            value, error = None, caught
    return Outcome(value, error, mine, printed.getvalue())


def judge(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    backend: str = "loops",
    widened: bool = False,
    **options: Any,
) -> Verdict:
    """Compare the value, the error, the arguments afterwards and the printed text.  `widened`: a
    scalar that is one of two may have the wider type of both."""
    expected = outcome(function, args)
    actual = outcome(s2s.function(function, backend=backend, **options), args)
    return compare(actual, expected, widened)


def judge_source(source: str, args: tuple[Any, ...], **options: Any) -> Verdict:
    return judge(load(source)["f"], args, **options)


def judge_gradient(function: Callable[..., Any], args: tuple[Any, ...]) -> Verdict:
    """Compare the gradient with respect to the first argument with finite differences, unless the
    program fails."""
    if outcome(function, args).error is not None:
        return Verdict("right")
    actual = outcome(s2s.grad(function, backend="loops"), args)
    if isinstance(actual.error, s2s.errors.S2SError):
        return compare(actual, actual)
    if actual.error is not None:
        return Verdict("wrong", repr(actual.error))
    (expected,) = oracle.finite_differences(function, args)
    close = np.allclose(actual.value, expected, rtol=1e-5, atol=1e-6, equal_nan=True)
    return Verdict("right" if close else "wrong", f"{actual.value!r}, differences {expected!r}")


def compare(actual: Outcome, expected: Outcome, widened: bool = False) -> Verdict:
    error = actual.error
    if isinstance(error, s2s.InternalCompilerError):
        return Verdict("internal", str(error))
    if isinstance(error, (s2s.UnsupportedError, s2s.errors.S2SError)):
        located = error.line is not None and error.source_line
        return Verdict("refused" if located else "internal", str(error))
    if expected.error is not None:
        if error is None:
            if isinstance(expected.error, NOT_RAISED):
                return Verdict("right")
            return Verdict("wrong", f"{actual.value!r}, CPython raises {expected.error!r}")
        if not isinstance(error, _builtin(type(expected.error))):
            return Verdict("wrong", f"raises {error!r}, CPython {expected.error!r}")
        return Verdict("right")
    if error is not None:
        return Verdict("wrong", f"raises {error!r}, CPython gives {expected.value!r}")
    wider = widened and isinstance(expected.value, (bool, int, np.bool_, np.integer))
    value = type(actual.value)(expected.value) if wider else expected.value
    if not same(actual.value, value):
        return Verdict("wrong", f"{actual.value!r}, CPython gives {expected.value!r}")
    if not same(actual.arguments, expected.arguments):
        return Verdict("wrong", f"arguments {actual.arguments!r}, expected {expected.arguments!r}")
    if actual.printed != expected.printed:
        return Verdict("wrong", f"prints {actual.printed!r}, expected {expected.printed!r}")
    return Verdict("right")


def _builtin(error: type[Exception]) -> type[Exception]:
    """The built-in exception class that a NumPy exception class derives from."""
    return next(c for c in error.__mro__ if c.__module__ == "builtins")


def same(actual: Any, expected: Any) -> bool:
    """True for equal containers, shapes, dtypes and values; NumPy scalars equal Python scalars."""
    if isinstance(expected, (list, tuple)):
        return (
            type(actual) is type(expected)
            and len(actual) == len(expected)
            and all(map(same, actual, expected))
        )
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and list(actual) == list(expected)
            and all(same(actual[k], expected[k]) for k in expected)
        )
    if isinstance(expected, np.ndarray):
        return (
            isinstance(actual, np.ndarray)
            and actual.dtype == expected.dtype
            and actual.shape == expected.shape
            and bool(_close(actual, expected))
        )
    if isinstance(expected, (bool, int, float, complex, np.generic)):
        if isinstance(actual, (np.ndarray, list, tuple, dict, str, type(None))):
            return False
        kinds = np.asarray(actual).dtype.kind, np.asarray(expected).dtype.kind
        return kinds[0] == kinds[1] and bool(_close(actual, expected))
    return type(actual) is type(expected) and bool(actual == expected)


def _close(actual: Any, expected: Any) -> Any:
    if np.asarray(expected).dtype.kind in "fc":
        return np.allclose(actual, expected, rtol=1e-12, atol=1e-12, equal_nan=True)
    return np.array_equal(actual, expected)

"""Errors as users meet them: public names, the same in tracebacks and in other processes."""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
import pickle
import re
import traceback
from pathlib import Path

import numpy as np
import pytest

import s2s
from s2s.testing import Report

ROOT = Path(__file__).resolve().parents[2]

# Exceptions that never reach users, by file.
INTERNAL = {
    "s2s/aot/loader_runtime.py": {"LibraryError"},  # public, but of the generated loader
    "s2s/backends/native/call_bytecode.py": {"_Untranslatable"},
    "s2s/cache/stable_identity.py": {"Unstorable"},
    "s2s/cli/check_tape.py": {"_GradientQuery"},
    "s2s/cli/exit_codes.py": {"CommandError"},
    "s2s/cli/memory_trace.py": {"_TimeLimitReached"},
    "s2s/codegen/type_inference.py": {"NeedsNumba", "ReturnsArgument", "Unsupported"},
    "s2s/cuda/emulator.py": {"DivergentBarrier"},  # a bug of s2s, found by its tests
    "s2s/cuda/shadow_memory.py": {"MemoryViolation"},
    "s2s/errors.py": {"ArgumentMismatch", "Overlap", "SizeGuardFailed"},
    "s2s/kernels/__init__.py": {"Failure"},  # `errors.translate` raises the program's error
    "s2s/runtime/jit_link.py": {"Unlinkable"},
}
BASES = {
    "BuildError": RuntimeError,
    "CacheError": OSError,
    "DeviceError": RuntimeError,
    "InternalCompilerError": RuntimeError,
    "NonFiniteError": FloatingPointError,
    "RecompilationWarning": UserWarning,
    "S2SError": Exception,
    "S2SLinAlgError": np.linalg.LinAlgError,
    "S2STypeError": TypeError,
    "S2SValueError": ValueError,
    "SourceError": OSError,
    "UnsupportedError": NotImplementedError,
    "VersionError": RuntimeError,
    "WrongGradient": AssertionError,
}


def exceptions(top: str) -> dict[str, set[str]]:
    """The exception classes by file: classes with a base that is one, by name."""
    classes = []
    for path in sorted((ROOT / top).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if not file.startswith("s2s/transforms/"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    bases = {ast.unparse(b).rpartition(".")[2] for b in node.bases}
                    classes.append((file, node.name, bases))
    known = {n for n, v in vars(builtins).items() if isinstance(v, type)}
    known = {n for n in known if issubclass(getattr(builtins, n), BaseException)}
    known |= {"LinAlgError", "S2SError", "S2SValueError"}
    size = 0
    while len(known) > size:
        size = len(known)
        known |= {name for _, name, bases in classes if bases & known}
    found: dict[str, set[str]] = {}
    for file, name, bases in classes:
        if bases & known:
            found.setdefault(file, set()).add(name)
    return found


def test_every_exception_is_public_or_internal() -> None:
    found = exceptions("s2s")
    public = {name for names in found.values() for name in names if name in BASES}
    assert {file: names - public for file, names in found.items() if names - public} == INTERNAL
    for file, names in exceptions("transforms").items():
        if file == "transforms/ir/errors.py":
            public |= names
            continue
        # The compiler raises what users see from this file only; others are its control flow.
        module = importlib.import_module(f"s2s.{file[:-3].replace('/', '.')}")
        assert not any(issubclass(getattr(module, name), s2s.S2SError) for name in names), file
    assert public == set(BASES) == set(s2s.errors.__all__)


@pytest.mark.parametrize("name", BASES)
def test_public_exceptions(name: str) -> None:
    kind = getattr(s2s, name)
    assert getattr(s2s.errors, name) is kind and name in s2s.__all__
    assert issubclass(kind, BASES[name]) and (kind.__module__, kind.__qualname__) == ("s2s", name)
    assert issubclass(kind, s2s.S2SError) or issubclass(kind, Warning)
    assert pickle.loads(pickle.dumps(kind)) is kind


def samples() -> list[Exception]:
    place = {
        "span": s2s.transforms.ir.nodes.Span("model.py", 3, 4, 3, 9),
        "source_line": "    x = 1.0\n",
        "advice": "a long advice, which the message of an error about NaN wraps into lines of a "
        "width that fits a terminal",
    }
    plain = [
        kind(f"what {name} is about", **place)
        for name, kind in ((n, getattr(s2s, n)) for n in BASES)
        if name not in ("NonFiniteError", "RecompilationWarning", "WrongGradient")
    ]
    return [
        *plain,
        s2s.NonFiniteError("a NaN", ["x[3] is inf", "y is 0.0"], **place),
        s2s.WrongGradient(Report("loss", checked=3)),
        s2s.RecompilationWarning("loss was compiled 9 times"),
    ]


@pytest.mark.parametrize("error", samples(), ids=lambda e: type(e).__name__)
def test_errors_survive_pickling_and_copying(error: Exception) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is type(error) and str(again) == str(error) != ""
        assert again.args == error.args and vars(again) == vars(error)
        assert traceback.format_exception_only(again) == traceback.format_exception_only(error)
    assert str(copy.copy(error)) == str(error)
    shown = "".join(traceback.format_exception_only(error))
    assert shown.startswith(f"s2s.{type(error).__name__}: ")


def test_the_page_describes_every_exception() -> None:
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `s2s\.(\w+)` \| `([\w.]+)` \|", page, re.M))
    bases = {k: f"{v.__name__}".replace("LinAlg", "np.linalg.LinAlg") for k, v in BASES.items()}
    assert rows == bases


# ---------------------------------------------------------------- as they are raised


def a_set(x):
    return x * len({x, 2.0})


@pytest.mark.parametrize(
    "call, kind, shown",
    [
        (lambda: s2s.grad(a_set)(1.0), s2s.UnsupportedError, "s2s.UnsupportedError: "),
        (lambda: s2s.grad(np.sin)(1.0), s2s.SourceError, "s2s.SourceError: "),
        (lambda: s2s.grad(a_set)(3), TypeError, "s2s.S2STypeError: x is int"),
        (lambda: s2s.grad(a_set, backend="gpu"), ValueError, "s2s.S2SValueError: "),
    ],
)
def test_names(call, kind, shown) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert "".join(traceback.format_exception_only(caught.value)).startswith(shown)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is caught.type and str(again) == str(caught.value)
    assert again.advice == caught.value.advice


def test_a_wrong_gradient_is_an_assertion_and_an_error_of_s2s() -> None:
    @s2s.custom_gradient
    def doubled(x):
        return x * x, lambda out_bar: 3.0 * out_bar * x

    with pytest.raises(s2s.WrongGradient) as caught:
        s2s.check_grads(lambda x: doubled(x), 2.0, backend="loops")
    assert isinstance(caught.value, AssertionError) and isinstance(caught.value, s2s.S2SError)
    assert not caught.value.report.ok and caught.value.report.worst.reverse == 6.0


def test_what_a_list_does_not_hold_is_missed_when_the_run_comes_there() -> None:
    def chosen(x):
        known = [1, 2, 3]
        if x[0] > 100.0:
            return x[known.index(7)]
        return np.sum(x * x)

    gradient, x = s2s.grad(chosen, backend="loops"), np.arange(3.0)
    np.testing.assert_array_equal(gradient(x), 2.0 * x)
    with pytest.raises(ValueError, match="not in the list"):
        gradient(x + 200.0)


def test_text_of_a_nonfinite_error() -> None:
    error = s2s.NonFiniteError("log(0) is -inf", ["x is 0.0", "in iteration 3"], advice="use log1p")
    assert str(error) == "log(0) is -inf\n  x is 0.0\n  in iteration 3\nhelp: use log1p"
    assert isinstance(error, FloatingPointError) and isinstance(error, s2s.S2SError)
    assert error.details == ["x is 0.0", "in iteration 3"]
    assert str(s2s.NonFiniteError("bad", [])) == "bad"


def test_long_advice_of_a_nonfinite_error_is_wrapped() -> None:
    text = str(s2s.NonFiniteError("bad", [], advice="word " * 40))
    lines = text.splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 88 and lines[2].startswith("  word")

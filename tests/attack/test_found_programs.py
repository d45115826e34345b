"""Programs that `tests.fuzz.frontend` found, by class: the outcome of CPython, or a refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from tests.attack.beside import judge_source, load

X = np.array([0.5, 1.5, 2.5])
SIX = np.arange(6.0)
I8, U8, U16, F32 = np.int8(100), np.uint8(200), np.uint16(300), np.float32(1.5)

# Lists that loops make anew, arguments of methods and iterators.
FUNCTIONS_OF_X = {
    "a_list_that_grows_and_is_made_anew": """
def f(x):
    stack = [x[0]]
    for i in range(1, 3):
        if stack and stack[-1] > x[i]:
            stack.pop()
        stack.append(x[i])
        stack = [x[0]]
    return sum(stack)
""",
    "fill_with_a_sequence": """
def f(x):
    y = x * 1.0
    y.fill(x ** 2)
    return y.sum()
""",
    "fill_with_a_list": """
def f(x):
    y = x * 1.0
    y.fill([1.0])
    return y.sum()
""",
    "fill_with_a_number": """
def f(x):
    y = x * 1.0
    y.fill(x[0] ** 2)
    return y.sum()
""",
    "keyword_of_ndindex": """
def f(x):
    s = x[0]
    for i in np.ndindex(2, axis=(0, 1)):
        s = s + x[i]
    return s
""",
}
# Errors in code that is not executed: a loop or comprehension without elements.
NOT_REACHED = [
    ("x + sum([missing for i in range(n)])", (1.0, 0)),
    ("x + sum([(lambda y: y)(1.0, 2.0) for i in range(n)])", (1.0, 0)),
    ("x + sum([g(x, x, q=1) for c in [x for i in range(n)]])", (1.0, 0)),
    ("x + sum([x for y in [1.0, 2.0] if n == 3])", (1.0, 0)),
    ("x + sum([missing for i in range(n)])", (1.0, 2)),
]
# Sizes of -1 that are known at run time only.
RESHAPED = [
    (f"x.reshape({sizes})", (SIX, *given))
    for sizes in ("n, 3", "3, n", "n, -1", "(n,)", "n", "n - 1, 3", "n, m")
    for given in ((-1, 2), (2, -1), (2, 3), (0, 1), (6, 1), (-1, -1), (-2, 3), (3, 2))
]
RESHAPED += [
    (f"x.reshape({sizes})", (SIX, np.array(given)))
    for sizes in ("n[0], 3", "n[0], n[1]", "n[0], -1", "int(n[0]), 3")
    for given in ((-1, 2), (2, -1), (2, 3), (0, 1), (-1, -1))
]
# Numbers of different integer dtypes in one sequence.
MIXED_INTEGERS = [
    (text, given)
    for text in (
        "[x, y][n] * 100",
        "(x, y)[n] * 100",
        "(x, 3)[n] * 100",
        "np.array([x, y])",
        "np.array([x, y, 1])",
        "np.array([[x, 1], [y, 2]])",
        "np.array([x, y, True])",
        "np.stack([x, y])",
        "sum([x, y])",
        "np.max([x, y])",
        "max(x, y)",
        "np.array([x, 300])",
        "[v * 2 for v in (x, y)]",
    )
    for given in ((I8, U16, 0), (I8, U16, 1), (U8, I8, 0), (np.uint64(2), I8, 1), (I8, 3, 1))
]
# Conversions and comparisons that fail at compile time.
CONSTANTS = [
    (text, (1.0,))
    for text in (
        "int(1j)",
        "float(1j)",
        "int(float('nan'))",
        "int(float('inf'))",
        "float('a')",
        "list(map(float, ['a', '1']))",
        "x + int('12')",
        "x + float('1.5')",
        "max(1j, 2)",
        "sorted([1j, 2])",
        "isinstance(x, 5)",
        "np.dtype(4)",
        "pow(2, -1, 5)",
        "pow(3, 200, 7)",
        "pow(2.0, 3, 5)",
        "np.power(x, 2, dtype=complex)",
        "{'k': x}.items(nosuch=1)",
        "[x].copy(nosuch=1)",
        "[x].pop(0.0)",
        "[1.0, 2.0][:2.0]",
        "[1.0, 2.0][1j:]",
        "np.sort([x, 2.0], out=None)",
        "[1.0, 2.0][::0]",
        "len(range(np.bool_(True)))",
        "len(range(True))",
        "(np.ones(2), x) == (np.zeros(2), x, 2.0)",
        "(x, 2.0) == (x, 2.0, 3.0)",
        "[np.ones(2), x] == [np.zeros(2), x, 2.0]",
        "(1.0, 2.0) * 2**62",
        "'ab' * 2**62",
    )
]
# Integers on one path and floats on another where an integer is needed.
JOINED = [
    ("a = 0 if n else 1.5\n    return x[a]", (X, True)),
    ("a = 0 if n else 1.5\n    return x[:a]", (X, True)),
    ("a = 0 if n else 1.5\n    return [1.0, 2.0][a]", (X, True)),
    ("a = 1 if n else 1.5\n    return len(range(a + 1))", (X, True)),
    ("k = 0\n    while k < n:\n        for j in range(k + 1):\n            x = x + j\n"
     "        k += 1e300\n    return x", (X, 3)),
]  # fmt: skip
STATEMENTS = [
    ("x[0] = (n,)\n    return x", (X, 2.0)),
    ("x[0] = [n]\n    return x", (X, 2.0)),
    ("x[0:1] = [n]\n    return x", (X, 2.0)),
    ("h = [x, x]\n    for i in range(n):\n        h.append(h[x + 1])\n    return h[-1]", (0.5, 2)),
    ("h = [x, x]\n    h[x] = 1.0\n    return h[-1]", (0.5, 2)),
    ("q = [1.0, 2.0]\n    for v in q:\n        x += v\n        q += q.copy()\n"
     "        if x > 5:\n            break\n    return x", (1.0,)),
    ("x.fill((n, n))\n    return x", (X, 1.0)),
    ("return np.clip(x, 1)", (X,)),
    ("return np.clip(x, 1, 2, min=0)", (X,)),
    ("return np.clip(x, min=1)", (X,)),
    ("return np.clip(x, a_max=1)", (X,)),
    ("p = [1.0, 2.0]\n    r = [1.0]\n    return len((p * 2) if n else [*r])", (X, True)),
    ("return len({'a': 1.0} if n else {})", (X, True)),
    ("rest = [x]\n    for i in range(n):\n        rest.append(x * i)\n"
     "    return np.stack(rest, dtype=int)", (X, 2)),
    ("rest = [x]\n    for i in range(n):\n        rest.append(x * i)\n"
     "    return np.stack(rest, dtype=np.float32)", (X, 2)),
    ("rest = [x]\n    for i in range(n):\n        rest.append(x * i)\n"
     "    return np.concatenate(rest, dtype=int, casting='unsafe')", (X, 2)),
]  # fmt: skip
# Sequences that cannot be arrays, because their elements have different shapes.
INHOMOGENEOUS = [
    (f"{function}(x)", (given,))
    for function in ("np.sum", "np.array", "np.exp", "np.stack")
    for given in ((X, (2.0, X)), (X, (2.0,)), (1.0, (2.0,)), [X, 1.0], [1.0, X], [X, [1.0] * 3],
                  [[1.0], [2.0, 3.0]], [X, np.ones((2, 3))], [[], [1.0]])
]  # fmt: skip
EXPRESSIONS = [*NOT_REACHED, *RESHAPED, *MIXED_INTEGERS, *CONSTANTS, *INHOMOGENEOUS]
PROGRAMS = [(f"return {text}", args) for text, args in EXPRESSIONS] + [*JOINED, *STATEMENTS]


def source_of(body: str, args: tuple[Any, ...]) -> str:
    names = ("x", "y", "n") if len(args) == 3 and "y" in body else ("x", "n", "m")
    head = "def g(a, b):\n    return a\n\n\n"
    lines = body if body.startswith(("return", "a =", "k =")) or "\n" in body else f"return {body}"
    return f"{head}def f({', '.join(names[: len(args)])}):\n    {lines}\n"


def test_found_programs() -> None:
    found = {k: judge_source(source_of(*program), program[1]) for k, program in enumerate(PROGRAMS)}
    wrong = [f"{PROGRAMS[k]}: {v.text}" for k, v in found.items() if not v.allowed]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("backend", ["loops", "numba"])
def test_size_argument_changes_its_sign(backend: str) -> None:
    """A negative size is another specialisation, distinguished by a guard."""
    f = load("def f(x, n):\n    return np.sum(x.reshape(n, 3)[1] ** 2)\n")["f"]
    gradient = s2s.grad(f, backend=backend)
    for n in (2, -1, 2, -2):
        np.testing.assert_allclose(gradient(SIX, n), [0, 0, 0, 6, 8, 10])
    with pytest.raises(ValueError, match="cannot reshape"):
        gradient(SIX, 4)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_extreme_of_a_large_python_float(name: str, dtype: Any) -> None:
    """A Python float combined with a small float dtype is rounded to it and does not become
    infinite."""
    f = s2s.function(load(f"def f(x, y):\n    return {name}(x, y)\n")["f"], backend="loops")
    large = 1e300 if name == "max" else -1e300
    with pytest.raises(OverflowError, match="is too large for float"):
        f(large, dtype(1.5))
    assert f(0.25, dtype(1.5)) == (1.5 if name == "max" else 0.25)


def test_vectorized_function_with_an_array_for_its_result() -> None:
    """The third argument is `out`: it is refused, not counted as a superfluous argument."""
    nb = pytest.importorskip("numba")

    @nb.vectorize([nb.float64(nb.float64, nb.float64)])
    def difference(x: Any, y: Any) -> Any:
        return x - y

    names = load("def f(x, y):\n    return np.sum(difference(x, y, x))\n")
    names["difference"] = difference
    with pytest.raises(s2s.UnsupportedError, match="an array for its result"):
        s2s.function(names["f"], backend="loops")(X, X)


def abandoned_loop(s: Any, n: Any) -> Any:
    for i in range(n):
        if i:
            s = 3
    return s


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("backend", ["loops", "python", None])
def test_number_is_an_integer_after_some_iterations(backend: Any, n: int) -> None:
    """The first attempt assumes that `s` stays a float; its definitions must be discarded."""
    assert s2s.function(abandoned_loop, backend=backend)(-0.75, n) == abandoned_loop(-0.75, n)


# Functions that give an array of rank 0 for a scalar, and such that give a scalar.
RANK_0 = (
    "np.where(x > 0, x, 2 * x)", "np.zeros_like(x)", "np.ones_like(x)", "np.full_like(x, 3.0)",
    "np.copy(x)", "np.squeeze(x)", "np.transpose(x)", "np.select([x > 0], [x], 0.0)",
    "np.tensordot(x, x, 0)", "np.i0(x)", "np.moveaxis(x, (), ())", "np.vectorize(lambda v: v)(x)",
)  # fmt: skip
SCALARS = ("np.nan_to_num(x)", "np.sinc(x)", "np.median(x)", "np.abs(x)", "np.clip(x, 0, 1)")


@pytest.mark.parametrize("call", [*RANK_0, *SCALARS])
@pytest.mark.parametrize(
    "after",
    [
        "t += 1.0",
        "u = t\n    u += 1.0",
        "u = [t]\n    u[0] *= 3.0",
        "u = (t,)\n    t -= 1.0\n    t = t + u[0]",
        "def inner(v):\n        v += 1.0\n        return v\n    t = t + inner(t)",
        "for _ in range(3):\n        t *= 2.0",
    ],
)
def test_updates_of_arrays_of_rank_0(call: str, after: str) -> None:
    """An update in place changes all names of an array and one name of a scalar.  It is followed or
    refused."""
    source = f"def f(x):\n    t = {call}\n    {after}\n    return t\n"
    f = load(source)["f"]
    want = float(f(np.float64(0.5)))
    try:
        got = float(s2s.function(f, backend="loops")(np.float64(0.5)))
    except s2s.UnsupportedError as error:
        assert call in RANK_0 and "another name" in str(error)
        return
    assert got == pytest.approx(want, rel=1e-12)


def test_arrays_of_rank_0_of_two_branches() -> None:
    def f(x):  # type: ignore[no-untyped-def]
        t = np.where(x > 0.0, x, 0.0) if x > 1.0 else np.copy(x)
        u = t
        u += 1.0
        return t

    with pytest.raises(s2s.UnsupportedError, match="another name"):
        s2s.function(f, backend="loops")(2.0)


@pytest.mark.parametrize("name", FUNCTIONS_OF_X)
def test_functions_of_x(name: str) -> None:
    found = judge_source(FUNCTIONS_OF_X[name], (X,))
    assert found.kind == "right", found.text


def partial_of_nothing(x):
    import functools

    f = functools.partial(a=3.0)
    return f(x)


def where_is_an_array(x):
    return x if isinstance(np.where(x > 0, x, 0.0), float) else 2.0 * x


def test_partial_without_a_function_raises_as_in_python():
    with pytest.raises(TypeError, match="at least one argument"):
        s2s.function(partial_of_nothing, backend="loops")(1.5)


def test_arrays_of_rank_0_are_no_floats():
    assert s2s.function(where_is_an_array, backend="loops")(1.5) == where_is_an_array(1.5) == 3.0

"""Every operator on every pair of kinds of operands has the outcome of CPython, or is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.attack.beside import Verdict, judge_gradient, judge_source, load
from tests.scale import sample

# The operands: an argument, or the text of an expression.
ARGUMENTS: dict[str, Any] = {
    "1-d": np.array([1.0, 0.0, 2.5]),
    "2-d": np.array([[1.0, 0.0, 2.5], [3.0, 1.0, -1.0]]),
    "0-d": np.array(2.0),
    "empty": np.zeros(0),
    "ints": np.array([1, 0, 2]),
    "int8": np.array([1, 0, 2], np.int8),
    "bools": np.array([True, False, True]),
    "float": 2.5,
    "int": 2,
    "bool": True,
    "np.float64": np.float64(2.5),
    "np.int64": np.int64(2),
    "np.bool_": np.bool_(True),
    "given list": [1.0, 0.0, 2.5],
    "given tuple": (1.0, 0.0, 2.5),
    "given nested list": [[1.0, 0.0, 2.5], [3.0, 1.0, -1.0]],
    "given None": None,
    "given str": "ab",
    "given dict": {"k": 1.0},
}
EXPRESSIONS = (
    "2.5", "2", "0", "True", "[1.0, 0.0, 2.5]", "[1, 0, 2]", "(1.0, 0.0, 2.5)", "(1, 0, 2)", "[]",
    "()", "[[1.0, 0.0, 2.5], [3.0, 1.0, -1.0]]", "None", "'ab'", "b'ab'", "{'k': 1.0}", "{}",
    "[np.array([1.0, 0.0, 2.5]), np.array([0.0, 1.0, 2.0])]", "np.float64(2.5)", "range(3)", "...",
    "math.sin", "{'k': 1.0}.keys()", "zip([1.0], [2.0])",
)  # fmt: skip
KINDS = (*ARGUMENTS, *EXPRESSIONS)
ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>")
OTHERS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not", "and", "or")
UNARY = ("-", "+", "~", "not ", "bool", "len", "abs")
# The dtype of a power of bools is tested with promotion, not here.
LEFT_OUT = {("**", "bools", "int"), ("**", "bools", "2"), ("**", "bools", "0")}

PROGRAMS = [
    *((form, op, p, q) for form in ("value", "statement")
      for op in (ARITHMETIC if form == "statement" else (*ARITHMETIC, *OTHERS))
      for p in KINDS for q in KINDS if (op, p, q) not in LEFT_OUT),
    *(("unary", op, p, "") for op in UNARY for p in KINDS),
]  # fmt: skip


def program(form: str, op: str, p: str, q: str) -> tuple[str, tuple[Any, ...]]:
    """The source of a function, and its arguments."""
    given = {name: kind for name, kind in (("p", p), ("q", q)) if kind in ARGUMENTS}
    left, right = (n if n in given else k for n, k in (("p", p), ("q", q)))
    if form == "unary":
        body = f"return {op}({left})"
    elif form == "value":
        body = f"return {left} {op} {right}"
    else:
        body = f"v = {left}\n    w = v\n    v {op}= {right}\n    return v, w"
    values = [ARGUMENTS[kind] for kind in given.values()]
    values = [np.copy(a) if isinstance(a, np.ndarray) else a for a in values]
    parameters = ", ".join(given) or "unused"
    return f"def f({parameters}):\n    {body}\n", tuple(values) or (1.0,)


def verdict(form: str, op: str, p: str, q: str) -> Verdict:
    source, args = program(form, op, p, q)
    return judge_source(source, args, widened=op in ("and", "or"))


def test_operators_on_all_pairs_of_operands() -> None:
    cases = sample(PROGRAMS, 1200, seed=17)
    found = {case: verdict(*case) for case in cases}
    bad = [f"{case}: {v.kind}: {v.text}" for case, v in found.items() if not v.allowed]
    assert not bad, f"{len(bad)} of {len(cases)}:\n" + "\n".join(bad[:20])
    kinds = [v.kind for v in found.values()]
    assert kinds.count("right") > len(cases) / 4


V = np.array([1.0, 0.0, 1.0])
RIGHT = {
    "list": ("def f(v):\n    return v == [1, 0, 1]\n", (V,)),
    "tuple": ("def f(v):\n    return v != (1.0, 5.0, 1.0)\n", (V,)),
    "none": ("def f(v):\n    return v != None\n", (V,)),
    "text": ("def f(v):\n    return 'a' == v\n", (V,)),
    "list_first": ("def f(v):\n    return [0.5, 0.5, 0.5] < v\n", (V,)),
    "nested": ("def f(v):\n    return v == [[1, 0, 1], [0, 0, 1]]\n", (V,)),
    "number_of_numpy": ("def f(v):\n    return v[0] == [1, 0, 1]\n", (V,)),
    "number_of_python": ("def f(a):\n    return a == [1, 0, 1], a == None, a == 'x'\n", (1.0,)),
    "run_time_elements": ("def f(v, a):\n    return v == [a, 0.0, a]\n", (V, 1.0)),
    "counts_in_python": ("def f(a, b):\n    return (a > 0) + (b > 0)\n", (1.0, 2.0)),
    "counts_in_numpy": ("def f(v):\n    return (v[0] > 0) + (v[2] > 0)\n", (V,)),
    "not_is_python": ("def f(v):\n    return (not v[1] > 0) + (not v[1] > 0)\n", (V,)),
    "bool_is_true": ("def f(a):\n    return (a > 0) is True, (a > 0) is not True\n", (1.0,)),
    "numpy_bool_is_not_true": ("def f(v):\n    return (v[0] > 0) is True\n", (V,)),
    "same_element": ("def f(v):\n    a = v[0] * np.nan\n    return [a] == [a], a in [a]\n", (V,)),
    "in_array": ("def f(v):\n    return 1.0 in v, 7.0 in v, 7.0 not in v\n", (V,)),
    "negated_bool": ("def f(b):\n    return -b, +b, ~b, abs(b)\n", (True,)),
    "text_operators": ("def f(a):\n    return len('ab' * 2 + 'c%d' % 30), 'a' < 'b', a\n", (1.0,)),
    "split_text": ("def f(a):\n    return 'a b'.split() == ['a', 'b'], a\n", (1.0,)),
    "ranges": ("def f(a):\n    return range(3) == range(0, 3, 1), range(3) == [0, 1, 2]\n", (1.0,)),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_examples(name: str) -> None:
    found = judge_source(*RIGHT[name])
    assert found.kind == "right", found.text


REFUSED = {
    "views_may_be_one": "def f(v):\n    return v[1:] is v[1:], v\n",
    "one_of_two_arrays": "def f(v):\n    w = v if v[0] > 0 else v.copy()\n    return w is v\n",
    "numbers": "def f(v):\n    a = v[0] * 2\n    b = v[0] * 2\n    return a is b\n",
    "iterator": "def f(v):\n    z = iter([1.0, 2.0])\n    return 1.0 in z, 1.0 in z\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_the_run_can_tell_is_refused(name: str) -> None:
    found = judge_source(REFUSED[name], (V,))
    assert found.kind == "refused", found


def test_two_arguments_may_be_one_array() -> None:
    assert judge_source("def f(p, q):\n    return p is q\n", (V, V)).kind == "refused"


def test_gradients_through_masks_of_comparisons() -> None:
    signs = ("==", "!=", "<", "<=", ">", ">=")
    others = ("[0.5, 0.1, 2.0]", "(1.0, -1.0, 3.0)", "[[0.1, 0.2, 0.3]]")
    for sign, other in itertools.product(signs, others):
        f = load(f"def f(v):\n    return np.sum(np.where(v {sign} {other}, v * v, 3.0 * v))\n")["f"]
        found = judge_gradient(f, (np.array([0.5, 0.3, 2.5]) + 0.01,))
        assert found.kind == "right", (sign, other, found.text)

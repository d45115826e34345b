"""Chains of comparisons: the text before and after, and beside CPython."""

from __future__ import annotations

import pytest

from s2s.transforms.frontend.desugar.chains import expand_chains
from tests.attack.beside import judge_source
from tests.transforms.frontend.core_text import check


def test_text() -> None:
    check(
        expand_chains,
        """
        def f(x):
            y = a < b
            return 0 < f(x) <= 1
        """,
        """
        def f(x):
            y = a < b
            return (let <operand 3:15> = f(x): 0 < <operand 3:15> and <operand 3:15> <= 1)
        """,  # noqa: E501
    )


def test_operands_are_nested() -> None:
    check(
        expand_chains,
        """
        def f(a):
            return a == b(a) == 2 in c
        """,
        """
        def f(a):
            return (let <operand 2:11> = a: (let <operand 2:16> = b(a): <operand 2:11> == <operand 2:16> and (<operand 2:16> == 2 and 2 in c)))
        """,  # noqa: E501
    )


@pytest.mark.parametrize(
    "chain",
    [
        "p(1.0) < p(a) < p(3.0)",
        "p(3.0) < p(a) < p(1.0) < p(5.0)",
        "(a := a + 1.0) < p(a) < (a := 9.0)",
        "0.0 < a < (b := 3.0) and b > 2.0",
        "1.0 <= p(a) <= 2.0 != p(4.0)",
        "all(0.0 < p(v) < 3.0 for v in (a, 2.0))",
        "(lambda: 0.0 < p(a) < 5.0)()",
        "0.0 < (1.0 if 0.5 < p(a) < 7.0 else 2.0) < 3.0",
        "a is a is not None",
        "1.0 in [a, 1.0] == [a, 1.0]",
    ],
)
def test_as_in_python(chain: str) -> None:
    helper = "def p(v):\n    print('p', v > 1.5)\n    return v\n\n\n"
    for value in (0.25, 2.0, 4.0):
        end = "return a * (2.0 if c else 3.0) + b"
        source = f"{helper}def f(a):\n    b = 0.0\n    c = {chain}\n    {end}\n"
        found = judge_source(source, (value,))
        assert found.kind == "right", (chain, value, found.text)

"""Statements that are conditional expressions: the text before and after, and beside CPython."""

from __future__ import annotations

import pytest

from s2s.transforms.frontend.desugar.effect_statements import expand_effects
from tests.attack.beside import judge_source
from tests.transforms.frontend.core_text import check


def test_text() -> None:
    check(
        expand_effects,
        """
        def f(x):
            a(x) and b(x) and c(x)
            a(x) or b(x)
            a(x) if b(x) else c(x) and d(x)
            y = a(x) or b(x)
            a(x)
        """,
        """
        def f(x):
            if a(x) and b(x):
                c(x)
            if not a(x):
                b(x)
            if b(x):
                a(x)
            elif c(x):
                d(x)
            y = a(x) or b(x)
            a(x)
        """,
    )


@pytest.mark.parametrize(
    "statement",
    [
        "a > 0 or print('x')",
        "a > 0 and print('x')",
        "a > 0 and t.append(a)",
        "a > 0 and a > 5 or t.append(a)",
        "print('p') if a > 0 else t.append(a)",
        "a > 0 or (n := n + 1)",
        "t and t[0]",
    ],
)
def test_as_in_python(statement: str) -> None:
    source = f"def f(a):\n    t, n = [], 0\n    {statement}\n    return a + len(t) + n\n"
    found = judge_source(source, (1.0,))
    assert found.kind == "right", found.text

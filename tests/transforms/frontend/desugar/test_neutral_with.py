"""`with` of managers that change nothing: the text, jumps out of it, other functions so named."""

from __future__ import annotations

import contextlib
import warnings
from contextlib import nullcontext
from typing import Any

import pytest

import s2s
from s2s.transforms.frontend.desugar.neutral_with import expand_neutral_with, is_errstate
from tests.transforms.frontend.core_text import check, parse


def test_the_body_stands_under_a_test_of_the_name() -> None:
    refused = "__refused__('{} is not the one of the standard library, and is not supported here')"
    check(
        expand_neutral_with,
        """
        def f(x):
            with nullcontext(g(x)) as y, contextlib.nullcontext():
                return y
        """,
        f"""
        def f(x):
            if nullcontext is nullcontext:
                y = g(x)
                if contextlib.nullcontext is nullcontext:
                    None
                    return y
                else:
                    {refused.format("contextlib.nullcontext")}
            else:
                {refused.format("nullcontext")}
        """,
    )
    check(
        expand_neutral_with,
        """
        def f(x):
            with warnings.catch_warnings():
                warnings.simplefilter('ignore', append=True)
                warnings.simplefilter('error')
        """,
        f"""
        def f(x):
            if warnings.catch_warnings is catch_warnings:
                if warnings.simplefilter is simplefilter:
                    pass
                else:
                    {refused.format("warnings.simplefilter")}
                warnings.simplefilter('error')
            else:
                {refused.format("warnings.catch_warnings")}
        """,
    )


@pytest.mark.parametrize(
    "item",
    [
        "open(x)",
        "nullcontext(*x)",
        "nullcontext(enter_result=x)",
        "catch_warnings(record=True) as w",
    ],
)
def test_others_stay(item: str) -> None:
    text = f"def f(x):\n    with {item}:\n        pass\n"
    check(expand_neutral_with, text, text)


@pytest.mark.parametrize(
    ("item", "neutral"),
    [
        ("np.errstate(all='ignore')", True),
        ("np.errstate(all='raise')", False),
        ("np.errstate(all=x)", False),
        ("np.errstate(), open(x)", False),
    ],
)
def test_errstate(item: str, neutral: bool) -> None:
    stmt: Any = parse(f"def f(x):\n    with {item}:\n        pass\n").body[0]
    assert is_errstate(stmt) == neutral


def test_jumps_leave_the_block() -> None:
    def f(x: float, n: int) -> float:
        for i in range(n):
            with nullcontext(x * i) as y, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if y > 2.0:
                    return y
                if i == 0:
                    continue
            x += 1.0
        return x

    for n in range(5):
        assert s2s.function(f, backend="loops")(0.75, n) == f(0.75, n)


class _Others:
    @staticmethod
    def nullcontext(x: float) -> contextlib.nullcontext[float]:
        return contextlib.nullcontext(x + 1.0)


def test_a_function_of_that_name_is_refused() -> None:
    nullcontext = _Others.nullcontext

    def f(x: float) -> float:
        with nullcontext(x) as y:
            return y

    with pytest.raises(s2s.UnsupportedError, match="nullcontext is not the one of the standard"):
        s2s.function(f, backend="loops")(1.0)

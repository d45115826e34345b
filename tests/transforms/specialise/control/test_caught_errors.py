"""What a `try` of the program would catch is refused, with its place."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import s2s
from tests.attack.beside import load

HELPERS = """
def positive(v):
    if v < 0.0:
        raise ValueError
    return v


def recursive(v, n):
    return v if n == 0 else recursive(v * 2.0, n - 1)
"""
# (body, what catches, refused with): None if nothing could be caught.
CASES = [
    ("y = x[i]", "except IndexError", "catching IndexError"),
    ("y = x[i]", "except LookupError", "catching IndexError"),
    ("y = x[i]", "except Exception", "catching IndexError"),
    ("y = x[i]", "except", "catching IndexError"),
    ("y = x[i]", "except (KeyError, ValueError)", None),
    ("y = x[i]", "finally", "`finally` after IndexError"),
    ("y = sum(v for v in x)", "except IndexError", None),
    ("y = positive(s)", "except ValueError", "catching ValueError"),
    ("y = positive(s)", "except KeyError", None),
    ("y = recursive(s, i)", "except KeyError", "catching an error"),
    ("y = 1.0 / t", "except ZeroDivisionError", "catching ZeroDivisionError"),
    ("y = 1.0 / t", "except ArithmeticError", "catching ZeroDivisionError"),
    ("y = 1.0 / s", "except ValueError", None),
    ("y = 1.0 / s", "finally", None),
    ("y = t ** 2.5", "except OverflowError", "catching OverflowError"),
    ("y = math.log(s)", "except ValueError", "catching ValueError"),
    ("y = math.log(s)", "except KeyError", None),
    ("y = np.sum(1.0 / x)", "except ZeroDivisionError", None),
    ("y = np.linalg.inv(np.outer(x, x) + np.eye(3))[0, 0]", "except np.linalg.LinAlgError",
     "catching LinAlgError"),
    ("y = np.max(x)", "except ValueError", "catching ValueError"),
    ("y = {'a': s}['b']", "except KeyError", "catching KeyError"),
    ("y = np.nothing", "except AttributeError", "catching AttributeError"),
    ("if i > 0: y = np.nothing", "except AttributeError", "catching AttributeError"),
    ("y = s", "except ValueError, 3", "only exception classes"),
    ("y = s", "except undefined_name", "only exception classes"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "catches", "refused"), CASES)
def test_errors_in_the_body(body: str, catches: str, refused: str | None) -> None:
    catches = f"except ({catches[7:]})" if "," in catches and "(" not in catches else catches
    text = f"""
def f(x, i, t):
    s = x.sum()
    y = 0.0
    try:
        {body}
    {catches}:
        y = y * 1.0
    return y * 2.0
"""
    f = load(HELPERS + text)["f"]
    g = s2s.value_and_grad(f, backend="loops")
    x = np.array([1.0, 2.0, 4.0])
    if refused is None:
        assert g(x, 1, 3.0)[0] == f(x, 1, 3.0)
        return
    with pytest.raises(s2s.UnsupportedError) as caught:
        g(x, 1, 3.0)
    assert caught.value.message.startswith(refused)
    assert caught.value.source_line
    assert caught.value.advice


def test_a_call_is_refused_where_it_stands() -> None:
    text = """
    def f(x):
        try:
            y = positive(x.sum())
        except ValueError:
            y = 0.0
        return y
    """
    f = load(HELPERS + textwrap.dedent(text))["f"]
    with pytest.raises(s2s.UnsupportedError) as caught:
        s2s.grad(f, backend="loops")(np.ones(3))
    assert caught.value.source_line.strip() == "y = positive(x.sum())"


def test_printing_under_print_options() -> None:
    text = """
    def f(x):
        with np.printoptions(precision=3):
            {}
        return x.sum()
    """
    f = load(textwrap.dedent(text.format("y = x")))["f"]
    assert s2s.grad(f, backend="loops")(np.ones(3)).tolist() == [1.0, 1.0, 1.0]
    f = load(textwrap.dedent(text.format("print(x)")))["f"]
    with pytest.raises(s2s.UnsupportedError, match="printing with other print options"):
        s2s.grad(f, backend="loops")(np.ones(3))

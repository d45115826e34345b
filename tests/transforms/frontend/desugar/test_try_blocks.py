"""`try`: the text before and after, and the programs beside CPython."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.frontend.desugar.try_blocks import expand_try
from tests.attack.beside import judge, judge_gradient, load
from tests.transforms.frontend.core_text import check, parse, refusals


def test_a_body_without_jumps_stands_behind_a_guard() -> None:
    check(
        expand_try,
        """
        def f(x):
            try:
                y = x
            except (KeyError, ValueError):
                z = 1.0
            else:
                y = y + 1.0
            finally:
                print(y)
        """,
        """
        def f(x):
            z: ...
            __guard__((KeyError, ValueError), 'finally')
            __guard__('finally')
            y = x
            y = y + 1.0
            print(y)
        """,
    )


def test_a_raise_jumps_to_its_handler() -> None:
    check(
        expand_try,
        """
        def f(x):
            try:
                if x > 1.0:
                    raise ValueError(f'{x}')
                y = x
            except ValueError:
                y = 0.0
            return y
        """,
        """
        def f(x):
            y: ...
            left_L2 = 0
            for once_L2 in None,:
                __guard__(ValueError)
                if x > 1.0:
                    if issubclass(ValueError, ValueError):
                        left_L2 = 1
                        break
                    else:
                        raise ValueError(f'{x}')
                y = x
            if left_L2 == 1:
                y = 0.0
            return y
        """,
    )


def test_jumps_out_of_an_inner_loop_and_of_the_loop_around() -> None:
    check(
        expand_try,
        """
        def f(x):
            for v in x:
                try:
                    for w in v:
                        if w:
                            return w
                    continue
                finally:
                    g(x)
        """,
        """
        def f(x):
            for v in x:
                left_L3 = 0
                for once_L3 in None,:
                    __guard__('finally')
                    for w in v:
                        if w:
                            returned_L3 = w
                            left_L3 = -3
                            break
                    if left_L3 != 0:
                        break
                    left_L3 = -2
                    break
                g(x)
                if left_L3 == -3:
                    return returned_L3
                if left_L3 == -2:
                    continue
        """,
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError(g(x))", "a caught error whose message calls functions"),
        ("raise", "`raise` without an exception"),
        ("with g(x):\n            raise ValueError", "a jump out of this `with`"),
    ],
)
def test_refused_jumps(body: str, message: str) -> None:
    text = f"def f(x):\n    try:\n        {body}\n    except ValueError:\n        pass\n"
    (found,) = refusals(expand_try(parse(text)))
    assert found.startswith(message)


RIGHT = {
    "nested": """
def f(x):
    s = 0.0
    for v in x:
        try:
            try:
                if v < 0.0:
                    raise KeyError('a')
                if v > 2.0:
                    raise ValueError('b')
                s = s + v
            except KeyError:
                s = s + 10.0 * v
        except (ValueError, TypeError):
            s = s + 100.0 * v
        else:
            s = s * 2.0
    return s
""",
    "the_first_handler_that_fits": """
def f(x):
    s = 0.0
    p, q, r = x
    for k in range(3):
        try:
            if k == 0:
                raise IndexError
            if k == 1:
                raise KeyError('k')
            s = s + p
        except KeyError:
            s = s + q
        except LookupError:
            s = s + 10.0 * r
        except Exception:
            s = s + 1000.0
    return s
""",
    "not_caught": """
def f(x):
    try:
        if x.sum() > 0.0:
            raise ValueError('p')
    except KeyError:
        x = x * 2.0
    return x.sum()
""",
    "a_handler_raises_another": """
def f(x):
    try:
        if x.sum() > 0.0:
            raise ValueError('p')
    except ValueError as e:
        raise KeyError('q') from e
    return x.sum()
""",
    "return_in_body_handler_and_else": """
def f(x):
    s = 0.0
    for v in x:
        try:
            if v < 0.0:
                raise ValueError
            if v > 2.0:
                return s * v
        except ValueError:
            if s > 100.0:
                return s
        else:
            s = s + v
            continue
        s = s + 7.0 * v
    return s
""",
    "finally_after_jumps": """
def f(x, n):
    s = x[0] * 1.0
    for i in range(5):
        try:
            if i == 1:
                continue
            if i == n:
                break
            s = s * 1.5
        finally:
            s = s + 1.0
    else:
        s = s + 50.0
    return s
""",
    "finally_after_return": """
def f(x):
    y = x * 2.0
    try:
        return y.sum()
    finally:
        y[:] = 0.0
        print('done')
""",
    "finally_returns": """
def f(x):
    try:
        return 1.0
    finally:
        return x.sum()
""",
    "jumps_in_handlers_with_finally": """
def f(x):
    s = 0.0
    for i in range(4):
        try:
            if i > 1:
                raise ValueError
            s = s + i * 2.0
        except ValueError:
            s = s + 3.0
            if i == 3:
                break
            continue
        finally:
            s = s * 2.0
        s = s + 100.0
    return s + x.sum()
""",
    "assert_is_caught": """
def f(x):
    try:
        assert x.sum() < 0.0, f'{x}'
        y = 1.0
    except AssertionError:
        y = 5.0
    return y * x.sum()
""",
    "a_class_of_ones_own": """
class Mine(ValueError):
    pass
def f(x):
    try:
        if x.sum() > 0.0:
            raise Mine('p', 3)
        y = 1.0
    except ValueError:
        y = 5.0
    return y * x.sum()
""",
    "names_bound_by_handlers_are_local": """
z = 4.0
def f(x):
    try:
        y = x.sum()
    except ValueError:
        z = 1.0
    return y * z
""",
    "in_a_helper_that_is_called_twice": """
def g(v):
    try:
        if v < 0.0:
            raise ValueError
        return v * v
    except ValueError:
        return 3.0 * v
def f(x):
    s = 0.0
    for v in x:
        s = s + g(v)
    return s + g(-s)
""",
    "suppress": """
import contextlib
def f(x):
    s = 0.0
    for v in x:
        with contextlib.suppress(ValueError, KeyError):
            s = s + v
            if v < 0.0:
                raise ValueError
            s = s * 2.0
    return s
""",
    "while": """
def f(x):
    s = x[0] * 1.0
    while True:
        try:
            s = s * 1.5
            if s > 5.0:
                raise StopIteration
        except StopIteration:
            break
    return s
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_as_in_python(name: str) -> None:
    f = load(RIGHT[name])["f"]
    x = np.array([1.0, -2.0, 3.0])
    args: tuple[Any, ...] = (x, 3) if name == "finally_after_jumps" else (x,)
    for found in (judge(f, args), judge(f, args, backend="python"), judge_gradient(f, args)):
        assert found.kind == "right", found.text


# An error that ends a call, or goes to a handler further out, by way of a `finally`.
PAST_FINALLY = {
    "to an outer handler": """
    def f(x, flag):
        try:
            try:
                if flag > 1.0:
                    raise KeyError
                y = x
            except ValueError:
                y = x + x
            finally:
                x = x + 5.0
        except KeyError:
            y = x + 3.0
        return y * x
    """,
    "an assertion": """
    def f(x, flag):
        try:
            try:
                assert flag <= 1.0
                y = x
            finally:
                x = x + 5.0
        except AssertionError:
            y = x + 3.0
        return y * x
    """,
    "from a handler": """
    def f(x, flag):
        try:
            if flag > 1.0:
                raise ValueError
        except ValueError:
            raise KeyError
        finally:
            x[0] = 7.0
        return x.sum()
    """,
    "from a handler, to an outer one": """
    def f(x, flag):
        try:
            try:
                if flag > 1.0:
                    raise ValueError
            except ValueError:
                raise KeyError
            finally:
                x = x + 5.0
        except KeyError:
            x = x * 2.0
        return x.sum()
    """,
    "from else": """
    def f(x, flag):
        try:
            y = x + x
        except ValueError:
            y = x
        else:
            if flag > 1.0:
                raise KeyError
        finally:
            x[0] = 7.0
        return y.sum()
    """,
    "from an index in a handler": """
    def f(x, flag):
        try:
            if flag > 1.0:
                raise ValueError
        except ValueError:
            y = x[int(flag)]
        finally:
            x[0] = 7.0
        return x.sum()
    """,
}


@pytest.mark.parametrize("text", PAST_FINALLY.values(), ids=PAST_FINALLY.keys())
def test_no_error_passes_a_finally_by(text: str) -> None:
    f = load(textwrap.dedent(text))["f"]
    args = (np.array([1.0, 2.0]), 2.0) if ".sum()" in text or "x[" in text else (1.5, 2.0)
    with pytest.raises(s2s.UnsupportedError, match="finally|catching") as caught:
        s2s.value_and_grad(f, backend="loops")(*args)
    assert caught.value.source_line
    assert caught.value.advice


def test_an_error_in_a_finally_goes_to_an_outer_handler() -> None:
    text = """
    def f(x, flag):
        try:
            try:
                y = x + x
            finally:
                if flag > 1.0:
                    raise KeyError
        except KeyError:
            y = x * 3.0
        return (y * x).sum()
    """
    f = load(textwrap.dedent(text))["f"]
    g = s2s.value_and_grad(f, backend="loops")
    x = np.array([1.0, 2.0])
    for flag, factor in (0.0, 2.0), (2.0, 3.0):
        value, gradient = g(x, flag)
        assert value == f(x, flag) == factor * 5.0
        np.testing.assert_allclose(gradient, 2.0 * factor * x)

"""`nonlocal` as lists of one element: the text, the same results under Python, what is refused."""

from __future__ import annotations

import pytest

import s2s
from s2s.transforms.frontend.desugar.nonlocals import box_nonlocals, own_names
from s2s.transforms.syntax.printer import show_function
from tests.transforms.frontend.core_text import check, parse, refusals


def test_the_list_is_made_by_the_first_assignment() -> None:
    check(
        box_nonlocals,
        """
        def f(x):
            total = x
            def add(v):
                nonlocal total
                total += v
            add(x)
            return total
        """,
        """
        def f(x):
            total_box = [x]
            def add(v):
                pass
                total_box[0] += v
            add(x)
            return total_box[0]
        """,
    )


def test_a_parameter_has_its_list_at_once_and_unpacking_makes_several() -> None:
    check(
        box_nonlocals,
        """
        def f(x, y_box):
            a, (y, *_) = b = g(x)
            def h(v=y):
                nonlocal x, y
                x, y = y, x
            return (x, y)
        """,
        """
        def f(x, y_box):
            x_box = [x]
            a, (y_first, *_) = b = g(x_box[0])
            y_box_ = [y_first]
            def h(v=y_box_[0]):
                pass
                x_box[0], y_box_[0] = y_box_[0], x_box[0]
            return x_box[0], y_box_[0]
        """,
    )


def test_only_the_variable_itself_is_replaced() -> None:
    """Not a parameter, a local or a comprehension's variable of the same name."""
    check(
        box_nonlocals,
        """
        def f(s):
            def write():
                nonlocal s
                s = 1
            def parameter(s):
                return s
            def local():
                s = 2
                return s
            def reads():
                return lambda: s
            a = [s for s in s] + [s for t in s for s in t]
            return (lambda s: s)(s)
        """,
        """
        def f(s):
            s_box = [s]
            def write():
                pass
                s_box[0] = 1
            def parameter(s):
                return s
            def local():
                s = 2
                return s
            def reads():
                return lambda: s_box[0]
            a = [s for s in s_box[0]] + [s for t in s_box[0] for s in t]
            return (lambda s: s)(s_box[0])
        """,
    )


def test_the_nearest_function_that_binds_the_name_is_meant() -> None:
    check(
        box_nonlocals,
        """
        def f():
            k = 1
            def g():
                k = 2
                def h():
                    def i():
                        nonlocal k
                        k = 3
                    i()
                h()
                return k
            return g() + k
        """,
        """
        def f():
            k = 1
            def g():
                k_box = [2]
                def h():
                    def i():
                        pass
                        k_box[0] = 3
                    i()
                h()
                return k_box[0]
            return g() + k
        """,
    )


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (("if x:", "    s = 1"), "not assigned first by a statement of its own"),
        (("for _ in x:", "    s = 1"), "not assigned first by a statement of its own"),
        (("s = s + 1",), "not assigned first by a statement of its own"),
        (("def g():", "    return s", "s = 1"), "not assigned first by a statement of its own"),
        (("s, s = x",), "not assigned first by a statement of its own"),
        (("s = 1", "del s"), "deleted"),
        (("s = 1", "for s in x:", "    pass"), "the target of a loop"),
        (("s = 1", "y = (s := x)"), "bound by `:=`"),
        (("s = 1", "y = [(s := x) for t in x]"), "bound by `:=`"),
        (("s = 1", "import s"), "imported"),
        (("s = 1", "def s(): pass"), "a function"),
        (("s = 1", "with x as s:", "    pass"), "the target of a `with`"),
        (("s = 1", "s: int"), "bound by another statement"),
    ],
)
def test_what_is_refused(lines: tuple[str, ...], says: str) -> None:
    inner = ("def w():", "    nonlocal s", "    s = 2")
    text = "".join(f"    {line}\n" for line in (*lines, *inner))
    (message,) = refusals(box_nonlocals(parse(f"def f(x):\n{text}")))
    assert says in message


def test_a_binding_in_the_inner_function_is_refused_likewise() -> None:
    func = parse("def f(s):\n    def w():\n        nonlocal s\n        del s\n")
    assert "deleted" in refusals(box_nonlocals(func))[0]


def test_a_variable_from_outside_stays_nonlocal() -> None:
    text = "def f(x):\n    nonlocal s\n    s = x\n"
    assert show_function(box_nonlocals(parse(text))) == text


def test_own_names() -> None:
    func = parse("def f(a):\n    global b\n    nonlocal c\n    b = c = d = 1\n    def e(): g = 1\n")
    assert own_names(func) == {"a", "d", "e"}


ORDER = """
def f(x):
    def double():
        nonlocal x
        x *= 2.0
    double()
    first = x
    _, third = x, [x]
    def rename():
        nonlocal first, third
        first, third = third, first
    rename()
    s, log = x, []
    def bump(by):
        nonlocal s, log
        s += by
        log = [*log, s]
        return s
    a = s * bump(1.0) + bump(2.0) * s - (s, bump(x), s)[0]
    s += bump(0.5)
    for _ in range(3):
        if bump(s) > 20.0:
            continue
        s -= 1.0
    return a + s * len(log) + first[0] * third
"""


def test_the_order_of_reads_and_writes_is_kept() -> None:
    plain: dict[str, object] = {}
    made: dict[str, object] = {}
    exec(ORDER, plain)
    exec(show_function(box_nonlocals(parse(ORDER))), made)
    assert made["f"](1.25) == plain["f"](1.25)  # type: ignore[operator]


def test_a_recursive_writer_of_run_time_depth_is_refused() -> None:
    def f(x: float, n: int) -> float:
        count = 0.0

        def go(k: int) -> None:
            nonlocal count
            count += x
            if k > 0:
                go(k - 1)

        go(n)
        return count

    with pytest.raises(s2s.UnsupportedError, match="a recursive function may not write"):
        s2s.function(f, backend="loops")(1.0, 3)


def test_a_variable_that_is_none_at_first_is_refused_in_a_loop() -> None:
    def f(x: float, n: int) -> float | None:
        best = None

        def see(v: float) -> None:
            nonlocal best
            if best is None or v > best:
                best = v

        for i in range(n):
            see(x * i)
        return best

    with pytest.raises(s2s.UnsupportedError):
        s2s.function(f, backend="loops")(1.0, 3)

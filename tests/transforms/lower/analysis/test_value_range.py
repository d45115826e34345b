"""Signs and bounds of integers at a point of a program."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.value_range import MAX_DEFINITION_NODES, ValueRanges
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import expr, ir, run_body

END = 6


def at_mark(source: str, params: str = "nkx", **types: str) -> tuple[ValueRanges, list[L.Stmt]]:
    """The facts where `mark = 0` stands."""
    body = ir(source, **types)
    known = ValueRanges(body, [*params])
    points = known.walk(body)
    for stmt in points:
        if isinstance(stmt, L.Let) and stmt.name == "mark":
            return known, body
    raise AssertionError("no mark")


def in_loop(header: str, *before: str) -> ValueRanges:
    return at_mark("\n".join([*before, f"for j in {header}:", "    mark = 0"]))[0]


@pytest.mark.parametrize(
    ("header", "natural", "below"),
    [
        ("range(n)", True, "n"),
        ("range(2, n)", True, "n"),
        ("range(-1, n)", False, "n"),
        ("range(k, n)", False, "n"),
        ("range(n - 1, -1, -1)", True, "n"),
        ("range(n - 1, -2, -1)", False, "n"),
        ("range(x.shape[0])", True, "x.shape[0]"),
        ("range(6)", True, "6"),
        ("range(6)", True, "7"),
    ],
)
def test_loop_variables(header, natural, below):
    known, j = in_loop(header), L.Name("j")
    assert known.is_nonnegative(j) is natural
    assert known.is_less(j, expr(below))
    assert not known.is_less(j, expr("k"))


def test_no_facts_about_other_steps_and_names_set_twice():
    j = L.Name("j")
    assert not in_loop("range(0, n, 2)").is_nonnegative(j)
    assert not in_loop("range(0, n, k)").is_less(j, L.Name("n"))
    assert not in_loop("range(n)", "j = k").is_nonnegative(j)
    assert not at_mark("for j in range(n):\n    s = j\nmark = 0")[0].is_nonnegative(j)


@pytest.mark.parametrize(
    "source",
    ["j & 63", "j % 64", "5 - j", "j & 3 | 4", "j ^ 3", "k & 7", "k % 5", "7", "x.shape[0]"],
)
def test_natural_expressions(source):
    """Oracle: all values of the names."""
    known, e = in_loop(f"range({END})"), expr(source)
    assert known.is_nonnegative(e)
    if not isinstance(e, L.Size):
        values = [
            run_body([L.Let("v", e)], j=j, k=k)["v"] for j in range(END) for k in range(-9, 9)
        ]
        assert min(values) >= 0
        most = known.most(e)
        assert most is None or max(values) <= most


@pytest.mark.parametrize(
    "source", ["j - 1", "k", "4 - j", "j + k", "k % n", "k | 1", "k & n", "-j", "-1"]
)
def test_expressions_that_may_be_negative(source):
    assert not in_loop(f"range({END})").is_nonnegative(expr(source))


def test_only_int64_is_looked_at():
    assert not in_loop("range(n)").is_nonnegative(L.Lit(1.0, "float64"))
    assert not in_loop("range(n)").is_nonnegative(L.Name("j", "uint8"))


@pytest.mark.parametrize(
    ("source", "most"),
    [("3", 3), ("j", 5), ("k", None), ("k % 4", 3), ("k & 7", 7), ("7 & k", 7), ("j & 3", 3),
     ("9 - j", 9), ("9 - k", None), ("j + 1", None)],
)  # fmt: skip
def test_upper_bounds(source, most):
    assert in_loop(f"range({END})").most(expr(source)) == most


def test_definitions():
    known, _ = at_mark("m = n - 1\np = m * 2\nq = x[0]\nmark = 0", x="int64[:]")
    assert known.resolve(expr("p + 1")) == expr("(n - 1) * 2 + 1")
    assert known.resolve(L.Name("q")) == L.Name("q")  # memory may change
    assert (
        known.is_fixed(expr("p + n"))
        and not known.is_fixed(expr("z"))
        and not known.is_fixed(expr("x[0]"))
    )


def test_long_definitions_are_not_substituted():
    terms = MAX_DEFINITION_NODES // 2 + 1
    known, _ = at_mark(f"m = {' + '.join('n' * terms)}\nmark = 0")
    assert known.resolve(L.Name("m")) == L.Name("m")


def test_facts_end_with_their_block():
    body = ir("if p:\n    m = n + 1\nfor j in range(n):\n    q = j\nz = n")
    known = ValueRanges(body, ["n", "p"])
    *_, last = known.walk(body)
    assert last == body[-1]
    assert known.resolve(L.Name("m")) == L.Name("m") and not known.is_nonnegative(L.Name("j"))


CLEARED = "for c in range(n):\n    for j in range(k):\n        if {}:\n            mark = 0"


@pytest.mark.parametrize(
    "test", ["c & 1 << j != 0", "1 << j & c != 0", "k > 0 and c & 1 << j != 0"]
)
def test_an_integer_with_a_set_bit_cleared(test):
    known, _ = at_mark(CLEARED.format(test))
    for e in map(expr, ("c ^ 1 << j", "c - (1 << j)")):
        assert known.before_clearing_bit(e) == L.Name("c")
        assert known.is_nonnegative(e) and known.is_less(e, L.Name("n"))
    assert known.before_clearing_bit(expr("c ^ 1 << k")) is None
    assert known.before_clearing_bit(expr("c + (1 << j)")) is None


@pytest.mark.parametrize("test", ["c & 1 << j == 0", "c & 3 != 0", "c & 1 << j != 0 or k > 0"])
def test_bits_that_may_not_be_set(test):
    known, _ = at_mark(CLEARED.format(test))
    for bits in ("1 << j", "3"):
        assert known.before_clearing_bit(expr(f"c ^ {bits}")) is None


def test_a_bit_is_not_known_in_the_other_branch():
    known, _ = at_mark(
        "for c in range(n):\n    if c & 4 != 0:\n        s = c\n    else:\n        mark = 0"
    )
    assert known.before_clearing_bit(expr("c ^ 4")) is None


@pytest.mark.parametrize(
    ("cond", "never"),
    [
        ("j < 0", True),
        ("j >= n", True),
        ("j < 0 or j >= n", True),
        ("k < 0 or j >= n", False),
        ("k < 0 and j >= n", True),
        ("j >= k", False),
        ("j > n", False),  # not looked at
        ("False", True),
        ("True", False),
    ],
)
def test_conditions_that_are_never_true(cond, never):
    assert in_loop("range(n)").is_false(expr(cond)) is never

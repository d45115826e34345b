"""Values, and the writer of statements and names."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.lower.build.lazy_array import (
    RESERVED,
    Emitter,
    Memory,
    Value,
    buffer_value,
    fill,
    scalar_value,
    store_element,
)
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import dedented, expr, text

N, M = L.Name("n"), L.Name("m")


# ---------------------------------------------------------------- names


def test_new_names_are_numbered():
    emitter = Emitter({"t", "u_1"})
    assert [emitter.new_name("t") for _ in range(3)] == ["t_1", "t_2", "t_3"]
    assert [emitter.new_name("u") for _ in range(3)] == ["u", "u_2", "u_3"]


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_names_of_the_language_are_taken(name):
    assert Emitter(()).new_name(name) == f"{name}_1"


def test_loop_variables_by_depth():
    emitter = Emitter({"j"})
    with emitter.nest((N, M)) as (i, j):
        assert (i, j) == (L.Name("i"), L.Name("j_1"))
    with emitter.loop(N) as i:
        assert i == L.Name("i")  # a nest beside it has the same variables
    assert text(emitter.out) == dedented(
        """
        for i in range(n):
            for j_1 in range(m):
                pass
        for i in range(n):
            pass
        """
    )


def test_deep_nests():
    with Emitter(()).nest([N] * 10) as index:
        assert len(set(index)) == 10


# ---------------------------------------------------------------- statements


def test_simple_expressions_are_not_bound():
    emitter = Emitter(())
    for e in (N, L.lit(3), L.Size("x", 0)):
        assert emitter.let(e) is e
    assert emitter.out == []


def test_value_numbering_of_integers():
    emitter = Emitter({"n"})
    emitter.bound_once.add("n")
    assert emitter.name_of(expr("n + 1")) is None
    first = emitter.let(expr("n + 1"))
    assert emitter.let(expr("n + 1")) == first == emitter.name_of(expr("n + 1"))
    assert emitter.let(L.mul(first, first)) != first  # over a name that is bound once
    assert len(emitter.out) == 2


@pytest.mark.parametrize("source", ["m + 1", "x[0] + 1", "n + m"])
def test_what_may_change_is_computed_again(source):
    """`m` may be bound more than once, and memory may change."""
    emitter = Emitter({"n", "m"})
    emitter.bound_once.add("n")
    assert emitter.let(expr(source, x="int64[:]")) != emitter.let(expr(source, x="int64[:]"))


def test_floats_are_computed_again():
    emitter = Emitter({"s"})
    emitter.bound_once.add("s")
    e = expr("s * s", s="float64")
    assert emitter.let(e) != emitter.let(e)


def test_names_of_a_closed_block_are_forgotten():
    """A branch may not have run."""
    emitter = Emitter({"n"})
    emitter.bound_once.add("n")
    with emitter.branch(expr("n > 0")):
        inside = emitter.let(expr("n + 1"))
        with emitter.loop(N):
            assert emitter.let(expr("n + 1")) == inside
    assert emitter.name_of(expr("n + 1")) is None
    assert emitter.let(expr("n + 1")) != inside


def test_sizes_of_buffers():
    emitter = Emitter({"n", "m", "x"})
    emitter.bound_once.add("n")
    emitter.same_sizes("x", (N, M, L.lit(3)))
    assert [emitter.name_of(L.Size("x", k)) for k in range(3)] == [N, None, L.lit(3)]
    emitter.same_sizes("x", (L.lit(2), N, N))
    assert [emitter.name_of(L.Size("x", k)) for k in range(3)] == [L.lit(2), N, N]
    with emitter.into([]):
        emitter.forget_sizes("x")
    assert emitter.name_of(L.Size("x", 0)) is None


def test_a_variable_is_always_new():
    emitter = Emitter({"n"})
    assert emitter.variable(N, "at") == L.Name("at")
    assert emitter.variable(N, "at") == L.Name("at_1")
    assert text(emitter.out) == "at = n\nat_1 = n"


def test_loops_of_one_iteration():
    emitter = Emitter(())
    with emitter.nest((L.ONE, N, L.ONE)) as index:
        pass
    assert index == (L.ZERO, L.Name("i"), L.ZERO)
    with emitter.loop(L.lit(2), start=L.ONE) as i:
        assert i == L.Name("i")
    assert [type(s) for s in emitter.out] == [L.Loop, L.Loop]


def test_an_error_closes_the_block():
    emitter = Emitter(())
    with pytest.raises(KeyError), emitter.loop(N):
        raise KeyError
    with emitter.loop(N) as i:
        assert i == L.Name("i")
    assert len(emitter.value_names) == 1


def test_checks():
    emitter = Emitter(())
    emitter.check(L.lit(False, "bool"), "ValueError", "never")
    emitter.check(expr("n < 0"), "ValueError", "negative")
    assert text(emitter.out) == 'if n < 0:\n    raise ValueError("negative")'


# ---------------------------------------------------------------- values


def test_a_buffer():
    v = buffer_value("x", "float32", (Dim.of("n"), Dim.of(3)), {"x"})
    assert v.sizes == (L.Size("x", 0), L.lit(3)) and v.ndim == 2
    assert v.is_buffer and v.as_argument() == L.Subview("x") and v.reads == {"x"} and v.cost == 0
    assert v.at(Emitter(()), (N, M)) == L.Load("x", (N, M), "float32")


def test_only_straight_contiguous_memory_is_a_buffer():
    assert not buffer_value("x", "float64", (Dim.of("n"),), contiguous=False).is_buffer
    assert Memory("x", (0, 1), True).is_unpermuted and not Memory("x", (1, 0), True).is_unpermuted
    dims = (Dim.of("n"), Dim.of("m"))
    turned = Value("float64", (N, M), dims, lambda e, i: N, memory=Memory("x", (1, 0), True))
    assert not turned.is_buffer
    assert not scalar_value(N).is_buffer


def test_scalars():
    v = scalar_value(expr("s * 2.0", s="float64"), {"s"})
    assert (v.ndim, v.dtype, v.reads) == (0, "float64", {"s"})
    assert v.at(Emitter(()), ()) == expr("s * 2.0", s="float64")


def test_stores():
    emitter = Emitter(())
    x = buffer_value("x", "float64", (Dim.of("n"), Dim.of(1)))
    fill(emitter, x, lambda index: L.Lit(0.0, "float64"))
    store_element(emitter, x, (N, L.ZERO), L.Lit(1.0, "float64"), add=True)
    assert text(emitter.out) == "for i in range(x.shape[0]):\n    x[i, 0] = 0.0\nx[n, 0] += 1.0"

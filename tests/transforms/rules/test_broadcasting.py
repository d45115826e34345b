"""Broadcasting: NumPy's shapes, its error, and the sums that undo it, chosen by what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.builder import OPEN, Builder, NameSupply
from s2s.transforms.ir.nodes import Assign, Raise
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.rules.broadcasting import (
    infer_broadcast_shape,
    same_shape,
    sum_to_shape,
    unbroadcast,
)
from tests.transforms.programs import F8, vector
from tests.transforms.rules.numeric import Trial

ONE, TWO, THREE = (Dim.of(n) for n in (1, 2, 3))
X, Y = Dim.of("x.0"), Dim.of("y.0")
SHAPES = [(), (1,), (3,), (2, 1), (2, 3), (1, 1), (4, 1, 3), (0,), (2, 0), (1, 3)]


def dims(shape: tuple[int, ...]) -> tuple[Dim, ...]:
    return tuple(map(Dim.of, shape))


def builder(**sizes: int) -> Builder:
    return Builder(NameSupply(), Facts({k.replace("_", "."): n for k, n in sizes.items()} or None))


@pytest.mark.parametrize("left", SHAPES)
@pytest.mark.parametrize("right", SHAPES)
def test_constant_shapes_are_broadcast_as_numpy_does(left: Any, right: Any) -> None:
    b = builder()
    found = infer_broadcast_shape(b, dims(left), dims(right))
    try:
        want = np.broadcast_shapes(left, right)
    except ValueError:
        (failure,) = b.block
        assert isinstance(failure, Raise) and failure.exception == "ValueError"
        shown = " ".join(str(s).replace(" ", "") for s in (left, right))
        text = f"operands could not be broadcast together with shapes {shown}"
        assert failure.message == (text,)
        with pytest.raises(ValueError, match="could not be broadcast") as numpys:
            np.add(np.empty(left), np.empty(right))
        assert str(numpys.value).strip() == text
        return
    assert found == dims(want) and not b.block


def test_any_number_of_shapes() -> None:
    b = builder()
    assert infer_broadcast_shape(b) == () and infer_broadcast_shape(b, (X,)) == (X,)
    assert infer_broadcast_shape(b, (THREE,), (TWO, ONE), ()) == (TWO, THREE)


def test_symbolic_sizes_by_the_arguments_at_hand() -> None:
    assert infer_broadcast_shape(builder(x_0=3, y_0=3), (X,), (Y,)) == (X,)
    assert infer_broadcast_shape(builder(x_0=1, y_0=3), (X,), (Y,)) == (Y,)
    assert infer_broadcast_shape(builder(x_0=3, y_0=1), (X,), (Y,)) == (X,)
    assert infer_broadcast_shape(builder(), (X,), (X, ONE)) == (X, X)


def test_a_relation_that_is_not_known_leaves_the_size_open() -> None:
    b = builder()
    assert infer_broadcast_shape(b, (X,), (Y,)) == (OPEN,)
    # Sizes that do not fit now may fit at the next call.
    assert infer_broadcast_shape(builder(x_0=2, y_0=3), (X,), (Y,)) == (OPEN,)
    assert (
        infer_broadcast_shape(b, (OPEN,), (ONE,))
        == (OPEN,)
        == infer_broadcast_shape(b, (X,), (OPEN,))
    )
    assert not b.block


def test_shapes_are_the_same_where_that_is_proven() -> None:
    b = builder()
    assert same_shape(b, vector("x", 2), vector("x", 2)) and same_shape(b, F8, F8)
    assert not same_shape(b, vector("x"), vector("y"))
    assert not same_shape(b, vector("x"), vector("x", 2))


# ---------------------------------------------------------------- its transpose


def cases() -> list[tuple[Any, Any]]:
    found = []
    for like in SHAPES:
        for other in SHAPES:
            try:
                found.append((np.broadcast_shapes(like, other), like))
            except ValueError:
                pass
    return sorted(set(found))


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize(("shape", "like"), cases())
def test_unbroadcast_is_the_transpose(shape: Any, like: Any, static: bool) -> None:
    """<unbroadcast(g), x> = <g, broadcast(x)>; of every form, with sizes known and unknown."""
    rng = np.random.default_rng(5)
    g, x = rng.normal(size=shape), rng.normal(size=like)
    trial = Trial(g, x, static=static)
    (bar,) = trial.run(unbroadcast(trial.b, *trial.syms))
    assert np.shape(bar) == like
    np.testing.assert_allclose(np.sum(bar * x), np.sum(g * np.broadcast_to(x, shape)), atol=1e-12)
    np.testing.assert_allclose(sum_to_shape(g, x), bar, atol=1e-12)


def test_with_sizes_known_fixed_axes_are_summed() -> None:
    def ops(shape: Any, like: Any) -> list[str]:
        trial = Trial(np.ones(shape), np.ones(like), static=True)
        unbroadcast(trial.b, *trial.syms)
        return [s.op.name for s in trial.b.block if isinstance(s, Assign)]

    assert ops((2, 3), (2, 3)) == []
    assert ops((2, 3), (3,)) == ["sum"] == ops((2, 3), (2, 1)) == ops((2, 3), ())
    assert ops((4, 2, 3), (2, 1)) == ["sum", "expand_dims"]
    assert ops((1, 1), (2, 3)) == ["broadcast_like"] == ops((), (3,))
    assert ops((2, 1), (1, 3)) == ["unbroadcast"]


def test_the_dtype_is_that_of_the_operand_if_it_is_a_float() -> None:
    for dtype, want in (("float32", "float32"), ("complex128", "complex128"), ("int64", "float64")):
        trial = Trial(np.ones((2, 3)), np.ones(3, dtype))
        assert unbroadcast(trial.b, *trial.syms).dtype == want

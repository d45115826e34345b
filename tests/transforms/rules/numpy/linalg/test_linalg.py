"""Products of every pair of ranks."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir.errors import S2SValueError
from s2s.transforms.ir.op_registry import RULES
from tests.transforms.rules.differentials import Trial, call, check

RNG = np.random.default_rng(0)


def array(*shape: int, dtype: str = "float64") -> np.ndarray:
    return np.asarray(RNG.normal(size=shape)).astype(dtype)


PAIRS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((6, 5, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((6, 5, 2, 3), (3, 4)),
    ((6, 5, 2, 3), (3,)),
    ((1, 1), (1, 1)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
]


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_matmul(left, right):
    check(lambda b, x, y: x @ y, array(*left), array(*right), expected=np.matmul)


def test_matmul_keeps_the_dtype_of_each_operand():
    t = Trial(lambda b, x, y: x @ y, [array(2, 3, dtype="float32"), array(3, 2)], True)
    assert t.out.dtype == "float64"
    t = Trial(lambda b, x, y: x @ y, [array(2, 3, dtype="float32")] * 2 and
              [array(2, 3, dtype="float32"), array(3, 2, dtype="float32")], True)  # fmt: skip
    assert t.out.dtype == "float32"


def test_matmul_of_integers():
    x = RNG.integers(0, 9, (2, 3))
    check(lambda b, x, y: x @ y, x, x.T.copy(), expected=np.matmul)


@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize(
    ("left", "right"), [((2, 3), (2, 3)), ((3,), (2,)), ((2, 1), (3, 2)), ((4, 2, 3), (4, 1, 3))]
)
def test_mismatch_raises_what_numpy_raises(left, right, sizes):
    args = array(*left), array(*right)
    t = Trial(lambda b, x, y: x @ y, args, sizes)
    with pytest.raises(ValueError) as told:
        t.value()
    with pytest.raises(ValueError) as numpys:
        np.matmul(*args)
    assert str(told.value) == str(numpys.value)


def test_a_check_is_not_baked_in_by_the_sizes_at_hand():
    """A mismatch of the first call's sizes becomes a run-time check; other sizes pass it."""
    t = Trial(lambda b, x, y: x @ y, [array(2, 3), array(2, 3)], True)
    good = [array(2, 3), array(3, 2)]
    np.testing.assert_allclose(t.value(good), good[0] @ good[1])


def test_known_sizes_need_no_check():
    t = Trial(lambda b, x, y: x @ y, [array(2, 3), array(3, 2)], True)
    assert [type(s).__name__ for s in t.b.block] == ["Assign"]


def test_matmul_with_a_scalar_is_refused():
    with pytest.raises(S2SValueError, match="does not have enough dimensions"):
        Trial(lambda b, x, y: x @ y, [array(2, 3), 1.0], True)


def test_text_groups_from_the_left():
    text = RULES["matmul"].text
    assert text([("a @ b", 10), ("c @ d", 10)], {}, [])[0] == "a @ b @ (c @ d)"


@pytest.mark.parametrize(
    ("path", "left", "right"),
    [
        ("dot", (), (3,)),
        ("dot", (3,), (3,)),
        ("dot", (2, 3), (3,)),
        ("dot", (2, 3), (3, 4)),
        ("dot", (5, 2, 3), (3, 4)),
        ("dot", (3,), (5, 3, 4)),
        ("dot", (2, 3), (5, 3, 4)),
        ("dot", (2, 2, 3), (2, 3, 2)),
        ("inner", (3,), (3,)),
        ("inner", (2, 3), (4, 3)),
        ("inner", (3,), (4, 3)),
        ("inner", (4, 3), (3,)),
        ("inner", (2, 2, 3), (2, 3)),
        ("inner", (2, 3), ()),
        ("vdot", (2, 3), (2, 3)),
        ("vdot", (3,), (3,)),
        ("outer", (2,), (3,)),
        ("outer", (2, 2), (3,)),
    ],
)
def test_other_products(path, left, right):
    check(
        lambda b, x, y: call(b, f"numpy.{path}", x, y),
        array(*left),
        array(*right),
        expected=getattr(np, path),
    )


@pytest.mark.parametrize(
    ("left", "right", "axes"),
    [
        ((2, 3), (3, 4), 1),
        ((2, 3, 4), (3, 4, 5), 2),
        ((2,), (3,), 0),
        ((2, 3, 4), (4, 3, 2), ((0, 1), (2, 1))),
        ((2, 3, 4), (5, 4), ([2], [1])),
        ((2, 3), (2, 3), ((0, 1), (0, 1))),
        ((2, 3), (3,), (-1, 0)),
    ],
)
def test_tensordot(left, right, axes):
    check(
        lambda b, x, y: call(b, "numpy.tensordot", x, y, axes),
        array(*left),
        array(*right),
        expected=lambda x, y: np.tensordot(x, y, axes),
    )


# ---------------------------------------------------------------- einsum


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk->ki", [(2, 3), (3, 4)]),
        ("ji,jk", [(3, 2), (3, 4)]),
        ("ij,kj->ik", [(2, 3), (4, 3)]),
        ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
        ("bij,bkj->bik", [(5, 2, 3), (5, 4, 3)]),
        ("bij,bjk->bki", [(5, 2, 3), (5, 3, 4)]),
        ("bhij,bhjk->bhik", [(2, 2, 2, 3), (2, 2, 3, 2)]),
        ("ij,bjk->bik", [(2, 3), (5, 3, 4)]),
        ("bi,bi->b", [(2, 3), (2, 3)]),
        ("i,i->", [(3,), (3,)]),
        ("i,i", [(3,), (3,)]),
        ("i,j", [(3,), (2,)]),
        ("i,j->ji", [(3,), (2,)]),
        ("ij->ji", [(2, 3)]),
        ("ba", [(2, 3)]),
        ("ij->", [(2, 3)]),
        ("ij->i", [(2, 3)]),
        ("ij->j", [(2, 3)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("iij->ij", [(3, 3, 2)]),
        ("iji->j", [(3, 2, 3)]),
        ("iji->ji", [(3, 2, 3)]),
        ("iijj->ij", [(2, 2, 3, 3)]),
        ("ijij->ji", [(2, 3, 2, 3)]),
        ("iii->", [(3, 3, 3)]),
        ("ii,ij->j", [(3, 3), (3, 2)]),
        ("ij,ij->ij", [(2, 3), (2, 3)]),
        ("ij,ij->", [(2, 3), (2, 3)]),
        ("ij,jk->j", [(2, 3), (3, 4)]),
        ("ij,kl->il", [(2, 3), (3, 4)]),
        ("i,ij,j->", [(2,), (2, 3), (3,)]),
        ("i,ij,jk,k->", [(2,), (2, 3), (3, 2), (2,)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        (",ij->ji", [(), (2, 3)]),
        (",", [(), ()]),
        ("...ij,...jk->...ik", [(5, 2, 3), (5, 3, 4)]),
        ("...ij,...jk", [(5, 2, 3), (3, 4)]),
        ("...ij->...ji", [(2, 2, 2, 3)]),
        ("...i->...", [(4, 2, 3)]),
        ("i...->...", [(4, 2, 3)]),
        ("i...,i...", [(4, 2), (4, 2)]),
        ("...,...", [(2, 3), (3,)]),
        ("...i,...i", [(1, 3), (4, 3)]),
        ("i...i->...", [(3, 2, 3)]),
        ("Bi,iA", [(2, 3), (3, 2)]),
        ("ij , jk -> ik", [(2, 3), (3, 4)]),
        ("i,i->i", [(1,), (3,)]),
        ("ij,jk->ik", [(2, 1), (3, 4)]),
        ("i,i,i->i", [(1,), (3,), (1,)]),
        ("i,i->i", [(1,), (1,)]),
    ],
)
def test_einsum(subscripts, shapes):
    broadcasts = any(1 in s for s in shapes)
    check(
        lambda b, *xs: call(b, "numpy.einsum", subscripts, *xs),
        *(array(*s) for s in shapes),
        expected=lambda *xs: np.einsum(subscripts, *xs),
        sizes=True if broadcasts else None,
    )


def test_einsum_of_sublists():
    check(
        lambda b, x, y: call(b, "numpy.einsum", x, [0, 1], y, [1, 2], [2, 0]),
        array(2, 3),
        array(3, 4),
        expected=lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]),
    )
    check(
        lambda b, x: call(b, "numpy.einsum", x, [1, 0, ...]),
        array(2, 3, 2),
        expected=lambda x: np.einsum(x, [1, 0, ...]),
    )


def test_einsum_of_integers_and_bools():
    x = RNG.integers(0, 5, (2, 3)).astype("int32")
    build = lambda b, x, y: call(b, "numpy.einsum", "ij,jk->k", x, y)  # noqa: E731
    check(build, x, x.T.copy(), expected=lambda x, y: np.einsum("ij,jk->k", x, y))
    m = x > 2
    check(lambda b, m: call(b, "numpy.einsum", "ij->i", m), m, expected=lambda m: m.any(axis=1))


def test_a_product_of_matrices_is_one():
    def ops(subscripts, *shapes):
        t = Trial(
            lambda b, *xs: call(b, "numpy.einsum", subscripts, *xs),
            [array(*s) for s in shapes],
            True,
        )
        return [s.op.name for s in t.b.block]

    assert ops("ij,jk->ik", (2, 3), (3, 4)) == ["matmul"]
    assert ops("ij,kj->ik", (2, 3), (4, 3)) == ["transpose", "matmul"]
    assert ops("i,j->ij", (2,), (3,)) == ["outer"]
    assert ops("ij,ij->ij", (2, 3), (2, 3)) == ["multiply"]
    assert ops("bik,bjk->bij", (5, 2, 3), (5, 4, 3)) == ["transpose", "matmul"]


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->il", [(2, 3), (3, 3)]),
        ("ij,jk->ii", [(2, 3), (3, 3)]),
        ("ij", [(2, 3, 4)]),
        ("ijk", [(2, 3)]),
        ("ij,j", [(2, 3)]),
        ("...i->i", [(2, 3)]),
        ("i-j", [(2, 3)]),
        ("i.j", [(2, 3)]),
    ],
)
def test_einsum_refuses_what_numpy_refuses(subscripts, shapes):
    xs = [array(*s) for s in shapes]
    with pytest.raises(ValueError):
        np.einsum(subscripts, *xs)
    with pytest.raises(S2SValueError):
        Trial(lambda b, *xs: call(b, "numpy.einsum", subscripts, *xs), xs, True)


@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize(
    ("subscripts", "shapes"), [("ij,jk", [(2, 3), (4, 2)]), ("ii", [(2, 3)]), ("ii", [(1, 3)])]
)
def test_einsum_sizes_that_differ(subscripts, shapes, sizes):
    xs = [array(*s) for s in shapes]
    t = Trial(lambda b, *xs: call(b, "numpy.einsum", subscripts, *xs), xs, sizes)
    with pytest.raises(ValueError):
        t.value()

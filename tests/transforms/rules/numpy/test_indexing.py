"""Reading and writing by index, against NumPy's own semantics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s2s.transforms.ir.nodes import If, Scalar
from s2s.transforms.ir.symbolic_dims import Dim, Facts, slice_length
from s2s.transforms.rules import RULES
from s2s.transforms.rules.internal.update import path_text, target_text
from s2s.transforms.rules.numpy.indexing import advanced_axes_position, numpy_key, renumber
from tests.transforms.rules.differentials import Trial, call, check

RNG = np.random.default_rng(1)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def array(*shape: int) -> np.ndarray:
    return np.asarray(RNG.normal(size=shape))


class Index:
    """Index items and their operands: the `given` ones are arguments, others constants."""

    def __init__(self, items: Any, operands: list[Any], given: list[bool]) -> None:
        self.items, self.operands, self.given = tuple(items), operands, given

    @property
    def args(self) -> list[Any]:
        return [
            np.int64(o) if np.ndim(o) == 0 else o for o, g in zip(self.operands, self.given) if g
        ]

    def merged(self, syms: Any) -> list[Any]:
        syms = iter(syms)
        return [next(syms) if g else o for o, g in zip(self.operands, self.given)]

    @property
    def key(self) -> Any:
        return numpy_key(self.items, [None, *self.operands])

    @property
    def path(self) -> Any:
        return (("index", renumber(self.items, lambda p: p + 1)),)

    def __repr__(self) -> str:
        return f"Index({self.items}, {self.operands}, {self.given})"


@st.composite
def indices(draw: Any, shape: tuple[int, ...], unique: bool = False) -> Index:
    items: list[Any] = []
    operands: list[Any] = []
    common = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 3)]))
    kinds = ["all", "slice", "int", "array", "mask", "new"]

    def operand(value: Any) -> int:
        operands.append(value)
        return len(operands)

    axis = 0
    masks = 0
    while axis < len(shape):
        n = shape[axis]
        kind = draw(st.sampled_from(kinds))
        if kind in ("int", "array") and n == 0:
            kind = "slice"
        if kind == "array" and (not common or unique):
            kind = "int" if n else "all"
        if kind == "mask" and masks:
            kind = "all"
        if kind == "new":
            items.append(("new",))
            continue
        if kind == "all":
            items.append(("all",))
        elif kind == "int":
            items.append(("int", operand(draw(st.integers(-n, n - 1)))))
        elif kind == "slice":
            bounds = [draw(st.none() | st.integers(-6, 6)) for _ in range(2)]
            bounds.append(draw(st.sampled_from([None, 1, 2, -1, -2, 3])))
            items.append(("slice", *(None if v is None else operand(v) for v in bounds)))
        elif kind == "array":
            lead = draw(st.integers(0, len(common) - 1))
            size = tuple(1 if draw(st.booleans()) else k for k in common[lead:])
            size = common if not any(i[0] == "array" for i in items) else size
            flat = draw(
                st.lists(
                    st.integers(-n, n - 1), min_size=int(np.prod(size)), max_size=int(np.prod(size))
                )
            )
            items.append(("array", operand(np.array(flat, dtype=np.int64).reshape(size))))
        else:
            masks += 1
            rank = draw(st.integers(1, min(2, len(shape) - axis)))
            size = shape[axis : axis + rank]
            flat = draw(
                st.lists(st.booleans(), min_size=int(np.prod(size)), max_size=int(np.prod(size)))
            )
            items.append(("mask", operand(np.array(flat, dtype=bool).reshape(size))))
            axis += rank - 1
        axis += 1
    arrays = [k for k, o in enumerate(operands) if np.ndim(o)]
    given_ = [
        k in arrays or (len(arrays) + k < 6 and draw(st.booleans())) for k in range(len(operands))
    ]
    return Index(items, operands, given_)


def fits(x: np.ndarray, index: Index) -> bool:
    """True if NumPy accepts the index: a mask may fail to broadcast with the other arrays."""
    try:
        x[index.key]
    except IndexError:
        return False
    return True


shapes = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)


@QUICK
@given(st.data())
def test_reading(data):
    shape = data.draw(shapes)
    index = data.draw(indices(shape))
    x = array(*shape)
    if not fits(x, index):
        return
    check(
        lambda b, x, *ops: b.emit("index", x, *index.merged(ops), items=index.items),
        x,
        *index.args,
        expected=lambda x, *_: x[index.key],
        order=1,
    )


def _broadcastable(draw: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    lead = draw(st.integers(0, len(shape)))
    return tuple(1 if draw(st.booleans()) else n for n in shape[lead:])


@pytest.mark.parametrize("op", ["update", "update_add"])
@QUICK
@given(st.data())
def test_writing(op, data):
    shape = data.draw(shapes)
    index = data.draw(indices(shape))
    x = array(*shape)
    if not fits(x, index):
        return
    v = array(*_broadcastable(data.draw, x[index.key].shape))

    def expected(x, v, *_):
        out = x.copy()
        if op == "update":
            out[index.key] = v
        else:
            # Broadcast explicitly: `np.add.at` of NumPy 2.4 misreads a value of lower rank.
            np.add.at(out, index.key, np.broadcast_to(v, x[index.key].shape).copy())
        return out

    check(
        lambda b, x, v, *ops: b.emit(op, x, v, *index.merged(ops), path=index.path),
        x,
        v if v.ndim else v[()],
        *index.args,
        expected=expected,
        order=1,
    )


# ---------------------------------------------------------------- lengths of slices


bounds = st.none() | st.integers(-5, 5)


@given(bounds, bounds, st.sampled_from([None, 1, 2, 3, -1, -2]), st.integers(0, 8))
def test_a_slice_has_the_length_its_dim_says(start, stop, step, n):
    dims = [None if v is None else Dim.of(v) for v in (start, stop, step)]
    length = slice_length(Dim.of("x.0"), *dims).substitute({"x.0": n})
    assert length == Dim.of(len(range(n)[start:stop:step]))


@given(st.integers(-3, 5), st.integers(-3, 5), st.sampled_from([None, 2, -1]), st.integers(0, 8))
def test_bounds_counted_from_a_size(start, back, step, n):
    size = Dim.of("x.0")
    third = None if step is None else Dim.of(step)
    length = slice_length(size, Dim.of(start), size - back, third)
    assert length.substitute({"x.0": n}) == Dim.of(len(range(n)[start : n - back : step]))
    length = slice_length(size, size - back, Dim.of(start), third)
    assert length.substitute({"x.0": n}) == Dim.of(len(range(n)[n - back : start : step]))


def test_stencils_have_one_length():
    n, one, two = Dim.of("x.0"), Dim.of(1), Dim.of(2)
    lengths = [slice_length(n, one, -one), slice_length(n, None, -two), slice_length(n, two)]
    lengths += [slice_length(n, one, n - 1), slice_length(n, two, n), slice_length(n, None, n - 2)]
    assert len(set(lengths)) == 1
    assert str(lengths[0]) == "max(x.0 - 2, 0)"


def test_the_parts_of_a_whole():
    n, m = Dim.of("x.0"), Dim.of("y.0")
    assert slice_length(n + m, None, n) == n
    assert slice_length(n + m, n) == m
    assert slice_length(n + m, n, n + m) == m


def test_windows_at_one_place_are_equal():
    i = Dim.of("i")
    facts = Facts({"x.0": 9, "y.0": 9})
    windows = [slice_length(Dim.of(s), i, i + 3) for s in ("x.0", "y.0")]
    assert facts.relate(*windows) == "equal"
    assert [str(g) for g in facts.guards] == ["x.0 == y.0"]


def test_slices_of_arguments_are_related_by_the_arguments():
    facts = Facts({"x.0": 9, "y.0": 9})
    left = slice_length(Dim.of("x.0"), Dim.of(1))
    right = slice_length(Dim.of("y.0"), None, Dim.of(-1))
    assert facts.relate(left, right) == "equal"
    assert [str(g) for g in facts.guards] == ["x.0 == y.0"]


def test_a_stencil_needs_no_run_time_test():
    def build(b, x):
        parts = []
        for start, stop in ((None, -2), (1, -1), (2, None)):
            operands = [v for v in (start, stop) if v is not None]
            at = iter((1, 2))
            item = ("slice", *(None if v is None else next(at) for v in (start, stop)), None)
            parts.append(b.emit("index", x, *operands, items=(item,)))
        return parts[0] - 2.0 * parts[1] + parts[2]

    t = Trial(build, [array(7)], False)
    assert t.out.type.shape == (Dim.of(7 - 2),) or str(t.out.type.shape[0]) == "max(x.0 - 2, 0)"
    check(build, array(7), expected=lambda x: x[:-2] - 2.0 * x[1:-1] + x[2:])


# ---------------------------------------------------------------- particular cases


def test_placement():
    assert advanced_axes_position((("all",), ("int", 1))) is None
    assert advanced_axes_position((("all",), ("array", 1), ("int", 2))) == 1
    assert advanced_axes_position((("int", 1), ("all",), ("array", 2))) == 0
    assert advanced_axes_position((("new",), ("array", 1))) == 1


def test_equal_masks_give_equal_lengths():
    items = (("mask", 1),)
    t = Trial(
        lambda b, x, y, m: b.emit("index", x, m, items=items) * b.emit("index", y, m, items=items),
        [array(5), array(5), np.array([True, False, True, True, False])],
        False,
    )
    assert "?" not in str(t.out.type.shape)
    assert t.b.facts.known_equal(
        *(
            s.target.type.shape[0]
            for s in t.b.block
            if s and hasattr(s, "op") and s.op.name == "index"
        )
    )


def test_a_mask_of_another_length():
    args = [array(5), np.array([True, False, True])]
    for sizes in (True, False):
        t = Trial(lambda b, x, m: b.emit("index", x, m, items=(("mask", 1),)), args, sizes)
        with pytest.raises(IndexError, match="boolean index did not match"):
            t.value()


def test_a_zero_step():
    for step in (0, None):
        args = [array(5)] if step == 0 else [array(5), np.int64(0)]
        t = Trial(
            lambda b, x, s=0: b.emit("index", x, s, items=(("slice", None, None, 1),)), args, True
        )
        with pytest.raises(ValueError, match="slice step cannot be zero"):
            t.value()


@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize(
    ("shape", "value"), [((2, 3), (2,)), ((3,), (4,)), ((3,), (2, 3)), ((1,), (2,))]
)
def test_a_value_that_does_not_fit(shape, value, sizes):
    args = [array(*shape), array(*value)]
    t = Trial(lambda b, x, v: b.emit("update", x, v, path=()), args, sizes)
    with pytest.raises(ValueError) as told:
        t.value()
    with pytest.raises(ValueError) as numpys:
        args[0][:] = args[1]
    assert str(told.value) == str(numpys.value)


def test_leading_single_axes_of_a_value_are_dropped():
    def expected(x, v):
        out = x.copy()
        out[...] = v
        return out

    check(lambda b, x, v: b.emit("update", x, v, path=()), array(3), array(1, 3), expected=expected)


def test_a_value_known_to_fit_is_not_tested():
    path = (("index", (("int", 2), ("all",))),)
    t = Trial(lambda b, x, v: b.emit("update", x, v, 0, path=path), [array(2, 3), array(3)], True)
    assert not any(isinstance(s, If) for s in t.b.block)


def test_the_last_write_wins():
    def expected(x, v, i):
        out = x.copy()
        out[i] = v
        return out

    i = np.array([0, 2, 0, 0, 1, 2])
    path = (("index", (("array", 2),)),)
    check(
        lambda b, x, v, i: b.emit("update", x, v, i, path=path),
        array(4),
        array(6),
        i,
        expected=expected,
    )
    both = (("index", (("array", 2), ("array", 3))),)
    check(
        lambda b, x, v, i, j: b.emit("update", x, v, i, j, path=both),
        array(3, 3),
        array(4),
        np.array([0, 1, 0, 0]),
        np.array([1, 1, 1, -2]),
        expected=lambda x, v, i, j: _written(x, (i, j), v),
    )


def _written(x, key, v):
    out = x.copy()
    out[key] = v
    return out


def test_paths_of_several_steps():
    path = (
        ("index", (("slice", 2, None, None), ("all",), ("all",))),
        ("transpose", (2, 0, 1)),
        ("index", (("int", 3), ("all",), ("all",))),
        ("reshape", (4,)),
        ("expand_dims", (0,)),
        ("squeeze", (0,)),
        ("index", (("array", 5),)),
    )
    i = np.array([0, 5, 2, 5])

    def expected(x, v, i):
        out = x.copy()
        region = out[1:].transpose(2, 0, 1)[1].reshape(6)
        region[i] = v
        out[1:, :, 1] = region.reshape(2, 3)
        return out

    check(
        lambda b, x, v, i: b.emit("update", x, v, 1, 1, 6, i, path=path),
        array(3, 3, 2),
        array(4),
        i,
        expected=expected,
    )
    check(
        lambda b, x, v, i: b.emit("update_add", x, v, 1, 1, 6, i, path=path),
        array(3, 3, 2),
        array(4),
        i,
    )


def test_an_overwritten_array_gets_no_cotangent():
    rule = RULES["update"]
    t = Trial(lambda b, x, v: b.emit("update", x, v, path=()), [array(3), array(3)], True)
    bars = rule.pullback(t.b, t.out, t.out, t.xs, {"path": ()}, (0, 1))
    assert set(bars) == {1}


def test_a_narrow_write_into_float32():
    x, v = array(3).astype("float32"), array(3)
    t = Trial(lambda b, x, v: b.emit("update", x, v, path=()), [x, v], True)
    assert t.out.dtype == "float32"
    np.testing.assert_array_equal(t.value(), v.astype("float32"))


def test_new_axes_on_a_scalar():
    check(
        lambda b, x: b.emit("index", x, items=(("new",), ("new",))),
        np.float64(2.5),
        expected=lambda x: np.full((1, 1), x),
    )


def test_ints_alone_read_a_scalar():
    t = Trial(
        lambda b, x: b.emit("index", x, 1, -1, items=(("int", 1), ("int", 2))), [array(2, 3)], True
    )
    assert isinstance(t.out.type, Scalar)


def test_texts():
    text = RULES["index"].text
    args = [("x", 13), ("i", 13), ("1", 13), ("-1", 11)]

    def read(*items):
        return text(args, {"items": items}, [])[0]

    assert read(("int", 1), ("all",), ("all",)) == "x[i]"
    assert read(("all",), ("int", 1)) == "x[:, i]"
    assert read(("slice", 2, 3, None), ("new",)) == "x[1:-1, None]"
    assert read(("slice", None, None, 3)) == "x[::-1]"
    assert read(("all",)) == "x[:]"
    assert read() == "x[()]"
    path = (("index", (("slice", 1, None, None),)), ("transpose", (1, 0)))
    assert path_text(args[0], path, args) == "x[i:].T"
    assert target_text(args[0], path, args) == "x[i:].T[...]"
    assert (
        target_text(args[0], (("reshape", (1, 2)), ("index", (("int", 3),))), args)
        == "x.reshape(i, 1)[-1]"
    )


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_flip(axis):
    check(
        lambda b, x: call(b, "numpy.flip", x, axis),
        array(3, 2),
        expected=lambda x: np.flip(x, axis),
    )


def test_diff():
    for axis, n in ((0, 1), (-1, 1), (1, 2)):
        check(
            lambda b, x, n=n, axis=axis: call(b, "numpy.diff", x, n, axis),
            array(3, 4),
            expected=lambda x, n=n, axis=axis: np.diff(x, n, axis),
        )

"""Reshapes and other views."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2s.transforms.ir.errors import S2SValueError, UnsupportedError
from s2s.transforms.ir.nodes import Array, If, Record, Scalar, Var
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.rules import RULES, NeedStatic
from tests.transforms.rules.differentials import Trial, call, check

RNG = np.random.default_rng(2)


def array(*shape: int) -> np.ndarray:
    return np.asarray(RNG.normal(size=shape))


def same(path: str, *args, **keywords):
    """The builder of `numpy.path(x, *args)` and NumPy's function, for `check`."""
    return (
        lambda b, x: call(b, f"numpy.{path}", x, *args, **keywords),
        lambda x: getattr(np, path)(x, *args, **keywords),
    )


@pytest.mark.parametrize(
    ("path", "shape", "args"),
    [
        ("transpose", (2, 3), ()),
        ("transpose", (3,), ()),
        ("transpose", (2, 3, 4), ()),
        ("transpose", (2, 3, 4), ((1, 2, 0),)),
        ("transpose", (2, 3, 4), ((-1, 0, 1),)),
        ("swapaxes", (2, 3, 4), (0, -1)),
        ("matrix_transpose", (2, 3, 4), ()),
        ("moveaxis", (2, 3, 4), (0, -1)),
        ("moveaxis", (2, 3, 4), ((0, 1), (-1, -2))),
        ("reshape", (2, 6), ((3, 4),)),
        ("reshape", (2, 6), (-1,)),
        ("reshape", (2, 6), ((-1, 3),)),
        ("reshape", (2, 3, 4), ((2, -1),)),
        ("reshape", (6,), ((1, 6, 1),)),
        ("reshape", (1,), ((),)),
        ("reshape", (0, 3), ((3, 0),)),
        ("ravel", (2, 3), ()),
        ("ravel", (3,), ()),
        ("expand_dims", (2, 3), (0,)),
        ("expand_dims", (2, 3), (-1,)),
        ("expand_dims", (2, 3), ((0, 2),)),
        ("expand_dims", (2, 3, 2, 2), (0,)),
        ("squeeze", (2, 1), (1,)),
        ("squeeze", (2, 1), (-1,)),
        ("squeeze", (1, 2, 1), ((0, 2),)),
        ("squeeze", (1, 1), ((0, 1),)),
        ("broadcast_to", (3,), ((2, 3),)),
        ("broadcast_to", (1, 3), ((2, 3),)),
        ("broadcast_to", (2, 1), ((4, 2, 3),)),
        ("broadcast_to", (3,), (3,)),
        ("atleast_1d", (3,), ()),
        ("atleast_2d", (3,), ()),
        ("atleast_3d", (3,), ()),
        ("atleast_3d", (2, 3), ()),
        ("copy", (2, 3), ()),
    ],
)
def test_functions(path, shape, args):
    build, expected = same(path, *args)
    check(build, array(*shape), expected=expected)


@pytest.mark.parametrize("path", ["atleast_1d", "atleast_2d", "atleast_3d", "ravel", "copy"])
def test_functions_of_a_scalar(path):
    build, expected = same(path)
    check(build, np.float64(1.5), expected=expected)


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("reshape", (3, 4)),
        ("reshape", ((3, 4),)),
        ("reshape", (-1,)),
        ("transpose", ()),
        ("transpose", (1, 0)),
        ("transpose", ((1, 0),)),
        ("swapaxes", (0, 1)),
        ("ravel", ()),
        ("flatten", ()),
        ("copy", ()),
        ("item", (3,)),
        ("item", (1, -2)),
    ],
)
def test_methods(method, args):
    check(
        lambda b, x: call(b, f"numpy.ndarray.{method}", x, *args),
        array(2, 6),
        expected=lambda x: getattr(x, method)(*args),
    )


def test_attributes():
    check(lambda b, x: call(b, "numpy.ndarray.T", x), array(2, 3), expected=lambda x: x.T)
    check(lambda b, x: call(b, "numpy.ndarray.size", x), array(2, 3), expected=np.size)
    check(lambda b, x: call(b, "numpy.shape", x)[1], array(2, 3), expected=lambda x: 3)
    t = Trial(lambda b, x: call(b, "numpy.ndim", x), [array(2, 3)], True)
    assert t.value() == 2
    check(lambda b, x: call(b, "numpy.ndarray.item", x), array(1, 1), expected=lambda x: x[0, 0])
    t = Trial(lambda b, x: call(b, "numpy.ndarray.item", x), [array(2)], True)
    with pytest.raises(ValueError, match="can only convert an array of size 1"):
        t.value()


# ---------------------------------------------------------------- reshape


@st.composite
def refactored(draw):
    """A random shape and another one with the same number of elements."""
    primes = draw(st.lists(st.sampled_from([1, 2, 2, 3]), min_size=1, max_size=4))

    def group():
        cuts = sorted(draw(st.lists(st.integers(0, len(primes)), max_size=3)))
        parts = zip([0, *cuts], [*cuts, len(primes)])
        return tuple(int(np.prod(primes[a:z], dtype=int)) for a, z in parts)

    return group(), group()


@settings(max_examples=40, deadline=None)
@given(refactored(), st.data())
def test_reshape_to_any_shape_of_the_same_size(shapes, data):
    start, end = shapes
    missing = data.draw(st.none() | st.integers(0, len(end) - 1))
    asked = tuple(-1 if k == missing else n for k, n in enumerate(end))
    build, expected = same("reshape", asked)
    check(build, array(*start), expected=expected, order=1)


@pytest.mark.parametrize(
    ("shape", "asked"),
    [((2, 3), (4, 2)), ((2, 3), (4, -1)), ((2, 3), (5,)), ((2, 3), (0, -1)), ((0, 3), (0, -1))],
)
@pytest.mark.parametrize("sizes", [True, False])
def test_sizes_that_do_not_match(shape, asked, sizes):
    t = Trial(lambda b, x: call(b, "numpy.reshape", x, asked), [array(*shape)], sizes)
    with pytest.raises(ValueError) as numpys:
        array(*shape).reshape(asked)
    with pytest.raises(ValueError) as told:
        t.value()
    assert str(told.value) == str(numpys.value)


def test_the_missing_size_is_known_symbolically():
    t = Trial(
        lambda b, x: call(b, "numpy.ndarray.reshape", x, x.shape[0], -1), [array(2, 3, 4)], False
    )
    assert t.out.type.shape == (Dim.of("x.0"), Dim.of("x.1") * Dim.of("x.2"))
    assert not any(isinstance(s, If) for s in t.b.block)
    t = Trial(lambda b, x: call(b, "numpy.ndarray.reshape", x, -1, 6), [array(2, 3, 4)], False)
    assert str(t.out.type.shape[0]) == "(x.0*x.1*x.2) // (6)"


def test_sizes_given_at_run_time():
    check(
        lambda b, x, n: call(b, "numpy.reshape", x, (n, -1)),
        array(2, 6),
        np.int64(4),
        expected=lambda x, n: x.reshape(n, -1),
    )
    t = Trial(
        lambda b, x, n: call(b, "numpy.reshape", x, (n, -1)), [array(2, 6), np.int64(0)], True
    )
    with pytest.raises(ValueError, match="cannot reshape array of size 12 into shape"):
        t.value()


def test_reshape_there_and_back_needs_no_check():
    def build(b, x):
        flat = call(b, "numpy.ravel", x)
        return call(b, "numpy.reshape", flat, x.shape)

    t = Trial(build, [array(2, 3)], False)
    assert not any(isinstance(s, If) for s in t.b.block)
    assert t.out.type.shape == (Dim.of("x.0"), Dim.of("x.1"))


# ---------------------------------------------------------------- refusals and checks


def test_squeeze_of_an_axis_that_is_not_single():
    for sizes in (True, False):
        t = Trial(lambda b, x: call(b, "numpy.squeeze", x, 0), [array(2, 3)], sizes)
        with pytest.raises(ValueError, match="cannot select an axis to squeeze out"):
            t.value()


def test_squeeze_without_an_axis():
    # Which axes have size 1 is read off the arguments and guarded; without arguments it is refused.
    squeezed = Trial(lambda b, x: call(b, "numpy.squeeze", x), [array(2, 1)], True)
    assert squeezed.value().shape == (2,)
    with pytest.raises(UnsupportedError, match="name the axis"):
        Trial(lambda b, x: call(b, "numpy.squeeze", x), [array(2, 1)], False)
    build, expected = same("squeeze")
    one = lambda b, x: build(b, call(b, "numpy.reshape", x, (1, 3, 1)))  # noqa: E731
    check(one, array(3), expected=lambda x: x)


@pytest.mark.parametrize(("shape", "asked"), [((2, 3), (2, 4)), ((2,), (3,)), ((3,), (1,))])
@pytest.mark.parametrize("sizes", [True, False])
def test_broadcast_to_what_does_not_fit(shape, asked, sizes):
    t = Trial(lambda b, x: call(b, "numpy.broadcast_to", x, asked), [array(*shape)], sizes)
    with pytest.raises(ValueError, match="could not be broadcast"):
        t.value()
    with pytest.raises(ValueError, match="could not be broadcast"):
        np.broadcast_to(array(*shape), asked)


@pytest.mark.parametrize(
    ("path", "args"),
    [
        ("transpose", ((0, 0),)),
        ("transpose", ((0,),)),
        ("transpose", ((0, 2),)),
        ("swapaxes", (0, 2)),
        ("moveaxis", (0, (0, 1))),
        ("expand_dims", (4,)),
        ("reshape", ((-1, -1),)),
        ("broadcast_to", ((3,),)),
        ("diff", (1, 5)),
    ],
)
def test_what_numpy_refuses(path, args):
    with pytest.raises(ValueError):
        getattr(np, path)(array(2, 3), *args)
    with pytest.raises(S2SValueError):
        Trial(lambda b, x: call(b, f"numpy.{path}", x, *args), [array(2, 3)], True)


def test_fortran_order():
    def build(b, x):
        return call(b, "numpy.reshape", x, (3, 2), order="F")

    check(build, array(2, 3), expected=lambda x: np.reshape(x, (3, 2), order="F"))
    with pytest.raises(UnsupportedError, match="order"):
        Trial(lambda b, x: call(b, "numpy.reshape", x, (3, 2), order="A"), [array(2, 3)], True)


def test_an_axis_must_be_known():
    with pytest.raises(NeedStatic) as told:
        Trial(lambda b, x, k: call(b, "numpy.expand_dims", x, k), [array(2, 3), np.int64(0)], True)
    assert told.value.what == "axis"


# ---------------------------------------------------------------- layouts and texts


def test_layouts():
    def layout(build):
        t = Trial(lambda b, x: build(b, b.emit("copy", x)), [array(2, 3, 4)], True)
        assert isinstance(t.out.type, Array)
        return t.out.type.layout

    def read(*items):
        return layout(lambda b, x: b.emit("index", x, 1, 2, -1, items=items))

    assert layout(lambda b, x: call(b, "numpy.transpose", x)) == "A"
    assert layout(lambda b, x: call(b, "numpy.ravel", x)) == "C"
    assert layout(lambda b, x: call(b, "numpy.expand_dims", x, 1)) == "C"
    assert layout(lambda b, x: call(b, "numpy.broadcast_to", x, (5, 2, 3, 4))) == "A"
    assert read(("int", 1), ("all",), ("all",)) == "C"
    assert read(("slice", 1, None, None), ("all",), ("all",)) == "C"
    assert read(("int", 1), ("slice", 1, None, 1), ("new",), ("all",)) == "C"
    assert read(("all",), ("int", 1), ("all",)) == "A"
    assert read(("slice", None, None, 2), ("all",), ("all",)) == "A"
    assert read(("slice", None, None, 3), ("all",), ("all",)) == "A"


def test_texts():
    def text(name, args, ndims, **attrs):
        types = [Array("float64", (Dim.of("n"),) * n) if n else Scalar("int64") for n in ndims]
        return RULES[name].text([(a, 13) for a in args], attrs, types)[0]

    assert text("transpose", ["x"], [2], axes=(1, 0)) == "x.T"
    assert text("transpose", ["x"], [3], axes=(0, 2, 1)) == "x.transpose(0, 2, 1)"
    assert text("reshape", ["x", "n", "3"], [1, 0, 0]) == "x.reshape(n, 3)"
    assert text("broadcast_to", ["x", "n"], [1, 0]) == "np.broadcast_to(x, (n,))"
    assert text("expand_dims", ["x"], [1], axes=(0,)) == "x[None]"
    assert text("expand_dims", ["x"], [1], axes=(1,)) == "x[:, None]"
    assert text("squeeze", ["x"], [2], axes=(1,)) == "x.squeeze(1)"
    assert text("shape", ["x"], [2], axis=1) == "x.shape[1]"
    assert text("copy", ["x"], [2]) == "x.copy()"


def test_fields_of_records():
    r = np.array([(1.0, 2), (3.0, 4)], dtype=[("x", "f8"), ("n", "i4")])
    t = Trial(lambda b, x: x, [array(2)], True)
    kind = Record((("x", "float64"), ("n", "int32")), (Dim.of("r.0"),))
    record = t.b.sym(Var("r", kind))
    column = t.b.emit("field", record, name="n")
    assert column.type == Array("int32", (Dim.of("r.0"),), "A")
    one = t.b.emit("index", record, 0, items=(("int", 1),))
    assert t.b.emit("field", one, name="x").type == Scalar("float64")
    assert RULES["field"].evaluate(r, name="n").tolist() == [2, 4]
    assert RULES["field"].text([("r", 13)], {"name": "n"}, [kind])[0] == "r['n']"

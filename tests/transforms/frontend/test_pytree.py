"""Specs of values, paths into them, and results built again."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from s2s.errors import UnsupportedError
from s2s.transforms.frontend.pytree import (
    Argument,
    ArraySpec,
    Either,
    Fixed,
    Held,
    Out,
    RecordSpec,
    RngSpec,
    ScalarSpec,
    Tree,
    TreeSpec,
    as_tensors,
    child_step,
    describe,
    follow,
    identify,
    is_constant_module,
    leaf_type,
    path_name,
    path_text,
    rebuild,
    spec_leaves,
)
from s2s.transforms.ir.nodes import MAX_RANK


class Pair(NamedTuple):
    w: Any
    b: Any


@dataclasses.dataclass
class Layer:
    w: Any
    name: str = "layer"

    def __post_init__(self) -> None:
        assert self.w is not None


class Sub(np.ndarray):
    def __repr__(self) -> str:
        return "sub"


class Doubling(np.ndarray):
    def __add__(self, other: Any) -> Any:
        return 2 * other


READ_ONLY = np.ones(3)
READ_ONLY.flags.writeable = False
LEAVES = [
    (1.0, ScalarSpec("float64", True)), (1, ScalarSpec("int64", True)),
    (True, ScalarSpec("bool", True)), (np.bool_(True), ScalarSpec("bool", False)),
    (1j, ScalarSpec("complex128", True)), (np.float32(1), ScalarSpec("float32", False)),
    (np.float64(1), ScalarSpec("float64", False)),
    (np.complex128(1), ScalarSpec("complex128", False)),
    (np.int8(1), ScalarSpec("int8", False)), (2**63 - 1, ScalarSpec("int64", True)),
    (-(2**63), ScalarSpec("int64", True)),
    (np.ones((2, 3)), ArraySpec("float64", 2, "C")),
    (np.ones((2, 3)).T, ArraySpec("float64", 2, "A")),
    (np.ones(6)[::2], ArraySpec("float64", 1, "A")), (np.ones(()), ArraySpec("float64", 0, "C")),
    (READ_ONLY, ArraySpec("float64", 1, "C", writeable=False)),
    (np.zeros(2, bool), ArraySpec("bool", 1, "C")),
    (np.ones(2).view(Sub), ArraySpec("float64", 1, "C")),
    (np.zeros(2, [("a", "f8"), ("b", ">i4")]), RecordSpec((("a", "float64"), ("b", ">i4")), 1)),
    (np.random.default_rng(0), RngSpec()),
    (None, Fixed(None)), ("a", Fixed("a")), (math, Fixed(math)),
    (slice(1, None), Fixed(slice(1, None))),
]  # fmt: skip


@pytest.mark.parametrize("value, spec", LEAVES, ids=lambda v: str(v)[:40])
def test_leaves(value: Any, spec: Any) -> None:
    assert describe(value) == spec and hash(describe(value)) == hash(spec)
    assert describe(value, static=True) == Fixed(value)


def test_containers_are_taken_apart() -> None:
    x = np.ones(2)
    spec = describe({"a": [x, 1.0], "b": (Pair(x, None), Layer(x))})
    assert isinstance(spec, TreeSpec) and (spec.kind, spec.keys) == ("dict", ("a", "b"))
    found = {path_text(path): leaf for path, leaf in spec_leaves(spec, (("arg", "p"),))}
    array = ArraySpec("float64", 1, "C")
    assert found == {
        "p['a'][0]": array, "p['a'][1]": ScalarSpec("float64", True), "p['b'][0].w": array,
        "p['b'][1].w": array,
    }  # fmt: skip
    assert describe({"a": 1, "b": 2}) != describe({"b": 2, "a": 1})
    assert describe([1.0]) != describe((1.0,)) and describe(Pair(1, 2)) != describe((1, 2))
    assert describe(Layer) == Fixed(Layer)  # the class itself


def test_each_leaf_is_at_its_path() -> None:
    value = {"a": [1.0, (2.0,)], "b": Pair(3.0, Layer(4.0))}
    paths = [path for path, _ in spec_leaves(describe(value), (("arg", "p"),))]
    assert [follow(value, path[1:]) for path in paths] == [1.0, 2.0, 3.0, 4.0]


REFUSED = [
    (np.longdouble(1), TypeError, "np.longdouble .* use x.astype\\(np.float64\\)"),
    (np.ones(1, np.clongdouble), TypeError, "use x.astype\\(np.complex128\\)"),
    (2**63, UnsupportedError, "the integer 9223372036854775808 does not fit in 64 bits"),
    (-(2**63) - 1, UnsupportedError, "does not fit in 64 bits"),
    (1 << 10_000, UnsupportedError, "the integer of 10001 bits does not fit"),
    (np.ma.masked_array([1.0]), TypeError, "masked arrays are not supported"),
    (np.ones((2, 2)).view(np.matrix), TypeError, "np.matrix is not supported"),
    (np.ones(2).view(Doubling), TypeError, "Doubling has its own __add__"),
    (np.array([None]), TypeError, "object arrays are not supported"),
    (np.ones(2, ">f8"), TypeError, "arrays of foreign byte order"),
    (np.array(["a"]), TypeError, "arrays of <U1 are not supported"),
    (np.ones(2, np.float16), TypeError, "float16 arrays are not supported"),
    (np.ones((1,) * (MAX_RANK + 1)), TypeError, f"arrays of more than {MAX_RANK} axes"),
    (np.random.RandomState(0), UnsupportedError, "np.random.RandomState is not supported"),
    ([np.ones(1), [np.float16(1), np.array(["a"])]], TypeError, "arrays of <U1"),
]  # fmt: skip


@pytest.mark.parametrize("value, error, message", REFUSED)
def test_what_no_code_can_be_made_for(value: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        describe(value)


def test_containers_of_numba() -> None:
    numba = pytest.importorskip("numba")
    with pytest.raises(UnsupportedError, match="numba.typed.List is not supported"):
        describe(numba.typed.List([1.0]))


# ---- what decides whether objects are the same


def closure(k: float, default: float = 1.0) -> Any:
    def f(x, y=default, *, z=2):
        return x + k

    return f


def test_plain_values_by_value_and_others_by_identity() -> None:
    same = [(1, 1), ("a", "a"), (None, None), (..., ...), (slice(1, 2), slice(1, 2)),
            (np.dtype("f8"), np.dtype(float)), (closure(1), closure(2)),
            (closure, closure)]  # fmt: skip
    different = [(1, 1.0), (1, True), ("a", b"a"), (slice(1), slice(2)), ([], []), (b"a", b"b"),
                 (np.dtype("f8"), np.dtype("f4")), (closure(1), closure(1, 2.0)),
                 (Layer(1), Layer(1))]  # fmt: skip
    assert all(identify(a) == identify(b) and Fixed(a) == Fixed(b) for a, b in same)
    assert all(hash(Fixed(a)) == hash(Fixed(b)) for a, b in same)
    assert not any(identify(a) == identify(b) or Fixed(a) == Fixed(b) for a, b in different)
    assert Fixed(1) != 1


def test_a_root_that_is_an_object() -> None:
    a, b = [1], [1]
    assert Held(a) == Held(a) and Held(a) != Held(b) and hash(Held(a)) == hash(Held(a))
    assert Held(a) != a and str(Held(a)) == "list" and str(Held(closure)) == "closure"


def test_libraries() -> None:
    import numpy.linalg

    assert is_constant_module(math) and is_constant_module(numpy.linalg)
    assert not is_constant_module(pytest) and not is_constant_module("math")


# ---- paths


def test_paths_as_text_and_as_names() -> None:
    path = (("arg", "params"), ("[]", "W 1"), ("[]", 0), (".", "scale"))
    assert path_text(path) == "params['W 1'][0].scale" and path_name(path) == "params_W_1_0_scale"
    assert path_name((("held", Held([])), ("[]", 0))) == "list_0"
    assert path_name((("closure", "f"), (".", "__globals__"), ("[]", "W"))) == "W"
    assert path_name((("module", "a.b"), (".", "W"))) == "W"
    assert path_name((("global", "v"), (".", "_array"))) == "v"
    assert path_name((("module", "a"), ("[]", 0))) == "p_0"
    assert path_name((("arg", "ö"), ("[]", "é-")))  == "ö_é_"  # fmt: skip
    assert [child_step(kind, "k") for kind in ("dict", "list", "namedtuple", "dataclass")] == [
        ("[]", "k"), ("[]", "k"), (".", "k"), (".", "k"),
    ]  # fmt: skip


def test_types_of_leaves() -> None:
    array: Any = leaf_type(ArraySpec("float32", 2, "A"), "x")
    assert (array.dtype, array.layout, [str(d) for d in array.shape]) == (
        "float32",
        "A",
        ["x.0", "x.1"],
    )
    scalar: Any = leaf_type(ScalarSpec("int64", True), "n")
    assert str(scalar.value) == "n" and scalar.weak
    assert leaf_type(ScalarSpec("float64", False), "x").value is None  # type: ignore[union-attr]
    record: Any = leaf_type(RecordSpec((("a", "float64"),), 1), "r")
    assert record.fields == (("a", "float64"),)
    with pytest.raises(AssertionError):
        leaf_type(Fixed(1), "x")


def test_as_tensors() -> None:
    spec = as_tensors(describe({"a": np.ones(2), "b": (1.0, None)}))
    (_, array), (_, number) = spec_leaves(spec, (("arg", "p"),))
    assert array == ArraySpec("float64", 1, "C", writeable=False, tensor=True)
    assert number == ScalarSpec("float64", True) and as_tensors(Fixed(1)) == Fixed(1)


# ---- results


def built(tree: Any, *leaves: Any) -> Any:
    return rebuild(tree, leaves.__getitem__, lambda path: path_text(path), lambda x: ("tensor", x))


def test_results_are_built_from_leaves() -> None:
    x = Argument((("arg", "x"),))
    assert built(Out(1), 5, 6) == 6 and built(Out(0, tensor=True), 5) == ("tensor", 5)
    assert built(Fixed("a")) == "a" and built(x) == "x"
    assert built(Tree("tuple", None, (0, 1), (Out(1), Out(0))), 5, 6) == (6, 5)
    assert built(Tree("list", None, (0,), (Out(0),)), 5) == [5]
    assert built(Tree("dict", None, ("b", "a"), (Out(0), x)), 5) == {"b": 5, "a": "x"}
    assert built(Tree("namedtuple", Pair, ("w", "b"), (Out(0), Fixed(None))), 5) == Pair(5, None)
    assert built(Tree("tuple", None, (), ())) == ()


def test_a_dataclass_is_built_without_its_init() -> None:
    """A gradient may be no valid argument."""
    layer = built(Tree("dataclass", Layer, ("w", "name"), (Fixed(None), Fixed("n"))))
    assert type(layer) is Layer and layer.w is None and layer.name == "n"

    @dataclasses.dataclass(frozen=True)
    class Frozen:
        w: float

    assert built(Tree("dataclass", Frozen, ("w",), (Out(0),)), 5.0) == Frozen(5.0)


def test_only_the_chosen_result_is_built() -> None:
    tree = Either(Out(0), Out(1), Out(7))
    assert built(tree, True, "yes") == "yes"
    assert built(Either(Out(0), Out(7), Out(1)), False, "no") == "no"

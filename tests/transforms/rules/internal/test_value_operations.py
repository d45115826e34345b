"""Copies, size queries, fields, undefined values and literals: forms, types and texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.builder import Builder, NameSupply
from s2s.transforms.ir.errors import S2SValueError
from s2s.transforms.ir.nodes import Array, Record, Scalar, Slot, Var
from s2s.transforms.ir.precedence import ADD, ATOM
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.rules import RULES, SURFACES
from tests.transforms.programs import F8
from tests.transforms.rules.numeric import Trial, call

ARRAYS = [np.empty((0, 3)), np.ones((2, 3)), np.array(2.0), np.arange(3, dtype=np.int8)]


def text(name: str, attrs: Any, *types: Any) -> str:
    rule = RULES[name].text
    assert rule is not None
    return rule([("a + b", ADD)] * len(types), attrs, types)[0]


def test_a_copy_is_contiguous_and_shares_no_memory() -> None:
    x = np.ones((2, 3)).T
    copied = call("numpy.copy", x)
    np.testing.assert_array_equal(copied, x)
    assert not np.shares_memory(copied, x)
    b = Builder(NameSupply(), Facts())
    strided = Var("x", Array("float64", (Dim.of(3), Dim.of(2)), "A"))
    assert b.emit("copy", strided).type == Array("float64", strided.type.shape)  # type: ignore[union-attr]
    assert b.emit("copy", Var("s", F8)).type == F8
    assert text("copy", {}, F8) == "a + b" and text("copy", {}, strided.type) == "(a + b).copy()"


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: str(x.shape))
def test_sizes_are_numpys(x: Any, static: bool) -> None:
    for path in ("shape", "ndim", "size", "ndarray.itemsize", "ndarray.nbytes"):
        trial = Trial(x, static=static)
        built = SURFACES[f"numpy.{path}"](trial.b, *trial.syms)
        parts = built if isinstance(built, tuple) else (built,)
        name = path.rpartition(".")[2]
        want = getattr(x, name)
        assert trial.run(*parts) == (list(want) if isinstance(want, tuple) else [want])
        if static:
            assert not trial.b.block and all(isinstance(p, int) for p in parts), path


def test_the_size_of_one_axis() -> None:
    x = np.ones((2, 3))
    for axis in (0, 1, -1, -2):
        assert call("numpy.size", x, axis) == np.size(x, axis)
    with pytest.raises(S2SValueError, match="axis 2 is out of bounds"):
        call("numpy.size", x, 2)
    b = Builder(NameSupply(), Facts())
    assert SURFACES["numpy.shape"](b, [[1.0, 2.0]]) == (1, 2)
    assert SURFACES["numpy.ndim"](b, 3.0) == 0 and SURFACES["numpy.size"](b, 3.0) == 1


def test_a_size_is_a_python_integer_with_a_symbolic_value() -> None:
    b = Builder(NameSupply(), Facts())
    x = Var("x", Array("float64", (Dim.of("x.0"),)))
    size = b.emit("shape", x, axis=0)
    assert size.type == Scalar("int64", weak=True) and size.type.value == Dim.of("x.0")
    assert text("shape", {"axis": 0}, x.type) == "(a + b).shape[0]"


def test_fields_of_records_and_of_structured_arrays() -> None:
    fields = (("x", "float64"), ("my field", "int32"))
    b = Builder(NameSupply(), Facts())
    one, many = Var("r", Record(fields, ())), Var("s", Record(fields, (Dim.of(3),)))
    assert b.emit("field", one, name="my field").type == Scalar("int32")
    assert b.emit("field", many, name="x").type == Array("float64", (Dim.of(3),), "A")
    record = np.array([(0.5, 3)], dtype=[("x", "f8"), ("my field", "i4")])
    evaluate = RULES["field"].evaluate
    assert evaluate is not None
    np.testing.assert_array_equal(evaluate(record, name="my field"), [3])
    assert text("field", {"name": "my field"}, many.type) == "(a + b)['my field']"
    with pytest.raises(KeyError):
        b.emit("field", one, name="z")


@pytest.mark.parametrize(
    ("type_", "shown"),
    [(F8, "None"), (Scalar("int32"), "0"), (Scalar("bool"), "None"),
     (Array("int64", (Dim.of(2),)), "None")],
)  # fmt: skip
def test_undefined_values(type_: Any, shown: str) -> None:
    """One of an integer may be stored in an array, which cannot hold None."""
    rule = RULES["undef"]
    assert rule.text is not None and rule.evaluate is not None
    assert rule.text([], {"type": type_}, ()) == (shown, ATOM)
    value = rule.evaluate(type=type_)
    assert value is None if isinstance(type_, Array) else value == 0
    assert rule.infer(None, (), {"type": type_}, ()) == type_


def test_a_restored_value_has_the_type_of_its_slot() -> None:
    slot = Slot("h_L3", F8)
    assert RULES["restore"].infer(None, (), {"slot": slot}, ()) == F8
    assert text("restore", {"slot": slot}) == "restore(h_L3)"


def test_a_literal_is_its_number() -> None:
    rule = RULES["literal"]
    assert rule.evaluate is not None and rule.evaluate(2.5) == 2.5
    assert rule.differentiable == () and text("literal", {}, F8) == "a + b"

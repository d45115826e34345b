"""Signatures of native kernels: which kernels have one, and how results are boxed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from s2s.backends.native.entry_signature import signature_of
from s2s.transforms.frontend.pytree import ArraySpec, Out, Tree, describe
from s2s.transforms.ir.nodes import Array, Scalar
from s2s.transforms.ir.symbolic_dims import Dim, Guard

N = (Dim.of("x.0"),)


def compiled(values: list[Any], types: list[Any], **changes: Any) -> Any:
    params = [SimpleNamespace(name="xyz"[k], spec=describe(v)) for k, v in enumerate(values)]
    out = Tree("tuple", tuple, tuple(range(len(types))), tuple(map(Out, range(len(types)))))
    plain = {"params": params, "result_types": types, "out": out, "grads": (), "out_like": {},
             "guards": []}  # fmt: skip
    return SimpleNamespace(**{**plain, **changes})


def test_arguments_and_results() -> None:
    x = np.zeros(3, np.float32)
    found = signature_of(
        compiled([x, 2.0, 3], [Array("float32", N), Scalar("int64"), Scalar("bool"),
                               Scalar("float64"), Scalar("float32")]), np.float64(1.0))  # fmt: skip
    assert found is not None
    assert [s.dtype for s in found.arguments] == ["float32", "float64", "int64", "float64"]
    assert found.results == ("array", "int", "bool", "float64", "float32")
    assert found.buffers == () and found.kernel_arguments == [*found.arguments]


def test_buffers_are_arrays_in_c_order() -> None:
    x = np.zeros((4, 6))[::2, ::3]
    found = signature_of(compiled([x, 1.0], [Array("float64", N), Scalar("float64")],
                                  out_like={0: 0}), None)  # fmt: skip
    assert found is not None and found.results == ("buffer", "float64")
    assert found.buffers == ((0, 0),)
    assert (
        found.kernel_arguments[-1] == ArraySpec("float64", 2, "C")
        and found.kernel_arguments[0].layout != "C"
    )  # type: ignore


def test_numbers_that_are_stored_in_objects_stay_those_of_python() -> None:
    weak = Scalar("float64", weak=True)
    none = Tree("tuple", tuple, (), ())
    kept = signature_of(compiled([1.0], [weak], out=none), None)
    given = signature_of(compiled([1.0], [weak]), None)
    assert kept is not None and given is not None
    assert (kept.results, given.results) == (("float",), ("float64",))


def test_guards_on_sizes_are_relations() -> None:
    guards = [Guard("least", Dim.of("x.0"), Dim.of("y.0") + 1), Guard("equal", Dim.of("t"))]
    found = signature_of(
        compiled([np.zeros(3), np.zeros(2)], [Scalar("int64")], guards=guards), None
    )
    assert found is not None and [sign for sign, *_ in found.relations] == [">="]


@pytest.mark.parametrize(
    "values, types",
    [
        (["text"], [Scalar("int64")]),
        ([np.random.default_rng(0)], [Scalar("int64")]), ([None], [Scalar("int64")]),
        ([1.0], [Scalar("float16")]), ([1.0], [Array("str", N)]), ([1.0], [object()]),
        ([[1.0, 2.0]], [Scalar("int64")]),
    ],
)  # fmt: skip
def test_other_values_have_no_signature(values, types) -> None:
    assert signature_of(compiled(values, types), None) is None


def test_equal_signatures_are_equal() -> None:
    first, second = (signature_of(compiled([1.0], [Scalar("int64")]), None) for _ in "ab")
    assert first == second and hash(first) == hash(second)

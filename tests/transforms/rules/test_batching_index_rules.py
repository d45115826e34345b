"""Batched reading and writing: every kind of index, mapped or not, against a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.nodes import Array, For, Module, Type, walk
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.rules.batching_index_rules import has_uniform_extent, selectable
from tests.transforms.batches import check_batch
from tests.transforms.programs import int_scalar, program

RNG = np.random.default_rng(8)
X = RNG.normal(size=(3, 4, 5))
# Indices of the batched arguments vary by one between elements, so that they are at least 1.
LIST = np.array([2, 1])
TABLE = np.array([[1, 2], [2, 1], [1, 1]])
MASK = np.array([True, False, True])
INT, ALL, NEW = ("int", "k"), ("all",), ("new",)


def typed(name: str, value: Any) -> Type:
    if isinstance(value, np.ndarray):
        return Array(value.dtype.name, tuple(Dim.of(f"{name}.{i}") for i in range(value.ndim)))
    return int_scalar(name)


def placed(items: Any, operands: list[str], first: int) -> Any:
    """Items with names of operands replaced by their positions."""
    at = {name: first + i for i, name in enumerate(operands)}
    return tuple(
        (kind, *(at[w] if isinstance(w, str) else w for w in what)) for kind, *what in items
    )


ITEMS: list[Any] = [
    [INT, ALL, ALL],
    [ALL, INT, ALL],
    [INT, NEW, ALL, ALL],
    [("slice", "j", None, None), INT, ALL],
    [("array", "a"), ALL, ALL],
    [ALL, ("array", "a"), ALL],
    [("array", "a"), INT, ALL],
    [("array", "t"), ("array", "a"), ALL],
    [("array", "a"), ALL, ("array", "t")],  # index arrays apart: their axes come first
    [INT, ALL, ("array", "t")],
    [("mask", "m"), ALL, ALL],
    [("mask", "m"), ALL, INT],
]
VALUES: dict[str, Any] = {"k": 1, "j": 1, "a": LIST, "t": TABLE, "m": MASK}


def names_in(items: Any) -> list[str]:
    return sorted({w for _, *what in items for w in what if isinstance(w, str)})


def ranged(items: Any) -> set[str]:
    """Operands that decide how many entries are selected."""
    return {w for k, *what in items if k in ("slice", "mask") for w in what if isinstance(w, str)}


def loops(module: Module) -> bool:
    return any(isinstance(s, For) for s in walk(module.main.body))


def checked(build: Any, values: dict[str, Any], mapped: list[str]) -> Module:
    module = program({n: typed(n, v) for n, v in values.items()}, build)
    sizes = {f"{n}.{i}": s for n, v in values.items() for i, s in enumerate(np.shape(v))}
    return check_batch(module, [*values.values()], mapped, Facts({**sizes, "lanes.0": 5}))


def choices(items: Any, others: list[str]) -> list[list[str]]:
    """The array and the operands that may be mapped without other extents: each, and all."""
    names = [*others, *(n for n in names_in(items) if n not in ranged(items))]
    return [*([n] for n in names), names]


@pytest.mark.parametrize("items", ITEMS, ids=str)
def test_reading(items: Any) -> None:
    operands = names_in(items)

    def build(p: Any, x: Any, *given: Any) -> Any:
        return p.emit("index", x, *given, items=placed(items, operands, 1))

    values = {"x": X, **{n: VALUES[n] for n in operands}}
    for mapped in choices(items, ["x"]):
        module = checked(build, values, mapped)
        masked = any(kind == "mask" for kind, *_ in items) and mapped != ["x"]
        assert loops(module) == masked, mapped


@pytest.mark.parametrize("name", ["update", "update_add"])
@pytest.mark.parametrize("items", ITEMS, ids=str)
def test_writing(items: Any, name: str) -> None:
    """An index that repeats counts once in an update, and each time in an addition."""
    items = [i for i in items if i[0] != "new"]
    operands = names_in(items)
    key = tuple(
        slice(None) if kind == "all" else slice(1, None) if kind == "slice" else VALUES[what[0]]
        for kind, *what in items
    )
    shape = X[key].shape
    path_items = placed(items, operands, 2)

    def build(p: Any, x: Any, v: Any, *given: Any) -> Any:
        return p.emit(name, x, v, *given, path=(("index", path_items),))

    for wide, extra in ((shape, ["x", "v"]), (shape[-1:], ["v"])):
        values = {"x": X, "v": RNG.normal(size=wide), **{n: VALUES[n] for n in operands}}
        for mapped in choices(items, extra):
            masked = any(kind == "mask" for kind, *_ in items) and not {*mapped} <= {"x", "v"}
            assert loops(checked(build, values, mapped)) == masked, mapped


@pytest.mark.parametrize("mapped", [["x"], ["v"], ["x", "v"], ["x", "k"]])
def test_writing_through_views(mapped: list[str]) -> None:
    """x.transpose(1, 0, 2)[k] = v and x.reshape(12, 5)[k] = v"""

    def turned(p: Any, x: Any, v: Any, k: Any) -> Any:
        items = (("int", 2), ALL, ALL)
        return p.emit("update", x, v, k, path=(("transpose", (1, 0, 2)), ("index", items)))

    def flat(p: Any, x: Any, v: Any, k: Any) -> Any:
        items = (("int", 2), ALL)
        path = (("reshape", (3, 4)), ("index", items))
        return p.emit("update_add", x, v, k, 12, 5, path=path)

    for build, shape in ((turned, (3, 5)), (flat, (5,))):
        values = {"x": X, "v": RNG.normal(size=shape), "k": 1}
        assert loops(checked(build, values, mapped)) == ("k" in mapped)


def test_a_number_written_to_each_element() -> None:
    def build(p: Any, x: Any, k: Any) -> Any:
        return p.emit("update", x, 2.0, k, path=(("index", (("int", 2), ALL, ALL)),))

    for mapped in (["x"], ["k"], ["x", "k"]):
        assert not loops(checked(build, {"x": X, "k": 1}, mapped))


def test_what_a_single_operation_can_select() -> None:
    sliced = (("slice", 1, None, None), ("int", 2))
    assert has_uniform_extent(sliced, [True, False, True])
    assert not has_uniform_extent(sliced, [True, True, False])
    masked = (("mask", 1), ("int", 2))
    assert selectable(masked, [True, False, False])
    assert not selectable(masked, [True, True, False])
    assert not selectable(masked, [True, False, True])
    assert selectable((("array", 1), ("all",), ("new",)), [True, True])

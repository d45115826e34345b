"""Batching rules: one operation for all elements, equal to a loop; None where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.nodes import Array, For, ListOf, Module, Scalar, Type, walk
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.rules import RULES
from s2s.transforms.rules.batching_rules import _BY_KIND, _BY_NAME, batching, batching_of
from tests.transforms.batches import check_batch
from tests.transforms.programs import int_scalar, program

RNG = np.random.default_rng(4)
A, B, C = RNG.normal(size=3), RNG.normal(size=(3, 4)), RNG.normal(size=(2, 4, 3))
WEAK = Scalar("float64", weak=True)


def typed(name: str, value: Any) -> Type:
    if isinstance(value, np.ndarray):
        dims = tuple(Dim.of(f"{name}.{i}") for i in range(value.ndim))
        return Array(value.dtype.name, dims)
    if isinstance(value, list):
        item = typed(name, value[0])
        assert isinstance(item, (Scalar, Array))
        return ListOf(item)
    if isinstance(value, (int, np.integer)):
        return int_scalar(name)
    return WEAK if type(value) is float else Scalar(np.asarray(value).dtype.name)


def batched(build: Callable[..., Any], mapped: str, **values: Any) -> Module:
    """Checks the batched program element by element, with sizes known and not."""
    module = program({n: typed(n, v) for n, v in values.items()}, build)
    check_batch(module, [*values.values()], mapped.split())
    sizes = {f"{n}.{i}": k for n, v in values.items() for i, k in enumerate(np.shape(v))}
    module = program({n: typed(n, v) for n, v in values.items()}, build)
    return check_batch(module, [*values.values()], mapped.split(), Facts({**sizes, "lanes.0": 5}))


def loops(module: Module) -> bool:
    return any(isinstance(s, For) for s in walk(module.main.body))


def test_rules_are_of_operations_that_exist() -> None:
    assert _BY_NAME.keys() <= RULES.keys()
    assert _BY_KIND.keys() <= {r.kind for r in RULES.values()}
    with pytest.raises(AssertionError, match="cumsum"):
        batching("cumsum")(lambda m: None)


def test_a_rule_of_its_own_comes_before_that_of_the_name_and_the_kind() -> None:
    assert batching_of(RULES["exp_as"]) is RULES["exp_as"].batching
    assert batching_of(RULES["argmax"]) is _BY_NAME["argmax"]
    assert batching_of(RULES["sin"]) is _BY_KIND["elementwise"]
    assert batching_of(RULES["index"]) is _BY_NAME["index"]


def listed(p: Any, *items: Any) -> Any:
    """A new list of values."""
    out = p.emit("list_new", type=ListOf(Array("float64", items[0].type.shape)))
    for item in items:
        out = p.emit("list_append", out, item)
    return out


# By name: a program, and its arguments.  Each is mapped over every subset of them.
PROGRAMS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "ranks": (lambda p, x, y: np.sin(x) * y, {"x": A, "y": C}),
    "number": (lambda p, x, y: x * y + 1.0, {"x": 0.5, "y": B}),
    "numbers": (lambda p, x, y: x * y, {"x": 0.5, "y": 0.25}),
    "single": (lambda p, x, y: x * y, {"x": 0.5, "y": np.float32(0.3)}),
    "where": (lambda p, x, y: np.where(x > 0.0, y, 1.0), {"x": A, "y": 0.5}),
    "cast": (lambda p, x: p.emit("cast", x, dtype="float32"), {"x": B}),
    "sum": (lambda p, x: p.emit("sum", x, axis=(1,), keepdims=True), {"x": C}),
    "sum all": (lambda p, x: p.emit("sum", x, axis=None, keepdims=False), {"x": C}),
    "argmax": (lambda p, x: p.emit("argmax", x, axis=(0,)), {"x": B}),
    "argmax all": (lambda p, x: p.emit("argmax", x, axis=None), {"x": B}),
    "cumsum": (lambda p, x: p.emit("cumsum", x, axis=1), {"x": C}),
    "unbroadcast": (lambda p, g, x: p.emit("unbroadcast", g, x), {"g": C, "x": A}),
    "stretched": (lambda p, x, y: p.emit("broadcast_like", x, y), {"x": A, "y": C}),
    "reshape": (lambda p, x: p.emit("reshape", x, 4, 3), {"x": B}),
    "broadcast_to": (lambda p, x: p.emit("broadcast_to", x, 2, 3), {"x": A}),
    "transpose": (lambda p, x: p.emit("transpose", x, axes=(2, 0, 1)), {"x": C}),
    "expand_dims": (lambda p, x: p.emit("expand_dims", x, axes=(0, 2)), {"x": A}),
    "full": (lambda p, x: p.emit("full", x, 2, 3, dtype="float32"), {"x": 0.5}),
    "full_like": (lambda p, x, v: p.emit("full_like", x, v, dtype="float32"), {"x": B, "v": 0.5}),
    "pack": (
        lambda p, x, y: p.emit("pack", x, y, 1.0, x, shape=(2, 2), dtype="float64"),
        {"x": 0.5, "y": 2.0},
    ),
    "concatenate": (lambda p, x, y: p.emit("concatenate", x, y, axis=1), {"x": B, "y": 2 * B}),
    "stack": (lambda p, x, y: p.emit("stack", x, y, axis=0), {"x": A, "y": 2 * A}),
    "outer": (lambda p, x, y: p.emit("outer", x, y), {"x": A, "y": B[0]}),
    "einsum": (
        lambda p, x, y: p.emit("einsum", x, y, subscripts="ij,kji->ki"),
        {"x": B, "y": C},
    ),
    "append": (lambda p, x, v: p.emit("list_stack", listed(p, x * v, v)), {"x": A, "v": 3 * A}),
    "set": (
        lambda p, x, v: p.emit("list_stack", p.emit("list_set", listed(p, x * v, x), 1, v)),
        {"x": A, "v": 3 * A},
    ),
    "get": (lambda p, x: p.emit("list_get", x, 1), {"x": [A, 2 * A]}),
    "list_stack": (lambda p, x: p.emit("list_stack", x), {"x": [A, 2 * A]}),
    "unstack": (lambda p, x: p.emit("list_get", p.emit("list_unstack", x), 1), {"x": B}),
}


def subsets(values: dict[str, Any]) -> list[str]:
    """All choices of mapped parameters, lists excepted: elements of a batch are stacked."""
    names = [n for n, v in values.items() if not isinstance(v, list)]
    return [
        " ".join(n for k, n in enumerate(names) if choice >> k & 1)
        for choice in range(1, 2 ** len(names))
    ]


CASES = [(name, mapped) for name, (_, values) in PROGRAMS.items() for mapped in subsets(values)]


@pytest.mark.parametrize(("name", "mapped"), CASES)
def test_one_operation_for_all_elements(name: str, mapped: str) -> None:
    build, values = PROGRAMS[name]
    assert not loops(batched(build, mapped, **values))


@pytest.mark.parametrize("left", [(3,), (2, 3), (4, 2, 3), (5, 1, 2, 3)])
@pytest.mark.parametrize("right", [(3,), (3, 2), (4, 3, 2), (1, 4, 3, 2)])
@pytest.mark.parametrize("mapped", ["x", "y", "x y"])
def test_products_of_every_rank(left: Any, right: Any, mapped: str) -> None:
    x, y = RNG.normal(size=left), RNG.normal(size=right)
    assert not loops(batched(lambda p, x, y: x @ y, mapped, x=x, y=y))


@pytest.mark.parametrize(
    ("build", "values"),
    [
        # Sizes that differ between elements; here they agree, which is known at run time only.
        (lambda p, x, n: p.emit("broadcast_to", x, n), {"x": np.float64(2.0), "n": 0}),
        (lambda p, x, n: p.emit("full", x, n, dtype="float64"), {"x": np.float64(2.0), "n": 0}),
    ],
)
def test_results_of_other_shapes_need_a_loop(build: Any, values: Any) -> None:
    assert loops(batched(build, "n", **values))


def test_the_first_maximum_of_one_number() -> None:
    assert loops(batched(lambda p, x: p.emit("argmax", x, axis=None, keepdims=True), "x", x=B))


def test_a_list_of_which_each_element_takes_another_item() -> None:
    def get(p: Any, x: Any, k: Any) -> Any:
        return p.emit("list_get", x, k)

    def set_and_get(p: Any, x: Any, k: Any, v: Any) -> Any:
        return p.emit("list_get", p.emit("list_set", x, k, v), 0)

    items = [A, 2 * A]
    assert loops(batched(get, "k", x=items, k=1))
    assert loops(batched(set_and_get, "k v", x=items, k=1, v=A))

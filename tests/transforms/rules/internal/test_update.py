"""Updates: what Python's assignment does, as a new array; regions, texts, errors, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.nodes import Assign, ListOf, Type
from s2s.transforms.ir.precedence import ATOM
from s2s.transforms.rules import RULES, Accumulate
from s2s.transforms.rules.internal.update import (
    add_contribution,
    path_text,
    read_path,
    region_flat_indices,
    target_text,
)
from tests.transforms.programs import F8, int_scalar, program, run, vector
from tests.transforms.rules.numeric import Trial, check_derivatives

X = np.arange(12.0).reshape(3, 4)
ALL = ("all",)
# Paths, their operands, and the same region in Python.
PATHS: list[tuple[Any, tuple[Any, ...], str]] = [
    ((), (), "x[...]"),
    ((("index", (("int", 2), ALL)),), (1,), "x[1]"),
    ((("index", (("int", 2), ALL)),), (-1,), "x[-1]"),
    ((("index", (ALL, ("slice", 2, None, 3))),), (1, 2), "x[:, 1::2]"),
    ((("index", (("array", 2), ALL)),), (np.array([2, 0]),), "x[[2, 0]]"),
    ((("index", (("mask", 2), ALL)),), (np.array([True, False, True]),), "x[[True, False, True]]"),
    ((("transpose", (1, 0)),), (), "x.T[...]"),
    ((("transpose", (1, 0)), ("index", (("int", 2), ALL))), (3,), "x.T[3]"),
    ((("reshape", (2, 3)), ("index", (("int", 4), ALL))), (2, 6, 1), "x.reshape(2, 6)[1]"),
    ((("index", (("int", 2), ALL)), ("index", (("int", 3),))), (1, 2), "x[1][2]"),
    ((("expand_dims", (0,)),), (), "np.expand_dims(x, 0)[...]"),
]


def value_for(target: str) -> Any:
    return -1.0 - np.arange(float(np.size(eval(target, {"x": X, "np": np})))).reshape(
        np.shape(eval(target, {"x": X, "np": np}))
    )


@pytest.mark.parametrize(("path", "operands", "target"), PATHS, ids=[t for *_, t in PATHS])
@pytest.mark.parametrize("name", ["update", "update_add"])
def test_an_update_is_the_assignment_on_a_copy(
    name: str, path: Any, operands: Any, target: str
) -> None:
    v = value_for(target)
    rule = RULES[name]
    assert rule.evaluate is not None
    for given in (X.copy(), np.asfortranarray(X)):
        want = X.copy()
        exec(f"{target} {'+=' if name == 'update_add' else '='} v", {"x": want, "v": v, "np": np})
        before = given.copy()
        np.testing.assert_array_equal(rule.evaluate(given, v, *operands, path=path), want)
        np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize(("path", "operands", "target"), PATHS, ids=[t for *_, t in PATHS])
def test_regions_are_read_and_written_as_python_text(path: Any, operands: Any, target: str) -> None:
    space = {f"o{k}": o for k, o in enumerate(operands)}
    texts = [("x", ATOM), ("v", ATOM), *((name, ATOM) for name in space)]
    want = eval(target, {"x": X, "np": np})
    np.testing.assert_array_equal(
        eval(path_text(texts[0], path, texts), {"x": X, "np": np, **space}), want
    )
    changed, expected = X.copy(), X.copy()
    exec(f"{target_text(texts[0], path, texts)} = 7.0", {"x": changed, "np": np, **space})
    exec(f"{target} = 7.0", {"x": expected, "np": np})
    np.testing.assert_array_equal(changed, expected)
    ids = region_flat_indices(X, path, (X, None, *operands))
    np.testing.assert_array_equal(X.reshape(-1)[ids], want)
    trial = Trial(X, *(np.asarray(o)[()] for o in operands))
    x, *syms = trial.syms
    (got,) = trial.run(read_path(trial.b, x, path, [x, None, *syms]))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("path", "operands", "target"), PATHS, ids=[t for *_, t in PATHS])
@pytest.mark.parametrize("name", ["update", "update_add"])
def test_derivatives(name: str, path: Any, operands: Any, target: str) -> None:
    given = [np.int64(o) if isinstance(o, int) else o for o in operands]
    check_derivatives(name, X, value_for(target), *given, path=path, wrt=[0, 1])
    check_derivatives(name, X, 2.0, *given, path=path, wrt=[0, 1])


def test_the_last_write_to_an_element_counts_and_every_addition() -> None:
    path = (("index", (("array", 2),)),)
    x, v, at = np.zeros(3), np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0])
    update, add = RULES["update"].evaluate, RULES["update_add"].evaluate
    assert update is not None and add is not None
    np.testing.assert_array_equal(update(x, v, at, path=path), [4.0, 2.0, 0.0])
    np.testing.assert_array_equal(add(x, v, at, path=path), [4.0, 3.0, 0.0])
    check_derivatives("update", x, v, at, path=path, wrt=[0, 1])
    check_derivatives("update_add", x, v, at, path=path, wrt=[0, 1])


def test_values_are_broadcast_and_converted_to_the_dtype_of_the_array() -> None:
    update = RULES["update"].evaluate
    assert update is not None
    out = update(np.zeros((2, 3), np.float32), np.array([[[0.1, 0.2, 0.3]]]), path=())
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, np.array([[0.1, 0.2, 0.3]] * 2, np.float32))


@pytest.mark.parametrize(
    ("x", "v"), [((3,), (2,)), ((3,), (2, 3)), ((2, 3), (2,)), ((0,), (2,)), ((3,), (0,))]
)
def test_values_that_do_not_fit_raise_numpys_error(x: Any, v: Any) -> None:
    params: dict[str, Type] = {"x": vector("x", len(x)), "v": vector("v", len(v))}
    module = program(params, lambda p, x, v: p.emit("update", x, v, path=()))
    with pytest.raises(ValueError) as error:
        run(module, np.zeros(x), np.ones(v))
    with pytest.raises(ValueError) as numpys:
        np.zeros(x)[...] = np.ones(v)
    assert str(error.value) == str(numpys.value)


@pytest.mark.parametrize("v", [(), (1,), (3,), (1, 1), (1, 3), (1, 1, 3), (2, 3)])
def test_values_that_fit_raise_nothing(v: Any) -> None:
    params: dict[str, Type] = {"x": vector("x", 2), "v": vector("v", len(v)) if v else F8}
    module = program(params, lambda p, x, v: p.emit("update", x, v, path=()))
    want = np.zeros((2, 3))
    want[...] = np.full(v, 2.0)
    np.testing.assert_array_equal(run(module, np.zeros((2, 3)), np.full(v, 2.0)[()])[0], want)


@pytest.mark.parametrize("k", [3, -4])
def test_an_index_out_of_range(k: int) -> None:
    params: dict[str, Type] = {"x": vector("x"), "k": int_scalar("k")}
    module = program(params, lambda p, x, k: p.set(x, 1.0, k))
    with pytest.raises(IndexError):
        run(module, np.zeros(3), k)


def test_a_contribution_to_no_adjoint_begins_with_zeros() -> None:
    trial = Trial(np.ones(3), 2.0, np.int64(1))
    x, v, k = trial.syms
    part = Accumulate(v, (("index", (("int", 2),)),), (k,))
    first = add_contribution(trial.b, None, x, part)
    second = add_contribution(trial.b, first, x, part)
    got = trial.run(first, second)
    np.testing.assert_array_equal(got, [[0.0, 2.0, 0.0], [0.0, 4.0, 0.0]])


def test_the_contribution_to_an_element_of_a_list() -> None:
    def build(p: Any, items: Any, v: Any, k: Any) -> Any:
        part = Accumulate(v, (("list", 2),), (k,))
        return add_contribution(p, add_contribution(p, None, items, part), items, part)

    params: dict[str, Type] = {"items": ListOf(F8), "v": F8, "k": int_scalar("k")}
    assert run(program(params, build), [1.0, 2.0], 0.5, 1) == [[0.0, 1.0]]


def test_the_zero_tangent_of_a_new_array_does_not_read_it() -> None:
    """Its old version need not be kept alive."""
    trial = Trial(2.0, np.int64(3))
    v, n = trial.syms
    made = trial.b.emit("ones", n, dtype="float64")
    rule = RULES["update"]
    assert rule.pushforward is not None
    attrs = {"path": (("index", (("int", 2),)),)}
    dot = rule.pushforward(trial.b, [None, v], None, [made, v, trial.b.sym(0)], attrs)
    readers = [s for s in trial.b.block if isinstance(s, Assign) and made.operand in s.op.args]
    assert not readers
    np.testing.assert_array_equal(trial.run(dot)[0], [2.0, 0.0, 0.0])

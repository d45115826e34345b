"""Sizes as lowered source, and results as Python expressions: evaluated, they are the values."""

from __future__ import annotations

import itertools
import math
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

from s2s import kernels
from s2s.aot.size_exprs import (
    leaves_of,
    literal,
    path_source,
    size_text,
    symbol_of,
    tree_text,
)
from s2s.errors import UnsupportedError
from s2s.transforms.frontend.pytree import Argument, Fixed, Out, Tree
from s2s.transforms.ir import symbolic_dims
from s2s.transforms.ir.symbolic_dims import Atom, Dim

N, M = Dim.of("n"), Dim.of("m")
NAMES = {"n": "a", "m": "b"}
VALUES = [*itertools.product((-7, -1, 0, 1, 2, 9), (-3, 0, 1, 5))]


def evaluated(dim: Dim, n: int, m: int) -> int:
    return eval(size_text(dim, NAMES), {"rt": kernels}, {"a": n, "b": m})


def test_polynomials() -> None:
    dims = [Dim.of(0), Dim.of(-3), N, N * M, N * N * 2 - M * 3 + 1, N * -1]
    dims += [symbolic_dims.max0(N - 2), symbolic_dims.max0(N - 2) * M + 1]
    for dim in dims:
        for n, m in VALUES:
            assert evaluated(dim, n, m) == dim.substitute({"n": n, "m": m}).const


@pytest.mark.parametrize("by", [1, 2, 3, 7])
def test_quotients(by) -> None:
    for n, m in VALUES:
        assert evaluated(symbolic_dims.floordiv(N * 2 + M, Dim.of(by)), n, m) == (2 * n + m) // by
        assert evaluated(symbolic_dims.remainder(N * 2 + M, Dim.of(by)), n, m) == (2 * n + m) % by


def test_lengths_of_slices() -> None:
    bounds = [None, Dim.of(-2), Dim.of(3), M]
    for start, stop, step in itertools.product(bounds, bounds, (1, 2, -1, -3)):
        dim = Atom.make("slice", "len", N, start, stop, Dim.of(step))
        for n, m in itertools.product((0, 1, 4, 9), (-3, 0, 1, 5)):
            ends = [None if b is None else b.substitute({"m": m}).const for b in (start, stop)]
            assert evaluated(dim, n, m) == len(range(n)[ends[0] : ends[1] : step])


def test_a_count_of_values_cannot_be_computed_from_sizes() -> None:
    with pytest.raises(UnsupportedError, match="ahead of time"):
        size_text(symbolic_dims.mask_count(N), NAMES)


def test_symbols() -> None:
    assert symbol_of(N) == "n" and symbol_of(N * 1) == "n"
    others = [N * 2, N + 1, N * N, N * M, Dim.of(3), Dim.of(0), symbolic_dims.max0(N - 1)]
    assert [symbol_of(d) for d in others] == [None] * len(others)


def test_literals_are_read_back() -> None:
    values = [True, None, -3, 2**70, 1.5, -0.0, math.inf, -math.inf, "a'b\n", b"\x00'"]
    for value in values:
        text = literal(value)
        assert text is not None
        found = eval(text)
        assert type(found) is type(value) and repr(found) == repr(value)
    assert math.isnan(eval(literal(math.nan) or ""))
    for value in (np.float64(1.0), (1, 2), [1], object(), type("T", (int,), {})(3)):
        assert literal(value) is None


def test_paths_are_read_back() -> None:
    p = {"a'b": [SimpleNamespace(w=5)], 2: (7,)}
    space = {"p": p}
    paths = {
        (("arg", "p"),): p,
        (("arg", "p"), ("[]", "a'b"), ("[]", 0), (".", "w")): 5,
        (("arg", "p"), ("[]", 2), ("[]", 0)): 7,
    }
    for path, value in paths.items():
        assert eval(path_source(path), dict(space)) is value  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="a key of type tuple"):
        path_source((("arg", "p"), ("[]", (1, 2))))  # type: ignore[arg-type]


Pair = namedtuple("Pair", "low high")


def test_trees_are_read_back() -> None:
    from collections import namedtuple as made

    space = {"namedtuple": made, "SimpleNamespace": SimpleNamespace, "found": [10, 20], "x": 30}
    inner = Tree("list", list, (0, 1), (Out(0), Fixed("s")))
    for tree, value in (
        (Tree("tuple", tuple, (0,), (Out(1),)), (20,)),
        (Tree("tuple", tuple, (), ()), ()),
        (inner, [10, "s"]),
        (Tree("dict", dict, ("k", 2), (inner, Argument((("arg", "x"),)))), {"k": [10, "s"], 2: 30}),
        (Tree("namedtuple", Pair, ("low", "high"), (Out(0), Out(1))), (10, 20)),
        (Tree("dataclass", SimpleNamespace, ("a",), (Out(0),)), SimpleNamespace(a=10)),
    ):
        assert eval(tree_text(tree, lambda i: f"found[{i}]"), dict(space)) == value
    with pytest.raises(UnsupportedError, match="has no place"):
        tree_text(Fixed(object()), str)


def test_leaves_are_named_for_their_keys() -> None:
    tree = Tree("dict", dict, ("a", "b"), (Out(3), Tree("list", list, (0, 1), (Out(1), Fixed(2)))))
    assert [*leaves_of(tree)] == [(3, "_a"), (1, "_b_0")]

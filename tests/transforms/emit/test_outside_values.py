"""What a text takes and gives: roots, paths, structures."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from typing import Any

import numpy as np

from s2s.transforms.emit.outside_values import Outside
from s2s.transforms.frontend.kernel_interface import Interface, Param
from s2s.transforms.frontend.pytree import Argument, ArraySpec, Fixed, Held, Out, Path, Tree
from s2s.transforms.ir.nodes import Array
from s2s.transforms.ir.symbolic_dims import Dim

SPEC, TYPE = ArraySpec("float64", 1, "C"), Array("float64", (Dim.of("n"),))


def outside(paths: dict[str, Path], out: Any = None, **rest: Any) -> Outside:
    params = [Param(name, path, SPEC, TYPE) for name, path in paths.items()]
    interface = Interface(("params", "x"), params, out or Out(0), **rest)
    return Outside.of(interface, {"taken"})


def test_paths_and_the_order_of_roots() -> None:
    made = outside({
        "net_w": (("global", "net"), (".", "w"), (".", "_array")),
        "x": (("arg", "x"),),
        "params_0_k": (("arg", "params"), ("[]", 0), ("[]", "k")),
    })  # fmt: skip
    assert list(made.roots.values()) == ["params", "x", "net"]
    assert made.reads == {"net_w": "net.w", "x": "x", "params_0_k": 'params[0]["k"]'}
    assert made.variables == {"net_w"}


def test_roots_that_no_expression_leads_to() -> None:
    made = outside({
        "w": (("global", "f"), (".", "__globals__"), ("[]", "w")),
        "v": (("module", "package.part"), (".", "taken"), (".", "v")),
        "u": (("global", "f"), (".", "__self__"), (".", "u")),
    })  # fmt: skip
    assert made.reads == {"w": "w", "v": "taken_1.v", "u": "self.u"}


Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass
class Plain:
    a: Any
    b: Any


@dataclasses.dataclass
class Checked:
    a: Any

    def __post_init__(self) -> None:
        assert self.a > 0


def test_structures() -> None:
    paths: dict[str, Path] = {"x": (("arg", "x"),)}
    leaf = "abc".__getitem__
    two = (Out(0), Out(1))
    made = outside(paths, Tree("namedtuple", Pair, (0, 1), two))
    assert made.tree_text(made.interface.out, leaf) == "Pair(a, b)"
    made = outside(paths, Tree("dict", dict, ("k", 3), (Out(2), Fixed("s"))))
    assert made.tree_text(made.interface.out, leaf) == '{"k": c, 3: "s"}'
    made = outside(paths, Tree("tuple", tuple, (0,), (Argument((("arg", "x"),)),)))
    assert made.tree_text(made.interface.out, leaf) == "(x,)"
    plain = Tree("dataclass", Plain, ("a", "b"), two)
    assert outside(paths).tree_text(plain, leaf, (("arg", "x"),)) == "type(x)(a, b)"
    checked = Tree("dataclass", Checked, ("a",), (Out(0),))
    assert outside(paths).tree_text(checked, leaf, (("arg", "x"),)) == "SimpleNamespace(a=a)"


def test_objects_in_results_are_parameters() -> None:
    made = outside({"x": (("arg", "x"),)}, Tree("list", list, (0, 1), (Fixed(np.sin), Fixed(None))))
    assert made.tree_text(made.interface.out, "abc".__getitem__) == "[sin, None]"
    assert made.roots[(("held", Held(np.sin)),)] == "sin"

"""Random array programs, lowered, against the reference interpreter of the IR.

They combine features that are difficult for fusion: views, broadcasts, reductions, writes to parts
of arrays that are still live, loop-carried arrays, branches.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from s2s.transforms.bufferize.bufferize import bufferize
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir import nodes
from s2s.transforms.ir.builder import Builder, NameSupply, Sym, const
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.lower.lower import lower
from tests.transforms.lower.harness import agree, execute, param, strong

SEEDS = int(os.environ.get("S2S_FUZZ", "60"))


class Program:
    """Generates one program; `values` are the arrays and scalars in scope."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        rng = np.random.default_rng(seed)
        n, m = self.r.choice([1, 2, 3, 4]), self.r.choice([1, 2, 3])
        self.args = [
            rng.normal(size=(n, m)), rng.normal(size=(m,)), rng.normal(size=(n, 1)),
            rng.normal(size=(n,)), float(rng.normal()), rng.normal(size=(m, n)).T,
        ]  # fmt: skip
        params = [param("abcdefgh"[i], a) for i, a in enumerate(self.args)]
        sizes = {
            f"{p.name}.{k}": s
            for p, a in zip(params, self.args)
            if isinstance(a, np.ndarray)
            for k, s in enumerate(a.shape)
        }
        self.facts = Facts(sizes if self.r.random() < 0.7 else None)
        self.b = Builder(NameSupply([p.name for p in params]), self.facts)
        self.values: list[Sym] = [Sym(self.b, p) for p in params]
        self.grow(self.r.randint(3, 20), depth=0)
        results = [self.pick().operand for _ in range(3)]
        self.module = nodes.Module({"f": nodes.Function("f", params, self.b.block, results)}, "f")

    # ---- picking

    def pick(self, least: int = 0, most: int = 9) -> Sym:
        fitting = [v for v in self.values if least <= v.ndim <= most]
        # Later values are selected more often, which makes chains longer.
        return fitting[-1 - min(int(self.r.expovariate(0.4)), len(fitting) - 1)]

    def like(self, v: Sym) -> Sym:
        """A value that broadcasts with `v`."""
        fitting = [w for w in self.values if self._meets(v, w)]
        return self.r.choice(fitting[-6:]) if fitting else self.b.sym(1.5)

    def _meets(self, v: Sym, w: Sym) -> bool:
        for p, q in zip(v.type.shape[::-1], w.type.shape[::-1]):
            known = [self.facts.canonical(d) for d in (p, q)]
            if Dim.of(1) not in known and known[0] != known[1]:
                return False
        return True

    # ---- growing

    def grow(self, count: int, depth: int) -> None:
        for _ in range(count):
            kinds = [self.unary, self.binary, self.binary, self.reduce, self.view, self.slice,
                     self.write, self.write, self.choose, self.add]  # fmt: skip
            if depth < 2:
                kinds += [self.loop, self.branch]
            made = self.r.choice(kinds)(depth) if depth < 2 else self.r.choice(kinds)(9)
            self.values += [v for v in made if v.ndim <= 3]

    def unary(self, depth: int) -> list[Sym]:
        return [self.b.emit(self.r.choice(["tanh", "negative", "sin", "absolute"]), self.pick())]

    def binary(self, depth: int) -> list[Sym]:
        x = self.pick()
        name = self.r.choice(["add", "subtract", "multiply", "maximum"])
        return [self.b.emit(name, x, self.like(x))]

    def choose(self, depth: int) -> list[Sym]:
        x = self.pick()
        y = self.like(x)
        return [np.where(x > y, x, y * 0.5)]

    def reduce(self, depth: int) -> list[Sym]:
        x = self.pick(1)
        axis = self.r.choice([None, (0,), (x.ndim - 1,)])
        name = self.r.choice(["sum", "mean", "max"])
        return [
            self.b.emit(name, x, axis=axis, keepdims=axis is not None and self.r.random() < 0.5)
        ]

    def view(self, depth: int) -> list[Sym]:
        x = self.pick(1)
        kind = self.r.choice(["transpose", "expand", "ravel"])
        if kind == "transpose":
            axes = list(range(x.ndim))
            self.r.shuffle(axes)
            return [self.b.emit("transpose", x, axes=tuple(axes))]
        if kind == "expand":
            return [self.b.emit("expand_dims", x, axes=(self.r.randint(0, x.ndim),))]
        total: Sym | int = 1
        for s in x.shape:
            total = s * total
        return [self.b.emit("reshape", x, total)]

    def items(self, x: Sym, at: int) -> tuple[tuple[object, ...], list[object]]:
        """A random basic index with steps and reversals, and its operands."""
        items, numbers = [], []
        for _ in range(x.ndim):
            kind = self.r.choice(["all", "all", "head", "tail", "back", "first"])
            if kind == "all":
                items.append(("all",))
                continue
            numbers.append({"head": -1, "tail": 1, "back": -1, "first": 0}[kind])
            p = at + len(numbers) - 1
            shapes = {"head": (None, p, None), "tail": (p, None, None), "back": (None, None, p)}
            items.append(("int", p) if kind == "first" else ("slice", *shapes[kind]))
        return tuple(items), numbers

    def slice(self, depth: int) -> list[Sym]:
        x = self.pick(1)
        items, numbers = self.items(x, 1)
        return [self.b.emit("index", x, *numbers, items=items)]

    def write(self, depth: int) -> list[Sym]:
        x = self.pick(1)
        if not x.type.dtype.startswith("float"):
            return []
        items, numbers = self.items(x, 2)
        name = self.r.choice(["update", "update_add"])
        here = [p - 1 if isinstance(p, int) else p for item in items for p in item]
        read, k = [], 0
        for item in items:
            read.append(tuple(here[k : k + len(item)]))
            k += len(item)
        if self.r.random() < 0.6:
            # The value is from another part of the same array, or from the same part.
            region = self.b.emit("index", x, *numbers, items=tuple(read))
            v = region * 0.5 + (
                0.25 if self.r.random() < 0.5 else self.b.emit("sum", x, axis=None, keepdims=False)
            )
            if region.ndim == 1 and self.r.random() < 0.5:
                v = self.b.emit("index", v, -1, items=(("slice", None, None, 1),))
        else:
            v = self.b.sym(0.75)
        return [self.b.emit(name, x, v, *numbers, path=(("index", items),) if items else ())]

    def add(self, depth: int) -> list[Sym]:
        x = self.pick(1)
        if not x.type.dtype.startswith("float"):
            return []
        same = [v for v in self.values if v.type == x.type]
        return [self.b.emit("update_add", x, self.r.choice(same) * 2.0, path=())]

    def carried(self) -> Sym:
        return self.pick(0, 2)

    def loop(self, depth: int) -> list[Sym]:
        if depth >= 2:
            return self.unary(depth)
        name = self.b.names.fresh("i")
        index = nodes.Var(name, nodes.Scalar("int64", value=Dim.of(name)))
        inits = [self.carried() for _ in range(self.r.randint(1, 2))]
        inits = [v for v in inits if v.type.dtype.startswith("float")]
        if not inits:
            return []
        phis = [self.b.var(_free(v.type), "w") for v in inits]
        outer, block = list(self.values), []
        with self.b.into(block):
            self.values += [self.b.sym(p) for p in phis] * 2
            self.grow(self.r.randint(1, 4), depth + 1)
            nexts = []
            for p in phis:
                fitting = [v for v in self.values if v.type == p.type]
                nexts.append(self.r.choice(fitting[-3:]))
        self.values = outer
        outs = [self.b.var(p.type, "w") for p in phis]
        carried = [
            nodes.Carried(p, i.operand, n.operand, o)
            for p, i, n, o in zip(phis, inits, nexts, outs)
        ]
        trips = const(self.r.choice([0, 1, 2, 3]))
        self.b.block.append(nodes.For(index, const(0), trips, const(1), block, carried))
        return [self.b.sym(o) for o in outs]

    def branch(self, depth: int) -> list[Sym]:
        if depth >= 2:
            return self.unary(depth)
        x = self.carried()
        if not x.type.dtype.startswith("float"):
            return []
        scalars = [v for v in self.values if v.ndim == 0 and v.type.dtype == "float64"]
        cond = self.r.choice(scalars) > 0.1
        outer, blocks, ends = list(self.values), [], []
        for _ in range(2):
            block: nodes.Block = []
            with self.b.into(block):
                self.grow(self.r.randint(1, 3), depth + 1)
                fitting = [v for v in self.values if v.type == x.type]
                ends.append(self.r.choice(fitting[-3:]))
            self.values = list(outer)
            blocks.append(block)
        out = self.b.var(_free(x.type), "w")
        phi = nodes.Phi(out, ends[0].operand, ends[1].operand)
        self.b.block.append(nodes.If(cond.operand, blocks[0], blocks[1], [phi]))
        return [self.b.sym(out)]


def _free(type_: nodes.Type) -> nodes.Type:
    """The type of a phi, with any layout."""
    return (
        nodes.Array(type_.dtype, type_.shape, type_.layout)
        if isinstance(type_, nodes.Array)
        else type_
    )


@pytest.mark.parametrize("seed", range(SEEDS))
def test_lowered_program_agrees_with_the_interpreter(seed: int) -> None:
    program = Program(seed)
    error: type[Exception] | None = None
    try:
        want, _ = evaluate(program.module, *strong(program.args))
    except (IndexError, ValueError) as e:
        error, want = type(e), []
    kernel = lower(bufferize(program.module, for_lowering=True), program.facts)
    given = [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in program.args]
    with np.errstate(all="ignore"):
        if error is not None:
            with pytest.raises(error):
                execute(kernel.text)["f"](*strong(given))
            return
        got = execute(kernel.text)["f"](*strong(given))
    for g, w in zip(got, want, strict=True):
        agree(g, w, 1e-9)
    for g, a in zip(given, program.args):
        np.testing.assert_array_equal(g, a)

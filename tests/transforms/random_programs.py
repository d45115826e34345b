"""Random programs in value form that overwrite, alias, swap and branch: for `bufferize`."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from s2s.transforms.ir.builder import Sym
from s2s.transforms.ir.nodes import Array, Function, Module, Scalar, Var
from s2s.transforms.ir.symbolic_dims import Dim

from .programs import F8, Program

N = 3
MATRIX = Array("float64", (Dim.of(N), Dim.of(N)))
NAMES = ("a", "b", "c", "d")


class Random:
    """Appends statements at random; `pool` holds the matrices visible at this point."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.p = Program()
        self.budget = self.rng.randint(4, 14)

    def function(self) -> Module:
        p, rng = self.p, self.rng
        params = [Var(p.names.fresh(n), MATRIX, n) for n in NAMES[: rng.randint(1, 3)]]
        k = Var(p.names.fresh("k"), Scalar("int64", value=Dim.of("k")), "k")
        p.line()
        pool = self.block([p.sym(v) for v in params], p.sym(k), 0)
        results = [rng.choice(pool).operand for _ in range(rng.randint(1, 3))]
        written = rng.sample(params, rng.randint(0, len(params)))
        effects = [(v, rng.choice(pool[-4:]).operand) for v in written]
        f = Function("f", [*params, k], p.block, results, effects)
        return Module({"f": f}, "f")

    def user(self) -> dict[str, str]:
        name = self.rng.choice(NAMES) if self.rng.random() < 0.5 else ""
        return {"hint": name or "t", "user": name}

    def block(self, pool: list[Sym], k: Sym, depth: int) -> list[Sym]:
        pool = list(pool)
        for _ in range(self.rng.randint(2, 6)):
            self.budget -= 1
            kind = self.rng.random()
            if self.budget > 0 and depth < 3 and kind < 0.22:
                pool += self.loop(pool, k, depth)
            elif self.budget > 0 and depth < 3 and kind < 0.34:
                pool += self.branch(pool, k, depth)
            else:
                pool.append(self.statement(pool, k))
            self.p.line()
        return pool

    def pick(self, pool: list[Sym]) -> Sym:
        # Recent values are selected more often, so that many are live.
        return self.rng.choice(pool[-3:] if self.rng.random() < 0.7 else pool)

    def statement(self, pool: list[Sym], k: Sym) -> Sym:
        p, rng = self.p, self.rng
        x, y = self.pick(pool), self.pick(pool)
        kind = rng.randrange(11)
        if kind == 0:
            return p.emit("add", x, y, **self.user())
        if kind == 1:
            return p.emit("multiply", x, 0.5, **self.user())
        if kind == 2:
            return p.emit("transpose", x, axes=(1, 0), **self.user())
        if kind == 3:
            items = (("slice", None, None, 1), ("all",))
            return p.emit("index", x, -1, items=items, **self.user())
        if kind == 4:
            row = p.emit("index", x, rng.randrange(N), items=(("int", 1), ("all",)), hint="row")
            return p.emit("broadcast_to", row, N, N, **self.user())
        if kind == 5:
            return p.emit("copy", x, **self.user())
        if kind == 6:
            flat = p.emit("reshape", x, N * N)
            return p.emit("reshape", flat, N, N, **self.user())
        return self.update(x, y, k, kind)

    def update(self, x: Sym, y: Sym, k: Sym, kind: int) -> Sym:
        p, rng = self.p, self.rng
        name = rng.choice(("update", "update_add"))
        if kind == 7:
            path: Any = (("index", (("int", 2), ("int", 3))),)
            return p.emit(name, x, p.sum(y), rng.randrange(N), k, path=path, **self.user())
        if kind == 8:
            row = p.emit("index", y, rng.randrange(N), items=(("int", 1), ("all",)), hint="row")
            path = (("index", (("int", 2), ("all",))),)
            return p.emit(name, x, row, rng.randrange(N), path=path, **self.user())
        if kind == 9:
            path = (("transpose", (1, 0)), ("index", (("slice", 2, None, None), ("all",))))
            value = p.sum(y)
            return p.emit(name, x, value, 1, path=path, **self.user())
        return p.emit(name, x, y, path=(), **self.user())

    def loop(self, pool: list[Sym], k: Sym, depth: int) -> list[Sym]:
        p, rng = self.p, self.rng
        inits = [self.pick(pool) for _ in range(rng.randint(1, 3))]
        names = [rng.choice(NAMES) for _ in inits]
        if len(set(names)) < len(names):
            names = list(NAMES[: len(inits)])

        def body(i: Sym, *state: Sym) -> list[Sym]:
            inner = self.block([*pool, *state], k, depth + 1)
            return [rng.choice(inner[-5:]) for _ in state]

        def until(i: Sym, *state: Sym) -> Sym:
            return p.sum(state[0]) > 4.0

        stop = rng.choice((0, 1, 2, 3))
        options = {"until": until} if rng.random() < 0.3 else {}
        if rng.random() < 0.3:
            return self.while_loop(inits, names, stop, pool, k, depth)
        return p.loop(stop, inits, body, names=names, types=[MATRIX] * len(inits), **options)

    def while_loop(
        self, inits: list[Sym], names: list[str], stop: int, pool: list[Sym], k: Sym, depth: int
    ) -> list[Sym]:
        p, rng = self.p, self.rng

        def test(n: Sym, *state: Sym) -> list[Sym]:
            return [n < float(stop)]

        def body(n: Sym, *state: Sym) -> list[Sym]:
            inner = self.block([*pool, *state], k, depth + 1)
            return [n + 1.0, *(rng.choice(inner[-5:]) for _ in state)]

        zero = Var(p.names.fresh("n"), F8)
        p.block.append(_zero(zero))
        return p.repeat([zero, *inits], test, body, names=["n", *names])[1:]

    def branch(self, pool: list[Sym], k: Sym, depth: int) -> list[Sym]:
        p, rng = self.p, self.rng
        count = rng.randint(1, 2)

        def side() -> list[Sym]:
            inner = self.block(pool, k, depth + 1) if rng.random() < 0.8 else pool
            return [rng.choice(inner[-5:]) for _ in range(count)]

        cond = p.sum(self.pick(pool)) > 0.5
        out = p.branch(cond, side, side, name=rng.choice(NAMES))
        return out[:1] if count == 1 else out


def _zero(v: Var) -> Any:
    from s2s.transforms.ir.builder import const
    from s2s.transforms.ir.nodes import Assign, Op

    return Assign(v, Op("multiply", (const(np.float64(0.0)), const(np.float64(1.0)))))


def arguments(module: Module, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    *arrays, _ = module.main.params
    return [*(np.round(rng.normal(size=(N, N)), 2) for _ in arrays), int(rng.integers(0, N))]

"""Nests of loops over matrices, as numerical programs have them.

Loop passes (`transforms/lower`) match these: sums of rows, hinges, a factorisation, maxima of rows,
an in-place stencil, a short innermost axis, and buffers of which an iteration uses one row.
"""

from __future__ import annotations

from .scope import Scope, indented
from .statements import Lines, Statements


class Nests(Statements):
    def nest(self, scope: Scope) -> Lines:
        make = self.rng.choice(
            [
                self.added_rows, self.hinges, self.factor, self.softmax, self.stencil,
                self.channels, self.kept_rows,
            ]
        )  # fmt: skip
        return make(scope, self.rng.choice(["m", *scope.of("m")]))

    def _new(self, scope: Scope) -> str:
        """Define a matrix."""
        name = self.fresh("o")
        scope.names[name] = "m"
        return name

    def _rounds(self, i: str) -> str:
        fixed = ["n + 2", "1, n + 2", "n + 1, -1, -1"]
        return self.rng.choice([*fixed, i, f"{i} + 1", f"{i}, n + 2", f"n + 1, {i}, -1"])

    def added_rows(self, scope: Scope, a: str) -> Lines:
        r = self.rng
        o, g, i, j, c = self._new(scope), *map(self.fresh, "gijc")
        part = r.choice(["", "", ", 1:"])
        lines = [f"{o} = {a} * 0.5", f"{g} = np.sin({a} @ {a}.T)", f"for {i} in range(n + 2):"]
        lines += [f"    for {j} in range({self._rounds(i)}):"]
        lines += [f"        {c} = {g}[{i}, {j}] * {r.choice(['0.3', 'x[0]', f'x[{j}]'])}"]
        lines += [f"        {o}[{i}{part}] {r.choice('+-')}= {c} * {a}[{j}{part}]"]
        if r.random() < 0.3:
            lines += [f"        {g}[{i}, {j}] = {c} * 0.5"]
        return lines

    def hinges(self, scope: Scope, a: str) -> Lines:
        """Hinges of the rows of an argument that is not written."""
        t, i, j, z = self.pick(scope, "s"), *map(self.fresh, "ijz")
        kind = self.rng.choice([f"np.maximum(0.0, {z} - 0.2)", f"({z} if {z} > 0.1 else 0.0)"])
        return [
            f"for {i} in range(n + 2):", f"    for {j} in range({self._rounds(i)}):",
            f"        {z} = np.dot(m[{i}], {a}[{j}])", f"        {t} = np.sin({t} + {kind})",
        ]  # fmt: skip

    def factor(self, scope: Scope, a: str) -> Lines:
        t, f, g, i, j, k, z = self.pick(scope, "s"), *map(self.fresh, "fgijkz")
        return [
            f"{g} = np.sin({a} @ {a}.T) + 9.0 * np.eye(n + 2) * (n + 2)",
            f"{f} = np.zeros((n + 2, n + 2))", f"for {i} in range(n + 2):",
            f"    for {j} in range({i}):", f"        {z} = {g}[{i}, {j}]",
            f"        for {k} in range({j}):", f"            {z} -= {f}[{i}, {k}] * {f}[{j}, {k}]",
            f"        {f}[{i}, {j}] = {z} / {f}[{j}, {j}]", f"    {z} = {g}[{i}, {i}]",
            f"    for {k} in range({i}):", f"        {z} -= {f}[{i}, {k}] ** 2",
            f"    {f}[{i}, {i}] = np.sqrt({z})", f"{t} = np.sin({t}) + 0.1 * np.sum({f})",
        ]  # fmt: skip

    def softmax(self, scope: Scope, a: str) -> Lines:
        t, o, e = self.pick(scope, "s"), self._new(scope), self.fresh("e")
        return [
            f"{e} = np.exp(np.sin({a}) - np.max(np.sin({a}), axis=1, keepdims=True))",
            f"{o} = {e} / np.sum({e}, axis=1, keepdims=True)",
            f"{t} = np.sin({t}) - np.sum(np.log({o}[idx % (n + 2), idx % 3] + 0.1))",
        ]

    def stencil(self, scope: Scope, a: str) -> Lines:
        o, i = self._new(scope), self.fresh("i")
        inner = f"np.sin({o}[:-2]) + 0.3 * {o}[2:] * {o}[1:-1]"
        return [
            f"{o} = {a} * 1.0", f"for {i} in range({self.rng.choice(['2', 'n'])}):",
            f"    {o}[1:-1] = {self.rng.choice([inner, f'0.5 * ({o}[:-2] + {o}[2:])'])}",
        ]  # fmt: skip

    def channels(self, scope: Scope, a: str) -> Lines:
        t, z, i, j, c = self.pick(scope, "s"), *map(self.fresh, "zijc")
        return [
            f"{z} = np.zeros((n + 2, n + 1, 3))", f"for {i} in range(n + 2):",
            f"    for {j} in range(n + 1):", f"        for {c} in range(3):",
            f"            {z}[{i}, {j}, {c}] = {a}[{i}, {c}] * x[{j}] + {a}[{j}, {c}]",
            f"{t} = np.sin({t}) + 0.1 * np.sum(np.cos({z}))",
        ]  # fmt: skip

    def kept_rows(self, scope: Scope, a: str) -> Lines:
        """A matrix of which each iteration uses a row, filled in a loop that counts down."""
        t, z, i, j, k = self.pick(scope, "s"), *map(self.fresh, "zijk")
        row = [
            f"for {j} in range({k} + 1):", f"    {z}[{i}, {j}] = {a}[{i}, {j}] * x[{i}]",
            f"for {j} in range({k} + 1):", f"    {t} = np.sin({t} + {z}[{i}, {j}])",
        ]  # fmt: skip
        return [
            f"{k} = 3 + 0 * idx[0]", f"while {k} > 1:", f"    {z} = np.zeros((n + 2, {k}))",
            f"    {k} = {k} - 1", f"    for {i} in range(n + 2):", *indented(indented(row)),
        ]  # fmt: skip

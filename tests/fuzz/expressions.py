"""Generators of random expressions, by kind of value."""

from __future__ import annotations

import random

from .scope import INDEXED, SIZES, VECTORS, Scope

CONSTANTS = ["0.5", "1.5", "-0.7", "0.25", "2.0", "0.1", "1", "3"]


class Expressions:
    def __init__(self, rng: random.Random, pure: bool) -> None:
        self.rng = rng
        self.pure = pure  # True: no in-place writes
        self.functions: list[str] = []  # functions of one scalar that the program defines

    def pick(self, scope: Scope, *kinds: str) -> str:
        return self.rng.choice(scope.of(*kinds))

    def const(self) -> str:
        return self.rng.choice(CONSTANTS)

    # ---- integers

    def index(self, scope: Scope, kind: str) -> str:
        """An index that is valid for a vector of this kind."""
        safe = {
            "v": ["0", "1", "-1", "-2"], "w": ["0", "-1"], "u": ["0", "1", "2", "-1"],
            "q": ["0", "-1"],
        }[kind]  # fmt: skip
        indices, ints = scope.of("i"), [k for k in scope.of("k") if k != "n"]
        if kind == "v":
            safe += ["n", "idx[1]"]
            safe += [text for i in indices for text in (i, f"{i} + 1", f"n - {i}", f"-{i} - 1")]
        if kind == "w":
            safe += [text for i in indices for text in (i, f"{i} + 1", f"n - 1 - {i}")]
        if ints and kind in SIZES and self.rng.random() < 0.4:
            return f"{self.rng.choice(ints)} % {self.sized(kind)}"
        return self.rng.choice(safe)

    def sized(self, kind: str) -> str:
        return SIZES[kind] if kind == "u" else f"({SIZES[kind]})"

    def element(self, scope: Scope) -> str:
        """An element of an array; x always has one."""
        choices = scope.any(INDEXED) or [("x", "v")]
        if scope.of("y") and scope.of("i") and self.rng.random() < 0.2:
            return f"{self.pick(scope, 'y')}[{self.pick(scope, 'i')}]"
        if scope.of("d") and self.rng.random() < 0.1:
            return f"{self.pick(scope, 'd')}[()]"
        name, kind = self.rng.choice(choices)
        if kind == "m":
            return f"{name}[{self.index(scope, 'v')}, {self.index(scope, 'u')}]"
        return f"{name}[{self.index(scope, kind)}]"

    def integer(self, scope: Scope) -> str:
        forms = ["n", "idx[0]", "n // 2", "len(x)", "m.shape[0]"]
        forms += [f"{k} + 1" for k in scope.of("k")] + [f"{k} * 2" for k in scope.of("i")]
        forms += [f"int(np.argmax({v}))" for v in scope.of("v", "q")]
        forms += [f"int({self.condition(scope)})"]
        return self.rng.choice(forms)

    # ---- numbers

    def scalar(self, scope: Scope, depth: int = 1) -> str:
        r = self.rng
        if depth <= 0 or r.random() < 0.15:
            choices = [self.pick(scope, "s"), self.const(), *[self.element(scope)] * 2]
            if len(scope.of("k")) > 1 and r.random() < 0.3:
                choices.append(f"{self.pick(scope, 'k')} * 0.5")
            choices += [f"{x}[-1]" for x in scope.of("l")] + [f"{x} * 1.5" for x in scope.of("d")]
            return r.choice(choices)
        forms = self._reduced(scope, depth) if r.random() < 0.4 else self._composed(scope, depth)
        return r.choice(forms)

    def _composed(self, scope: Scope, depth: int) -> list[str]:
        a, b = self.scalar(scope, depth - 1), self.scalar(scope, depth - 1)
        forms = [
            f"{a} + {b}", f"{a} - {b}", f"({a}) * ({b})", f"np.sin({a})", f"np.tanh({a})",
            f"({a}) / (1.5 + ({b}) ** 2)", f"np.exp(-({a}) ** 2)", f"mix({a}, {b})",
            f"max({a}, {b})", f"min({a}, {b})", f"abs({a})", f"-({a})", f"({a}) ** 2",
            f"({a} if {self.condition(scope)} else {b})", f"pair({a}, {b})[1]",
            f"np.arctan2({a}, 2.0 + ({b}) ** 2)", f"np.sqrt(1.0 + ({a}) ** 2)",
            f"np.where({self.condition(scope)}, {a}, {b})", f"np.clip({a}, -0.6, 0.8)",
            f"np.maximum({a}, {b})", f"(1.5 + np.cos({a})) ** ({b})", f"sorted([{a}, {b}, 0.1])[1]",
            f"({a}) % 0.7", f"({a} if -0.5 < {b} < 0.6 else 0.3)", f"np.prod([{a}, {b}, 2.0])",
            f"sum(p * q for p, q in zip([{a}, 0.5], [{b}, {a}]))", f"scaled({a}, shift={b})",
        ]  # fmt: skip
        forms += [f"{g}({a})" for g in self.functions] * 3
        if not self.pure:
            forms += [f"math.sin({a})", f"math.exp(-abs({a}))", f"float({a})"]
        if scope.of("k"):
            forms.append(f"power({a}, {self.pick(scope, 'k')})")
        return forms

    def _reduced(self, scope: Scope, depth: int) -> list[str]:
        """Scalars computed from arrays and lists."""
        r = self.rng
        a = self.scalar(scope, depth - 1)
        forms = [f"np.sum(x * {a})", "np.sum(y)", "np.prod(np.sin(y))", f"(d * {a})"]
        named = scope.any(VECTORS)
        if named:
            v, kind = r.choice(named)
            forms += [f"np.sum({v})", f"{v}.sum()", f"norm({v})", f"({v} @ {v})",
                      f"np.prod(np.sin({v}))", f"first_above({v}, {a})",
                      f"sum([e * e for e in {v}])", f"np.sum({v}[{v} > 0.1])",
                      f"np.sum({v}[::2] * {a})", f"np.dot({v}, np.cos({v}))",
                      f"sum(e * {a} for e in {v})"]  # fmt: skip
            if kind != "y":
                forms += [f"np.mean({v} * {a})", f"np.max({v})", f"np.var({v})", f"{v}.min()",
                          f"halves({v})", f"np.sqrt(1.0 + np.std({v}) ** 2)",
                          f"np.sort({v})[0]", f"np.cumsum({v})[-1]"]  # fmt: skip
            if kind == "v" and scope.of("i"):
                i = self.pick(scope, "i")
                forms += [f"np.sum({v}[{i}:])", f"np.sum({v}[:{i}] * {a})",
                          f"np.sum({v}[{i}:{i} + 2])", f"({v}[{i}:] @ {v}[{i}:])"]  # fmt: skip
        if scope.of("m"):
            m = self.pick(scope, "m")
            forms += [f"np.sum({m} * {a})", f"np.max({m}[:, 1])", f"np.sum({m}[idx])",
                      f"np.sum({m}[:, None] * {m}[None, :, :1])" if not named else f"{m}.mean()",
                      f"np.sum({m}.T @ {m})", f"np.trace({m} @ {m}.T)"]  # fmt: skip
        for x in scope.of("l"):
            forms += [f"sum({x})", f"np.sum(np.array({x}))", f"{x}[0] * {a}",
                      f"max({x})", f"len({x}) * {a}"]  # fmt: skip
        return forms

    # ---- vectors and matrices

    def vector(self, scope: Scope, kind: str, depth: int = 1) -> str:
        """An expression of kind v, w, u, y or q."""
        r = self.rng
        if kind == "q":
            return self._ragged(scope, depth)
        if depth <= 0:
            return r.choice(self._pieces(scope, kind))
        a, b = self.vector(scope, kind, depth - 1), self.vector(scope, kind, depth - 1)
        if r.random() < 0.3:
            forms = self._particular(scope, kind, a)
            if forms:
                return r.choice(forms)
        return r.choice([
            f"{a} + {b}", f"({a}) * ({b})", f"np.sin({a})", f"{a} - {self.scalar(scope)}",
            f"({a}) / (1.5 + ({b}) ** 2)", f"np.where({a} > {b}, {a}, {self.scalar(scope, 0)})",
            f"np.maximum({a}, {b})", f"({a}) * ({self.scalar(scope)})", f"-({a})",
            f"np.clip({a}, -0.5, 0.7)", f"np.abs({a})", f"np.tanh({a}) ** 2",
            f"np.minimum({a}, {self.scalar(scope, 0)})", f"np.exp(-({a}) ** 2)",
            f"({a}).copy()", f"np.stack(({a}, {b}))[1]", f"np.where({a} > 0.0, {a}, -0.5)",
            f"np.sqrt(1.0 + ({a}) ** 2)",
        ])  # fmt: skip

    def _pieces(self, scope: Scope, kind: str) -> list[str]:
        """An expression over the names of this kind, never the bare name of an array."""
        v, m = [*scope.of("v"), "x"], [*scope.of("m"), "m"]
        out = [f"{name} * {self.const()}" for name in scope.of(kind)]
        if kind == "v":
            out += [f"{self.rng.choice(m)}[:, {self.index(scope, 'u')}]"]
            out += [f"{self.rng.choice(v)}[::-1]", "np.concatenate((y, x[:2]))"]
        elif kind == "w":
            out += [f"{self.rng.choice(v)}[1:]", f"{self.rng.choice(v)}[:-1]"]
            out += [f"np.diff({self.rng.choice(v)})"]
        elif kind == "u":
            out += [f"{self.rng.choice(m)}[{self.index(scope, 'v')}]"]
            out += [f"{self.rng.choice(v)}[idx]", f"{self.rng.choice(m)}[idx, 1]"]
        else:
            out += ["y * 0.5", f"{self.rng.choice(v)}[2:]", f"{self.rng.choice(v)}[1:-1]"]
        if self.rng.random() < 0.15:
            out.append(f"np.full({SIZES[kind]}, {self.scalar(scope, 0)})")
        return out

    def _particular(self, scope: Scope, kind: str, a: str) -> list[str]:
        """Forms that exist for one kind only."""
        m = self.rng.choice([*scope.of("m"), "m"])
        if kind == "u":
            return [f"np.mean({m}, axis=0)", f"{m}.sum(0)", f"np.max({m}, axis=0)",
                    f"({m}.T @ x)", f"x @ {m}", f"np.outer({a}, {a})[1]",
                    f"np.sum({m}[:, :, None] * {a}, axis=(0, 2))", f"np.take(x, idx) * {a}",
                    f"np.array([({a})[k] * k for k in range(3)])"]  # fmt: skip
        if kind == "v":
            return [f"np.sum({m}, axis=1)", f"({m} @ {m}[0])", f"np.cumsum({a})",
                    f"np.roll({a}, 1)", f"np.sort({a})", f"np.max({m}, axis=1)",
                    f"np.prod(np.sin({m}), axis=1)", f"np.squeeze({m}.mean(axis=1, keepdims=True))",
                    f"np.concatenate((({a})[:1], ({a})[:-1]))",
                    f"np.einsum('ij,j->i', {m}, {m}[0])",
                    "np.array([x[k] * k for k in range(n + 2)])", f"np.cumprod(np.cos({a}))",
                    f"({m} - {m}.mean(axis=0))[:, 1]", f"np.var({m}, axis=1)",
                    f"({m} / np.sqrt(1.0 + np.sum({m} ** 2, axis=1, keepdims=True)))[:, 0]",
                    f"{m} @ {m}.T @ ({a})", f"np.diag({m} @ {m}.T)", f"np.pad({a}, 1)[1:-1]",
                    f"np.linalg.norm({m}, axis=1)", f"np.log(np.sum(np.exp({m}), axis=1))",
                    f"np.where({m} > 0.1, {m}, {m} * 0.5).sum(axis=1)",
                    f"np.transpose({m}[:, :, None] * {m}[0], (2, 0, 1))[1].mean(1)"]  # fmt: skip
        if kind == "w":
            return [f"np.append(y, {self.scalar(scope, 0)})", f"np.flip({a})",
                    f"np.cumsum({a})"]  # fmt: skip
        return [f"np.cumsum({a})", f"({a})[::-1]"]

    def _ragged(self, scope: Scope, depth: int) -> str:
        """A vector with at least one element."""
        r = self.rng
        forms = [self.vector(scope, r.choice("vwu"), 0)]
        for q in scope.of("q"):
            forms += [f"np.concatenate(({q}, {q}[-1:] * {self.const()}))",
                      f"np.append({q}, {self.scalar(scope, 0)})", f"{q}[: {q}.shape[0] // 2 + 1]",
                      f"np.sin({q})", f"{q} * {self.scalar(scope, 0)}", f"{q}[::-1] * 0.5",
                      f"np.concatenate(({q}, y))", f"{q}[-1:] * {q}"]  # fmt: skip
        return r.choice(forms[1:] or forms) if depth else r.choice(forms)

    def matrix(self, scope: Scope) -> str:
        r = self.rng
        a = r.choice([*scope.of("m"), "m"])
        u, v = self.vector(scope, "u", 0), self.vector(scope, "v", 0)
        return r.choice([
            f"np.sin({a})", f"{a} * {self.scalar(scope)}", f"{a} * {a}", f"{a} * ({u})",
            f"{a} + ({v})[:, None]", f"({a}.T * ({v})).T", f"({v})[:, None] * ({u})",
            f"{a} - np.mean({a}, axis=0, keepdims=True)", f"np.maximum({a}, {u})",
            f"np.where({a} > 0.2, {a}, {self.scalar(scope, 0)})", f"{a}[::-1] * 0.5",
            f"np.outer({v}, {u})", f"{a} / (1.0 + np.sum({a} ** 2, axis=1, keepdims=True))",
            f"np.column_stack(({v}, {v}, x))" if self.pure else f"{a}[:, ::-1] + 0.0",
            f"np.reshape({a}, (n + 2, 3)) * 2.0",
            f"np.clip({a}, -0.4, {self.scalar(scope, 0)} + 1)", f"{a}[np.argsort(x)]",
            f"np.tile(({u})[None], (n + 2, 1))", f"np.repeat(({u})[None], n + 2, axis=0)",
            f"np.stack([{a}[k] * k for k in range(n + 2)])", f"np.vstack(({a}[1:], {u}))",
            f"np.broadcast_to({u}, (n + 2, 3)) * {self.scalar(scope, 0)}", f"np.flip({a}, axis=1)",
            f"np.tril({a}) + np.triu({a}, 1) * 0.5", f"scaled({a}, {self.scalar(scope, 0)})",
        ])  # fmt: skip

    def condition(self, scope: Scope) -> str:
        r = self.rng
        ints = [k for k in scope.of("k") if k != "n"]
        forms = [f"{self.pick(scope, 's')} > {self.const()}"]
        forms.append(f"{self.element(scope)} < {self.scalar(scope, 0)}")
        forms += scope.of("f") + [f"not {f}" for f in scope.of("f")]
        if ints:
            k = r.choice(ints)
            forms += [f"{k} % 2 == 0", f"{k} > 1"]
        forms.append(r.choice(["n > 1", "np.any(y > 0.3)", "np.all(x < 0.8)", "len(y) > 0"]))
        if r.random() < 0.2:
            return f"{r.choice(forms)} {r.choice(['and', 'or'])} {r.choice(forms)}"
        return r.choice(forms)

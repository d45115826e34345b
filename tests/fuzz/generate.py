"""Random programs that are always valid Python.

Every variable has a kind, which fixes its shape: "s" a float, "k" a small non-negative int,
"v" a vector of n + 2, "w" one of n + 1 (a view or a piece of a "v"), "u" a vector of 3 and
"m" a matrix of (n + 2, 3).  A name is used only where it is surely bound, always with one kind.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

INDENT = "    "


@dataclass
class Node:
    """A statement; a compound one has bodies under headers (`if`, `else`)."""

    text: str
    body: list[Node] | None = None
    orelse: list[Node] | None = None
    fixed: bool = False  # without it a loop would not end

    def lines(self, depth: int) -> list[str]:
        pad = INDENT * depth
        if self.body is None:
            return [pad + line for line in self.text.split("\n")]
        out = [pad + self.text]
        for node in self.body:
            out += node.lines(depth + 1)
        if not self.body:
            out.append(pad + INDENT + "pass")
        if self.orelse is not None:
            out.append(pad + "else:")
            for node in self.orelse:
                out += node.lines(depth + 1)
            if not self.orelse:
                out.append(pad + INDENT + "pass")
        return out


HELPERS = """\
import numpy as np


def mix(a, b):
    if a > b:
        return np.sin(a) * b
    return a - 0.5 * b


def norm(v):
    s = 0.0
    for i in range(v.shape[0]):
        s += v[i] * v[i]
    return np.sqrt(1.0 + s)


def damp(v, c):
    v *= 0.5
    v[0] = v[-1] * c


def pair(a, b):
    return np.cos(a) * b, a - b


def first_above(v, c):
    for i in range(v.shape[0]):
        if v[i] > c:
            return v[i] * c
    return c


def tail(v):
    return v[1:]


"""


@dataclass
class Program:
    body: list[Node]

    @property
    def source(self) -> str:
        lines: list[str] = []
        for node in self.body:
            lines += node.lines(1)
        return HELPERS + "\n".join(["def f(x, m, s, n, idx):", *lines]) + "\n"


@dataclass
class Scope:
    names: dict[str, str] = field(default_factory=dict)
    loops: int = 0
    depth: int = 0

    def of(self, kind: str) -> list[str]:
        return [n for n, k in self.names.items() if k == kind]

    def inner(self, **new: str) -> Scope:
        return Scope({**self.names, **new}, self.loops, self.depth + 1)


class Generator:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.in_loop: list[str] = []
        # Where an array is rebound while another name shares its memory, the compiler may
        # ask for a copy: most programs have either aliases or rebinding.
        self.aliases, self.rebinding = rng.choices(
            [(True, False), (False, True), (True, True)], [45, 45, 10]
        )[0]

    def program(self) -> Program:
        scope = Scope({"s": "s", "n": "k"})
        body: list[Node] = []
        if self.rng.random() < 0.2:
            scope.names.update(x="v", m="m")  # arguments are written in place
        else:
            for name, kind in (("a", "v"), ("p", "m")):
                scope.names[name] = kind
                body.append(Node(f"{name} = {'x' if kind == 'v' else 'm'}.copy()"))
        body.append(Node(f"t = {self.scalar(scope, 1)}"))
        scope.names["t"] = "s"
        body += self.block(scope, self.rng.randint(3, 8))
        body.append(Node(f"return {self.result(scope)}"))
        return Program(body)

    # ---- names

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def pick(self, scope: Scope, kind: str) -> str:
        return self.rng.choice(scope.of(kind))

    def result(self, scope: Scope) -> str:
        parts = [
            name if kind == "s" else f"0.3 * np.sum({name} * {name})" if kind == "w" else
            f"np.sum({name})"
            for name, kind in scope.names.items() if kind != "k"
        ]  # fmt: skip
        return " + ".join(parts)

    # ---- expressions

    def const(self) -> str:
        return self.rng.choice(["0.5", "1.5", "-0.7", "0.25", "2.0", "0.1", "1"])

    def index(self, scope: Scope, size: str) -> str:
        """An index that is valid for a vector of n + 2 ("v"), n + 1 ("w") or 3 ("u")."""
        safe = {"v": ["0", "1", "-1", "-2"], "w": ["0", "-1"], "u": ["0", "1", "2", "-1"]}[size]
        modulus = {"v": "(n + 2)", "w": "(n + 1)", "u": "3"}[size]
        ints = [k for k in scope.of("k") if k != "n"]
        if ints and self.rng.random() < 0.6:
            return f"{self.rng.choice(ints)} % {modulus}"
        return self.rng.choice(safe)

    def element(self, scope: Scope) -> str:
        kind = self.rng.choice([k for k in "vwum" if scope.of(k)])
        name = self.pick(scope, kind)
        if kind == "m":
            return f"{name}[{self.index(scope, 'v')}, {self.index(scope, 'u')}]"
        return f"{name}[{self.index(scope, kind)}]"

    def scalar(self, scope: Scope, depth: int) -> str:
        r = self.rng
        if depth <= 0 or r.random() < 0.15:
            choices = [self.pick(scope, "s"), self.const()]
            if any(scope.of(k) for k in "vwum"):
                choices += [self.element(scope)] * 2
            if len(scope.of("k")) > 1 and r.random() < 0.3:
                choices.append(f"{self.pick(scope, 'k')} * 0.5")
            return r.choice(choices)
        a = self.scalar(scope, depth - 1)
        b = self.scalar(scope, depth - 1)
        forms = [
            f"{a} + {b}", f"{a} - {b}", f"({a}) * ({b})", f"np.sin({a})", f"np.tanh({a})",
            f"({a}) / (1.5 + ({b}) ** 2)", f"np.exp(-({a}) ** 2)", f"mix({a}, {b})",
            f"max({a}, {b})", f"abs({a})", f"-({a})", f"({a}) ** 2",
            f"({a} if {self.condition(scope)} else {b})", f"pair({a}, {b})[1]",
        ]  # fmt: skip
        vectors = scope.of("v") + scope.of("w") + scope.of("u")
        if vectors:
            v = r.choice(vectors)
            forms += [f"np.sum({v})", f"np.mean({v} * {a})", f"norm({v})", f"({v} @ {v})",
                      f"np.max({v})", f"np.var({v})", f"np.prod(np.sin({v}))",
                      f"first_above({v}, {a})", f"sum([e * e for e in {v}])"]  # fmt: skip
        if scope.of("m"):
            forms.append(f"np.sum({self.pick(scope, 'm')} * {a})")
        return r.choice(forms)

    def vector(self, scope: Scope, kind: str, depth: int) -> str:
        """An expression of kind v, w or u; never the bare name of an array."""
        r = self.rng
        atoms = [f"{v} * {self.const()}" for v in scope.of(kind)]
        if kind == "w":
            atoms += [f"{v}[1:]" for v in scope.of("v")] + [f"{v}[:-1]" for v in scope.of("v")]
        if kind == "v":
            atoms += [f"{m}[:, {self.index(scope, 'u')}]" for m in scope.of("m")]
            atoms += [f"{v}[::-1]" for v in scope.of("v")]
        if kind == "u":
            atoms += [f"{m}[{self.index(scope, 'v')}]" for m in scope.of("m")]
            atoms += [f"{v}[idx]" for v in scope.of("v")]
        if kind in "vw" and r.random() < 0.1 or not atoms:
            size = {"v": "n + 2", "w": "n + 1", "u": "3"}[kind]
            atoms.append(f"np.full({size}, {self.scalar(scope, 1)})")
        if depth <= 0:
            return r.choice(atoms)
        a, b = self.vector(scope, kind, depth - 1), self.vector(scope, kind, depth - 1)
        forms = [
            f"{a} + {b}", f"({a}) * ({b})", f"np.sin({a})", f"{a} - {self.scalar(scope, 1)}",
            f"({a}) / (1.5 + ({b}) ** 2)", f"np.where({a} > {b}, {a}, {self.scalar(scope, 0)})",
            f"np.maximum({a}, {b})", f"({a}) * ({self.scalar(scope, 1)})",
        ]  # fmt: skip
        if kind == "v" and scope.of("v"):
            v = self.pick(scope, "v")
            forms += [f"np.concatenate(({v}[:1], {v}[:-1]))", f"np.stack(({a}, {b}))[1]",
                      f"np.array([{v}[k] * k for k in range(n + 2)])",
                      f"np.cumsum({a})"]  # fmt: skip
            if scope.of("m"):
                m = self.pick(scope, "m")
                forms += [f"{m} @ {m}.T @ {v}", f"np.outer({v}, {v})[0]"]
        if kind == "v" and scope.of("m") and scope.of("u"):
            forms.append(f"{self.pick(scope, 'm')} @ {self.pick(scope, 'u')}")
        if scope.of("m"):
            if kind == "v":
                forms.append(f"np.sum({self.pick(scope, 'm')}, axis=1)")
            if kind == "u":
                forms.append(f"np.mean({self.pick(scope, 'm')}, axis=0)")
                if scope.of("v"):
                    forms.append(f"{self.pick(scope, 'v')} @ {self.pick(scope, 'm')}")
        return r.choice(forms)

    def matrix(self, scope: Scope) -> str:
        r = self.rng
        a = r.choice(scope.of("m"))
        forms = [f"np.sin({a})", f"{a} * {self.scalar(scope, 1)}", f"{a} * {a}"]
        if scope.of("u"):
            forms.append(f"{a} * {self.pick(scope, 'u')}")
        if scope.of("v"):
            forms.append(f"{a} + {self.pick(scope, 'v')}[:, None]")
            forms.append(f"({a}.T * {self.pick(scope, 'v')}).T")
        return r.choice(forms)

    def condition(self, scope: Scope) -> str:
        r = self.rng
        ints = [k for k in scope.of("k") if k != "n"]
        forms = [f"{self.pick(scope, 's')} > {self.const()}"]
        if any(scope.of(k) for k in "vwum"):
            forms.append(f"{self.element(scope)} < {self.scalar(scope, 0)}")
        if ints:
            k = r.choice(ints)
            forms += [f"{k} % 2 == 0", f"{k} > 1"]
        if len(forms) > 1 and r.random() < 0.2:
            return f"{r.choice(forms)} {r.choice(['and', 'or'])} {r.choice(forms)}"
        return r.choice(forms)

    # ---- statements

    def block(self, scope: Scope, size: int) -> list[Node]:
        out: list[Node] = []
        for _ in range(size):
            out += self.statement(scope)
        return out

    def statement(self, scope: Scope) -> list[Node]:
        r = self.rng
        makers = [
            (6, self.assign_scalar), (6, self.write_element), (4, self.write_slice),
            (3, self.new_vector), (3, self.alias), (2, self.swap), (2, self.whole_array),
            (2, self.write_matrix), (1, self.call_in_place), (1, self.masked), (1, self.scatter),
            (1, self.unpack), (1, self.either),
        ]  # fmt: skip
        if scope.depth < 3:
            makers += [(4, self.branch)]
            if scope.loops < 2:
                makers += [(5, self.for_loop), (3, self.while_loop), (1, self.append_loop)]
        if self.in_loop and scope.depth > 0:
            makers += [(2, self.jump)]
        if scope.depth > 0:
            makers += [(1, self.early_return)]
        maker = r.choices([m for _, m in makers], [w for w, _ in makers])[0]
        return maker(scope)

    def bounded(self, text: str) -> str:
        return f"np.sin({text})" if self.rng.random() < 0.5 else text

    def assign_scalar(self, scope: Scope) -> list[Node]:
        r = self.rng
        e = self.scalar(scope, r.randint(1, 3))
        target = self.pick(scope, "s")
        form = r.random()
        if form < 0.25:
            name = self.fresh("c")
            node = Node(f"{name} = {self.bounded(e)}")
            scope.names[name] = "s"
            return [node]
        if form < 0.6:
            return [Node(f"{target} = {self.bounded(e)}")]
        op = r.choice(["+=", "-=", "*="])
        return [Node(f"{target} {op} np.sin({e})")]

    def write_element(self, scope: Scope) -> list[Node]:
        target = self.element(scope)
        e = self.bounded(self.scalar(scope, self.rng.randint(1, 2)))
        forms = [
            f"{target} = {e}", f"{target} += {e}", f"{target} = {target} + {e}",
            f"{target} *= {e}", f"{target} = {target} * ({e})",
        ]  # fmt: skip
        return [Node(self.rng.choice(forms))]

    def write_slice(self, scope: Scope) -> list[Node]:
        r = self.rng
        if not scope.of("v"):
            return self.assign_scalar(scope)
        v = self.pick(scope, "v")
        e = self.vector(scope, "w", 1)
        whole = self.vector(scope, "v", 1)
        forms = [
            f"{v}[1:] = {e}", f"{v}[:-1] = {e}", f"{v}[1:] += {e}", f"{v}[:] = np.sin({whole})",
            f"{v}[1:] = {v}[:-1]", f"{v}[:-1] = {v}[1:] * {self.const()}",
            f"{v}[:-1] = {v}[:-1] + {e}", f"{v}[::2] *= {self.scalar(scope, 1)}",
            f"{v}[::-1] += {whole}", f"{v}[:2] = {self.scalar(scope, 1)}",
        ]  # fmt: skip
        return [Node(r.choice(forms))]

    def new_vector(self, scope: Scope) -> list[Node]:
        kind = self.rng.choice("vvwu")
        name = self.fresh(kind)
        node = Node(f"{name} = {self.bounded(self.vector(scope, kind, 2))}")
        if "full" not in node.text and not any(c in node.text for c in "*+-/("):
            node.text += " * 1.0"
        scope.names[name] = kind
        return [node]

    def alias(self, scope: Scope) -> list[Node]:
        r = self.rng
        forms: list[tuple[str, str]] = []
        for v in scope.of("v"):
            forms += [("w", f"{v}[1:]"), ("w", f"{v}[:-1]"), ("v", v), ("v", f"{v}[::-1]")]
            forms += [("w", f"tail({v})")]
        for m in scope.of("m"):
            forms += [("u", f"{m}[{self.index(scope, 'v')}]"), ("v", f"{m}[:, 1]"), ("m", m)]
            forms += [("u", f"{m}.T[:, 0]")]
        if not forms or not self.aliases:
            return self.assign_scalar(scope)
        kind, text = r.choice(forms)
        name = self.fresh("z")
        scope.names[name] = kind
        return [Node(f"{name} = {text}")]

    def swap(self, scope: Scope) -> list[Node]:
        kind = self.rng.choice([k for k in "svvm" if len(scope.of(k)) > 1] or ["s"])
        names = scope.of(kind)
        if len(names) < 2:
            return self.assign_scalar(scope)
        if kind != "s" and not self.rebinding:
            return self.write_element(scope)
        a, b = self.rng.sample(names, 2)
        if kind == "v" and self.rng.random() < 0.3:
            i, j = self.index(scope, "v"), self.index(scope, "v")
            return [Node(f"{a}[{i}], {b}[{j}] = {b}[{j}], {a}[{i}]")]
        return [Node(f"{a}, {b} = {b}, {a}")]

    def whole_array(self, scope: Scope) -> list[Node]:
        kind = self.rng.choice([k for k in "vwu" if scope.of(k)] or ["v"])
        if not scope.of(kind):
            return self.assign_scalar(scope)
        a = self.pick(scope, kind)
        e = self.vector(scope, kind, 1)
        forms = [f"{a} += {e}", f"{a} *= np.sin({e})"]
        if self.rebinding:
            forms += [f"{a} = np.sin({e})", f"{a} = {a} + {e}", f"{a} = {a}.copy()"]
        return [Node(self.rng.choice(forms))]

    def write_matrix(self, scope: Scope) -> list[Node]:
        if not scope.of("m"):
            return self.assign_scalar(scope)
        m = self.pick(scope, "m")
        i, j = self.index(scope, "v"), self.index(scope, "u")
        u, v = self.vector(scope, "u", 1), self.vector(scope, "v", 1)
        forms = [
            f"{m}[{i}] = np.sin({u})", f"{m}[{i}] += {u}", f"{m}[:, {j}] = {v}",
            f"{m}[:, {j}] *= {self.scalar(scope, 1)}", f"{m}[1:, :2] = {m}[:-1, 1:]",
            f"{m} *= {u}", f"{m}[{i}, 1:] = {self.scalar(scope, 1)}", f"{m}.T[{j}] += {v}",
        ]  # fmt: skip
        if self.rebinding:
            forms.append(f"{m} = {self.matrix(scope)}")
        return [Node(self.rng.choice(forms))]

    def call_in_place(self, scope: Scope) -> list[Node]:
        choices = [f"{v}[1:]" for v in scope.of("v")] + scope.of("v") + scope.of("w")
        choices += [f"{m}[{self.index(scope, 'v')}]" for m in scope.of("m")]
        if not choices:
            return self.assign_scalar(scope)
        return [Node(f"damp({self.rng.choice(choices)}, {self.scalar(scope, 1)})")]

    def masked(self, scope: Scope) -> list[Node]:
        if not scope.of("v"):
            return self.assign_scalar(scope)
        v, w = self.pick(scope, "v"), self.pick(scope, "v")
        forms = [f"{v}[{w} > 0.1] = {self.scalar(scope, 1)}", f"{v}[{w} > 0.2] *= 0.5",
                 f"{v}[{w} < 0.0] = {w}[{w} < 0.0] * 0.5"]  # fmt: skip
        return [Node(self.rng.choice(forms))]

    def scatter(self, scope: Scope) -> list[Node]:
        if not scope.of("v"):
            return self.assign_scalar(scope)
        v, e = self.pick(scope, "v"), self.vector(scope, "u", 1)
        forms = [f"{v}[idx] = {e}", f"{v}[idx] += {e}", f"np.add.at({v}, idx, {e})"]
        return [Node(self.rng.choice(forms))]

    def unpack(self, scope: Scope) -> list[Node]:
        a, b = self.scalar(scope, 1), self.scalar(scope, 1)
        first, second = self.pick(scope, "s"), self.fresh("c")
        scope.names[second] = "s"
        return [Node(f"{first}, {second} = pair({a}, {b})")]

    def either(self, scope: Scope) -> list[Node]:
        """A name for one of two arrays, which is then written."""
        if len(scope.of("v")) < 2:
            return self.new_vector(scope)
        a, b = self.rng.sample(scope.of("v"), 2)
        name = self.fresh("z")
        at = self.index(scope, "v")
        node = Node(f"{name} = {a} if {self.condition(scope)} else {b}")
        return [node, Node(f"{name}[{at}] = {self.bounded(self.scalar(scope, 1))}")]

    # ---- control flow

    def branch(self, scope: Scope) -> list[Node]:
        r = self.rng
        then = self.block(scope.inner(), r.randint(1, 3))
        orelse = self.block(scope.inner(), r.randint(1, 2)) if r.random() < 0.5 else None
        return [Node(f"if {self.condition(scope)}:", then, orelse)]

    def for_loop(self, scope: Scope) -> list[Node]:
        r = self.rng
        i = self.fresh("i")
        ranges = ["range(n)", "range(1, n + 1)", "range(n, 0, -1)", "range(0, 2 * n, 2)",
                  "range(n + 2)", "reversed(range(n))", "range(2)"]  # fmt: skip
        ints = [k for k in scope.of("k") if k != "n"]
        if ints:
            k = r.choice(ints)
            ranges += [f"range({k})", f"range({k} + 1)", f"range({k}, n)"] * 2
        new = {i: "k"}
        header = f"for {i} in {r.choice(ranges)}:"
        if scope.of("v") and r.random() < 0.2:
            e = self.fresh("e")
            v = self.pick(scope, "v")
            new[e] = "s"
            header = f"for {i}, {e} in enumerate({v}):"
            if r.random() < 0.5:
                del new[i]
                header = f"for {e} in {v}:"
        inner = scope.inner(**new)
        inner.loops += 1
        self.in_loop.append("for")
        body = self.block(inner, r.randint(1, 4))
        self.in_loop.pop()
        orelse = self.block(scope.inner(), 1) if r.random() < 0.1 else None
        return [Node(header, body, orelse)]

    def while_loop(self, scope: Scope) -> list[Node]:
        r = self.rng
        k = self.fresh("k")
        inner = scope.inner(**{k: "k"})
        inner.loops += 1
        self.in_loop.append("while")
        body = [Node(f"{k} += 1", fixed=True), *self.block(inner, r.randint(1, 3))]
        self.in_loop.pop()
        test = f"{k} < n"
        if r.random() < 0.4:
            test += f" and ({self.condition(scope)})"
        return [Node(f"{k} = 0"), Node(f"while {test}:", body)]

    def append_loop(self, scope: Scope) -> list[Node]:
        """A list filled in a loop, then read."""
        r = self.rng
        name, i, e = self.fresh("out"), self.fresh("i"), self.fresh("e")
        inner = scope.inner(**{i: "k"})
        inner.loops += 1
        body = [*self.block(inner, 1), Node(f"{name}.append({self.scalar(inner, 2)})")]
        target = self.pick(scope, "s")
        read = r.choice([
            f"for {e} in {name}:\n{INDENT}{target} += np.sin({e})",
            f"{target} += np.sum(np.array({name}))",
            f"{target} = np.sin({name}[-1])",
        ])  # fmt: skip
        return [
            Node(f"{name} = [{target}]" if "-1" in read or "array" in read else f"{name} = []"),
            Node(f"for {i} in range(n):", body),
            Node(read),
        ]

    def jump(self, scope: Scope) -> list[Node]:
        word = self.rng.choice(["break", "continue"])
        return [Node(f"if {self.condition(scope)}:", [Node(word)])]

    def early_return(self, scope: Scope) -> list[Node]:
        return [Node(f"if {self.condition(scope)}:", [Node(f"return {self.scalar(scope, 1)}")])]


def generate(seed: int, number: int) -> Program:
    """The `number`-th program of a seed; the same on every machine."""
    return Generator(random.Random(f"{seed}:{number}")).program()

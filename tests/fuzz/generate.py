"""Random programs that are always valid Python: `generate(seed, number)` is the source of one.

Every program has its own random weights of statement kinds, some of them zero, so that each program
combines few features often (swarm testing).
"""

from __future__ import annotations

import random
from collections.abc import Callable

from .nests import Nests
from .scope import ARRAYS, Scope, indented, program
from .statements import Lines

JUMPS = ("break", "continue")
# The number of top-level statements of a program.  In the same time, many small programs find more
# failures than few large ones.
SIZES = (1, 1, 2, 2, 2, 3, 3, 4, 6)


class Generator(Nests):
    def __init__(self, rng: random.Random, pure: bool) -> None:
        super().__init__(rng, pure=pure or rng.random() < 0.1)
        self.in_loop = 0
        self.left = 9  # the number of statements after which no more blocks are opened
        # If an array is rebound while another name shares its memory, the compiler may refuse the
        # program.  So most programs have either aliases or rebinding.
        self.aliases, self.rebinding = rng.choices(
            [(True, False), (False, True), (True, True)], [45, 45, 10]
        )[0]
        plain: list[tuple[int, Callable[[Scope], Lines]]] = [
            (6, self.assign_scalar), (3, self.new_array), (2, self.rebind), (2, self.swap),
            (1, self.unpack), (1, self.walrus), (1, self.define_flag), (1, self.define_int),
            (1, self.define_function), (1, self.make_list), (1, self.both),
        ]  # fmt: skip
        in_place: list[tuple[int, Callable[[Scope], Lines]]] = [
            (6, self.write_element), (4, self.write_slice), (3, self.alias), (2, self.whole_array),
            (2, self.write_matrix), (1, self.call_in_place), (1, self.masked), (1, self.scatter),
            (1, self.either), (2, self.use_list), (2, self.rows), (3, self.through_view),
            (1, self.writing_function), (1, self.holder), (4, self.nest),
        ]  # fmt: skip
        self.makers = self.swarm(plain if self.pure else plain + in_place)
        self.compounds = self.swarm(
            [(4, self.branch), (5, self.for_loop), (3, self.while_loop), (1, self.over_arrays)]
        )
        self.jumps = rng.choice([0.0, 0.1, 0.25])

    def swarm(
        self, weighted: list[tuple[int, Callable[[Scope], Lines]]]
    ) -> list[tuple[float, Callable[[Scope], Lines]]]:
        chosen = [(w * self.rng.choice([0.0, 1.0, 1.0, 3.0]), make) for w, make in weighted]
        return chosen if any(w for w, _ in chosen) else [(float(w), make) for w, make in weighted]

    def program(self) -> str:
        r = self.rng
        scope = Scope({"s": "s", "n": "k"})
        body: Lines = []
        if r.random() < 0.2 and not self.pure:
            scope.names.update(x="v", m="m", y="y", d="d")  # in-place writes to arguments
        else:
            for name, kind, argument in (
                ("a", "v", "x"), ("p", "m", "m"), ("b", "y", "y"), ("e", "d", "d")
            ):  # fmt: skip
                if r.random() < 0.45:
                    scope.names[name] = kind
                    body.append(f"{name} = {argument}.copy()")
        body.append(f"t = {self.scalar(scope)}")
        scope.names["t"] = "s"
        body += self.block(scope, r.choice(SIZES))
        body.append(f"return {self.result(scope)}")
        return program(body)

    def result(self, scope: Scope) -> str:
        """An expression that reduces some of the names to a scalar, arrays first."""
        r = self.rng
        arrays = [n for n, _ in scope.any(ARRAYS + "l")]
        chosen = r.sample(arrays, min(len(arrays), r.randint(1, 3)))
        chosen += r.sample(scope.of("s"), min(len(scope.of("s")), r.randint(1, 2)))
        parts = []
        for name in chosen:
            kind = scope.names[name]
            square = f"{name} * {name}"
            parts.append({
                "s": name, "d": f"{name}[()]", "l": f"sum({name})", "m": f"np.sum({name})",
            }.get(kind, r.choice([f"np.sum({name})", f"0.3 * np.sum({square})"])))  # fmt: skip
        return " + ".join(parts)

    def block(self, scope: Scope, size: int) -> Lines:
        out: Lines = []
        for _ in range(size):
            out += self.statement(scope)
        return out

    def statement(self, scope: Scope) -> Lines:
        r = self.rng
        self.left -= 1
        if scope.depth > 0 and r.random() < self.jumps:
            return self.jump(scope)
        if self.left > 0 and scope.depth < 3 and r.random() < 0.35 - 0.08 * scope.depth:
            allowed = [c for c in self.compounds if scope.loops < 2 or c[1] == self.branch]
            if any(w for w, _ in allowed):
                return self.choose(allowed)(scope)
        return self.choose(self.makers)(scope)

    def choose(
        self, weighted: list[tuple[float, Callable[[Scope], Lines]]]
    ) -> Callable[[Scope], Lines]:
        return self.rng.choices([m for _, m in weighted], [w for w, _ in weighted])[0]

    # ---- control flow

    def branch(self, scope: Scope) -> Lines:
        r = self.rng
        test, inner = self.condition(scope), scope.inner()
        if r.random() < 0.1:
            name = self.fresh("c")
            test = f"({name} := {self.scalar(scope)}) > {self.const()}"
            scope.names[name] = inner.names[name] = "s"
        lines = [f"if {test}:", *indented(self.block(inner, r.choice((1, 1, 2))))]
        if r.random() < 0.2:
            lines += [f"elif {self.condition(scope)}:", *indented(self.block(scope.inner(), 1))]
        if r.random() < 0.5:
            lines += ["else:", *indented(self.block(scope.inner(), 1))]
        return lines

    def both(self, scope: Scope) -> Lines:
        """A name that is bound in both branches."""
        kind = self.rng.choice("ssvuq")
        name = self.fresh("c")
        a, b = (
            self.scalar(scope) if kind == "s" else f"np.sin({self.vector(scope, kind)})"
            for _ in range(2)
        )  # fmt: skip
        test = self.condition(scope)
        scope.names[name] = kind
        return [f"if {test}:", f"    {name} = {a}", "else:", f"    {name} = {b}"]

    def loop_body(self, scope: Scope, size: int, **new: str) -> Lines:
        inner = scope.inner(**new)
        inner.loops += 1
        self.in_loop += 1
        body = self.block(inner, size)
        self.in_loop -= 1
        return indented(body)

    def otherwise(self, scope: Scope) -> Lines:
        if self.rng.random() < 0.9:
            return []
        return ["else:", *indented(self.block(scope.inner(), 1))]

    def for_loop(self, scope: Scope) -> Lines:
        r = self.rng
        i = self.fresh("i")
        ranges = [("range(n)", "i"), ("range(n - 1, -1, -1)", "i"), ("reversed(range(n))", "i"),
                  ("range(1, n + 1)", "k"), ("range(n, 0, -1)", "k"), ("range(0, 2 * n, 2)", "k"),
                  ("range(n + 2)", "k"), ("range(2)", "k"), ("range(0, n, 2)", "i")]  # fmt: skip
        for k in scope.of("i"):
            ranges += [(f"range({k})", "i"), (f"range({k}, n)", "i"), (f"range({k} + 1)", "i")] * 2
        header, kind = r.choice(ranges)
        body = self.loop_body(scope, r.choice((1, 1, 2, 3)), **{i: kind})
        return [f"for {i} in {header}:", *body, *self.otherwise(scope)]

    def over_arrays(self, scope: Scope) -> Lines:
        """A loop over the elements of arrays or lists."""
        r = self.rng
        e, i, o = self.fresh("e"), self.fresh("i"), self.fresh("e")
        v, m = r.choice([*scope.of("v"), "x"]), r.choice([*scope.of("m"), "m"])
        y = r.choice([*scope.of("y"), "y"])
        header, new = r.choice([
            (f"for {e} in {v}:", {e: "s"}), (f"for {i}, {e} in enumerate({v}):", {e: "s", i: "k"}),
            (f"for {e} in {y}:", {e: "s"}), (f"for {i}, {e} in enumerate({y}):", {e: "s", i: "i"}),
            (f"for {e} in {m}:", {e: "u"}), (f"for {e}, {o} in zip({v}, {m}):", {e: "s", o: "u"}),
            (f"for {e}, {o} in zip({y}, {v}):", {e: "s", o: "s"}),
            *((f"for {e} in {x}:", {e: "s"}) for x in scope.of("l")),
        ])  # fmt: skip
        return [header, *self.loop_body(scope, r.randint(1, 2), **new), *self.otherwise(scope)]

    def while_loop(self, scope: Scope) -> Lines:
        r = self.rng
        k = self.fresh("k")
        if r.random() < 0.2:
            body = self.loop_body(scope, r.randint(1, 2), **{k: "k"})
            leave = [f"    if {k} >= n:", "        break", f"    {k} += 1"]
            return [f"{k} = 0", "while True:", *leave, *body]
        body = [f"    {k} += 1", *self.loop_body(scope, r.choice((1, 1, 2)), **{k: "k"})]
        test = f"{k} < n"
        if r.random() < 0.4:
            test += f" and ({self.condition(scope)})"
        return [f"{k} = 0", f"while {test}:", *body, *self.otherwise(scope)]

    def rows(self, scope: Scope) -> Lines:
        """A list of arrays or numbers filled in a loop, then read."""
        r = self.rng
        name, i, e = self.fresh("out"), self.fresh("i"), self.fresh("e")
        target = self.pick(scope, "s")
        kind = r.choice("ssuv")
        inner = scope.inner(**{i: "i"})
        value = self.scalar(inner, 2) if kind == "s" else f"np.sin({self.vector(inner, kind)})"
        begin, total = (
            ("0.5", e) if kind == "s" else (f"{self.vector(scope, kind, 0)}", f"np.sum({e})")
        )
        lines = [f"{name} = [{begin}]" if r.random() < 0.6 else f"{name} = []"]
        lines += [f"for {i} in range(n):"]
        if r.random() < 0.4:
            lines += self.loop_body(scope, 1, **{i: "i"})
        lines += [f"    {name}.append({value})"]
        if "[]" in lines[0] or r.random() < 0.5:
            return [*lines, f"for {e} in {name}:", f"    {target} += np.sin({total})"]
        read = [f"{target} += np.sum(np.array({name}))", f"{target} = np.sum({name}[-1])"]
        read += [f"{target} = np.sum(np.stack({name})[1:])"] * (kind != "s")
        return [*lines, r.choice(read)]

    def jump(self, scope: Scope) -> Lines:
        words = [f"return {self.scalar(scope)}"]
        words += JUMPS * 3 if self.in_loop else []
        return [f"if {self.condition(scope)}:", f"    {self.rng.choice(words)}"]


def generate(seed: int, number: int, pure: bool = False) -> str:
    """The `number`-th program of a seed, equal on every machine.  A `pure` program has no in-place
    writes."""
    return Generator(random.Random(f"{seed}:{number}"), pure).program()


def is_pure(source: str) -> bool:
    """True if a program has no in-place writes, as JAX requires."""
    body = source[source.index("def f(") :]
    writes = ("] = ", "] += ", "] *= ", "] -= ", "]) = ", "damp(", ".add.at", ".append(", ".pop(")
    return not any(w in body for w in writes)

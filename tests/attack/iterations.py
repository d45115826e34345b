"""Random programs that create iterators, consume parts of them, and modify the underlying
sequences."""

from __future__ import annotations

import random

HELPERS = """
def total(z):
    s = 0.0
    for v in z:
        s += np.sum(v)
    return s


def first(z):
    for v in z:
        return np.sum(v)
    return -1.0


"""
SOURCES = ("values", "x", "y", "(1.0, 2.0, 3.0)", "grown", "range(3)", "d", "d.values()")
LISTS = ("values", "grown", "more")


class Iteration:
    """One program, determined by a seed; its result is a float that depends on `x` and `k`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: list[str] = []
        body: list[str] = []
        for _ in range(self.random.randint(3, 7)):
            body += self.operation()
        start = [
            "values = [1.0, x[1], 2.5]",
            "more = values",
            "y = x.copy()",
            "grown = []",
            "for v in x:",
            "    grown.append(2.0 * v)",
            "d = {0.5: x[0], 1.5: 2.0}",
            "s = 0.0",
            "n = 0",
        ]
        end = ["return s + 0.5 * n + np.sum(y) + 0.25 * len(values) + 0.125 * len(grown)"]
        lines = [f"    {line}\n" for line in (*start, *body, *end)]
        self.source = f"{HELPERS}def f(x, k):\n" + "".join(lines)

    def source_of(self) -> str:
        return self.random.choice(SOURCES)

    def make(self) -> str:
        """The expression of a new iterator, or view."""
        r, over = self.random, self.source_of()
        kind = r.randrange(12)
        if self.names and kind == 0:
            over = r.choice(self.names)
        return (
            f"iter({over})",
            f"enumerate({over})",
            f"zip({over}, {self.source_of()})",
            f"map(lambda v: v * k, {over})",
            f"filter(lambda v: v > 0.75, {over})",
            f"reversed({r.choice(('values', 'grown', 'x', 'range(3)'))})",
            f"(v * k for v in {over})",
            f"(v for v in {over} if v > k)",
            f"(v + w for v in {over} for w in values)",
            "d.values()",
            "d.items()",
            f"map(lambda v, w: v + w, {over}, {self.source_of()})",
        )[kind]

    def operation(self) -> list[str]:
        r = self.random
        if not self.names or r.random() < 0.3:
            name = r.choice("uvwz") + "0"
            made = self.make()
            self.names = [*dict.fromkeys([*self.names, name])]
            return [f"{name} = {made}"]
        z = r.choice(self.names)
        kind = r.randrange(22)
        if kind == 0:
            return [f"for v in {z}:", "    s += np.sum(v) * k"]
        if kind == 1:
            return [f"for v in {z}:", "    s += np.sum(v)", "    break"]
        if kind == 2:
            return [f"for v in {z}:", "    if np.sum(v) > 1.25:", "        break", "    s += 1.0"]
        if kind == 3:
            return [f"s += sum([np.sum(v) for v in {z}])"]
        if kind == 4:
            return [f"n += len(list({z}))"]
        if kind == 5:
            return [f"s += total({z})"]
        if kind == 6:
            return [f"s += first({z})"]
        if kind == 7:
            name = r.choice("uvwz") + "1"
            self.names = [*dict.fromkeys([*self.names, name])]
            return [f"{name} = {z}"]
        if kind == 8:
            return [f"s += np.sum(next({z}, 0.75))"]
        if kind == 9:
            return [
                f"for p, q in zip({z}, {r.choice(self.names)}):",
                "    s += np.sum(p) - np.sum(q)",
            ]
        if kind == 10:
            return [f"for v in {z}:", "    k = k + 1.0", "    s += np.sum(v)"]
        if kind == 11:
            return [f"n += any(np.sum(v) > 1.0 for v in {z})"]
        if kind == 12:
            return ["k = k + 1.0"]
        if kind == 13:
            return [f"{r.choice(LISTS)}.append(1.25)"]
        if kind == 14:
            return [f"{r.choice(LISTS)}[0] = 3.5 * k"]
        if kind == 15:
            return [f"{r.choice(LISTS)}.pop()"]
        if kind == 16:
            return ["values *= 2", "n += len(more)"]
        if kind == 17:
            return [f"d[{r.choice(('0.5', '2.5'))}] = k * k"]
        if kind == 18:
            return ["y[0] = k + 5.0"]
        if kind == 19:
            name = r.choice(LISTS)
            grow = [f"    if len({name}) < 7:", f"        {name}.append(v + k)"]
            return [f"for v in {name}:", *grow, "    s += v"]
        if kind == 20:
            name = r.choice(LISTS)
            return [f"for v in {name}:", f"    s += v * {name}.pop()"]
        return ["for q in d:", "    d[q] = d[q] * k", "    s += q"]

"""Random programs that record in which order, and how often, their parts are evaluated.

`note` and `mark` write a counter into an array when they are evaluated, walrus expressions count
evaluations, and parts that must not be evaluated raise an error.
"""

from __future__ import annotations

import random

HELPERS = """
def note(w, k, v):
    w[0] += 1.0
    w[k] = w[0]
    return v


def mark(w, k):
    w[0] += 1.0
    w[k] = 10.0 * w[k] + w[0]
    return w[k] > 5.0


def push(t, v):
    t.append(v)
    return v > 0.5


class Counter:
    def __init__(self):
        self.n = 0

    def up(self):
        self.n += 1
        return self.n > 1


"""
NUMBERS = ("a", "b", "c", "0.0", "1.0", "0.5", "a + b")


class Order:
    """One program, determined by a seed.  No condition changes in a neighbourhood of the
    arguments."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.places = 0
        body: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            body += self.statement("    ")
        result = "return s + 0.125 * n + np.sum(w * np.arange(1.0, 13.0)) + 0.25 * len(t) + o.n"
        start = (
            "w = np.zeros(12)\n    n = 0\n    k = 0\n    s = a * b\n    t = []\n    o = Counter()"
        )
        self.source = f"{HELPERS}def f(a, b, c, p, x):\n    {start}\n" + "".join(body)
        self.source += f"    {result}\n"
        self.arguments = tuple(self.random.sample((-0.71, 0.33, 0.84, 1.76, 0.12), 3))

    def place(self) -> int:
        self.places = self.places % 11 + 1
        return self.places

    def number(self, depth: int) -> str:
        kind = self.random.randrange(6)
        if kind == 0:
            return f"note(w, {self.place()}, {self.random.choice(NUMBERS)})"
        if kind == 1:
            return "(n := n + 1)"
        if kind == 2 and depth:
            test = self.truth(depth - 1)
            return f"({self.number(depth - 1)} if {test} else {self.number(depth - 1)})"
        return self.random.choice(NUMBERS)

    def truth(self, depth: int) -> str:
        r = self.random
        kind = r.randrange(15) if depth else r.randrange(8)
        if kind == 0:
            return f"note(w, {self.place()}, {r.choice('abc')} > 0.5)"
        if kind == 1:
            return f"mark(w, {self.place()})"
        if kind == 2:
            return f"(n := n + 1) > {r.randint(0, 3)}"
        if kind == 3:
            return r.choice(("p", "True", "False", "p is True", "not p"))
        if kind == 4:
            return f"push(t, {r.choice('abc')})"
        if kind == 5:
            return r.choice(("o.up()", "k < len(x) and x[k] > 0.5", "n > 1 or x[n] > 0.0"))
        if kind < 8:
            return f"{r.choice('abc')} {r.choice(('<', '>', '<=', '!='))} {r.choice(NUMBERS)}"
        if kind < 10:
            return f"({self.truth(depth - 1)} and {self.truth(depth - 1)})"
        if kind < 12:
            return f"({self.truth(depth - 1)} or {self.truth(depth - 1)})"
        if kind == 12:
            return f"not {self.truth(depth - 1)}"
        if kind == 13:
            parts = [self.number(depth - 1) for _ in range(r.randint(3, 4))]
            signs = [r.choice(("<", "<=", ">", "==", "!=")) for _ in parts[1:]]
            return f"({parts[0]} " + " ".join(f"{s} {q}" for s, q in zip(signs, parts[1:])) + ")"
        test = self.truth(depth - 1)
        return f"({self.truth(depth - 1)} if {test} else {self.truth(depth - 1)})"

    def statement(self, indent: str) -> list[str]:
        r, test = self.random, self.truth(3)
        kind = r.randrange(9)
        if kind == 0:
            return [f"{indent}r = {test}\n", f"{indent}s = s + 2.0 * a if r else s - b\n"]
        if kind == 1:
            lines = [f"if {test}:", "    s += a * a", "else:", "    s -= 3.0 * b"]
        elif kind == 2:
            lines = [f"while k < 3 and ({test}):", "    k += 1", "    s += a * k", "k = 0"]
        elif kind == 3:
            lines = [f"while ({test}) and n < 4 and k < 4:", "    n += 1", "    k += 1", "k = 0"]
        elif kind == 4:
            lines = [f"assert ({test}) or True, (n := n + 50)"]
        elif kind == 5:
            lines = [f"s += sum([v * a for v in x if {test}])"]
        elif kind == 6:
            lines = [f"s += sum([v * a for v in (1.0, 2.0) if v > 1.0 or {test}])"]
        elif kind == 7:
            fold = r.choice(("any", "all"))
            lines = [f"s += 2.0 * {fold}({test} for v in {r.choice(('x', '(1.0, 2.0)'))})"]
        else:
            lines = [f"s += {self.number(3)} * a"]
        return [f"{indent}{line}\n" for line in lines]

"""The elements of random programs: helper functions, kinds of values, names in scope.

Every name has a kind, which determines the type and shape of its value:

    s  a float                          k  an int from 0 on     i  one of 0 … n - 1
    f  a bool                           d  a 0-d array          l  a list of floats, not empty
    v  a vector of n + 2                w  one of n + 1         u  one of 3
    y  a vector of n, empty at n = 0    q  a vector of at least 1, whose size changes
    m  a matrix of (n + 2, 3)

A name is used only where it is definitely bound, and always with one kind, so all programs are
valid.
"""

from __future__ import annotations

from dataclasses import dataclass, field

VECTORS = "vwuyq"
ARRAYS = "vwuyqmd"
INDEXED = "vwuqm"  # kinds that are never empty
SIZES = {"v": "n + 2", "w": "n + 1", "u": "3", "y": "n"}

HEADER = "import math\nfrom dataclasses import dataclass\n\nimport numpy as np\n"

HELPERS = {
    "mix": """
def mix(a, b):
    if a > b:
        return np.sin(a) * b
    return a - 0.5 * b
""",
    "norm": """
def norm(v):
    s = 0.0
    for i in range(v.shape[0]):
        s += v[i] * v[i]
    return np.sqrt(1.0 + s)
""",
    "damp": """
def damp(v, c):
    v *= 0.5
    v[0] = v[-1] * c
""",
    "pair": """
def pair(a, b):
    return np.cos(a) * b, a - b
""",
    "first_above": """
def first_above(v, c):
    for i in range(v.shape[0]):
        if v[i] > c:
            return v[i] * c
    return c
""",
    "tail": """
def tail(v):
    return v[1:]
""",
    "power": """
def power(a, k):
    if k == 0:
        return 1.0
    return np.sin(a) * power(a, k - 1)
""",
    "halves": """
def halves(v):
    if v.shape[0] == 1:
        return v[0] * v[0]
    h = v.shape[0] // 2
    return np.sin(halves(v[:h])) + 0.5 * halves(v[h:])
""",
    "scaled": """
def scaled(v, c=0.5, *, shift=0.1):
    return v * c + shift
""",
    "split": """
def split(v):
    return v[:1], v[1:]
""",
    "Pair": """
@dataclass
class Pair:
    t: float
    v: np.ndarray
""",
}


@dataclass
class Scope:
    names: dict[str, str] = field(default_factory=dict)
    loops: int = 0
    depth: int = 0

    def of(self, *kinds: str) -> list[str]:
        """The names of these kinds; an index is an int, too."""
        wanted = {*kinds, "i"} if "k" in kinds else set(kinds)
        return [n for n, k in self.names.items() if k in wanted]

    def any(self, kinds: str) -> list[tuple[str, str]]:
        return [(n, k) for n, k in self.names.items() if k in kinds]

    def inner(self, **new: str) -> Scope:
        return Scope({**self.names, **new}, self.loops, self.depth + 1)


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines or ["pass"]]


def program(body: list[str]) -> str:
    """The source of a program: the helpers that it calls, and the function."""
    main = "\n".join(["def f(x, m, y, d, s, n, idx):", *indented(body)]) + "\n"
    called = [text for name, text in HELPERS.items() if f"{name}(" in main]
    return "\n\n".join([HEADER, *(text.strip("\n") + "\n" for text in called), main])

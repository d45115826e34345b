"""Operations on names, keys and lists that are evaluated at compile time."""

import functools

import numpy as np

from . import arr, build, case, num


@case(build(dict, b=num(), a=num(), c=num()), tags="static sorted")
def sorted_by_names(p):
    total = 0.0
    for position, (_, value) in enumerate(sorted(p.items())):
        total = total * 2.0 + value * (position + 1.0)
    last = sorted([("x", p["a"]), ("z", p["b"]), ("y", p["c"])], key=lambda pair: pair[0])[-1]
    descending = sorted(["a", "c", "b"], reverse=True)
    return total * last[1] + p[descending[0]] * 3.0


@case(arr(3), tags="static dict")
def methods_of_dicts(x):
    d = {"a": x}
    first = d.setdefault("a", x * 9.0)
    second = d.setdefault("b", x * x)
    merged = d | {"c": x[0], "a": x * 2.0}
    merged |= {"c": x[1]}
    other = merged.pop("b") if "b" in merged else x
    missing = merged.pop("nothing", 3.0)
    total = np.sum(first * second * other) * missing + merged["c"]
    return total + np.sum(merged["a"]) * len(merged) + len(d)


@case(build(dict, w_in=num(), w_out=num()), tags="static text")
def text_and_places(p):
    names = ["in", "out"]
    key = "_".join(("w", names[names.index("out")]))
    weight = [1, 2, 1].count(1)
    return p[key] * weight * p["w_" + "in, out".split(sep=", ")[0]]


@functools.lru_cache(maxsize=None)
def factor(n):
    return 1.0 if n == 0 else n * factor(n - 1)


@case(num(), tags="static functions")
def cached_helper(x):
    return x * factor(4) + x * x


@case(arr(3), tags="static zip")
def zip_of_equal_lengths(x):
    return sum(a * b for a, b in zip([1.0, 2.0, 3.0], x, strict=True))

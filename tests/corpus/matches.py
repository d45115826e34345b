"""`match` with every kind of pattern, in branches and loops, with guards and jumps."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from . import N, arr, case, num, value


@dataclasses.dataclass
class _Circle:
    radius: Any


@dataclasses.dataclass
class _Box:
    width: float
    height: float


@case(num(), N, tags="match")
def match_values(x, n):
    match n:
        case 0:
            s = x
        case 1 | 2:
            s = x * x
        case k if k > 5:
            s = x * k
        case -1:
            s = 0.0
        case _:
            s = x**3
    return s


@case(num(), tags="match static", kw={"mode": value("square")}, static=("mode",))
def match_names(x, mode=None):
    match mode:
        case "sine":
            return np.sin(x)
        case "square" | "double" as how:
            return x * x if how == "square" else 2.0 * x
        case None:
            return x


@case(num(), num(), wrt=(0, 1), tags="match")
def match_sequences(x, y):
    s = 0.0
    nested = (1, (y, [x, 3.0]))
    parts: Any = ([x, y], (x,), [x, y, x * y], nested, [], 3, None, "ab", np.ones(2))
    for part in parts:
        match part:
            case [a, b] if not isinstance(b, tuple):
                s += a * b
            case (a,):
                s += a * a
            case 1, (a, [b, 3.0]):
                s += a * np.sin(b)
            case [a, *rest]:
                s += a * rest[0] - rest[1]
            case []:
                s += x
            case int(a):
                s *= a
            case None | str():
                s += 1.0
            case _:
                s += part.sum() * y
    return s


@case(num(), num(), wrt=(0, 1), tags="match dicts")
def match_mappings(x, y):
    s = 0.0
    parts: Any = ({"op": "mul", "a": x, "b": y}, {"op": "neg", "a": x, "b": 2.0}, {"c": y}, x)
    for part in parts:
        match part:
            case {"op": "mul", "a": a, "b": b}:
                s += a * b
            case {"op": str(), "a": a, **rest}:
                s -= a * rest["b"] + len(rest)
            case {}:
                s *= part["c"]
            case _:
                s += part
    return s


@case(num(low=0.5), num(low=0.5), wrt=(0, 1), tags="match classes")
def match_classes(x, y):
    s = 0.0
    for part in (_Circle(x), _Box(x, y), _Box(2.0, y), _Circle(radius=_Box(y, x))):
        match part:
            case _Circle(_Box(width=w, height=h)):
                s += w / h
            case _Circle(r):
                s += 3.0 * r * r
            case _Box(2.0, h):
                s += h
            case _Box(w, h) if w > h:
                s += w * h * h
            case _Box(height=h, width=w):
                s -= w * h
    return s


@case(arr(N + 1), N, tags="match loops")
def match_in_a_loop(x, n):
    s, jumps = 0.0, 0
    for i in range(3 * n):
        match i % 4:
            case 0:
                s += x[i % (n + 1)]
            case 1:
                if s > 0.5:
                    jumps += 1
                    continue
                s *= 2.0 * x[0]
            case k if k * s > 2.0:
                break
            case k:
                s += k * x[n]
    return s + jumps


@case(num(), num(), wrt=(0, 1), tags="match")
def match_on_floats(x, y):
    match (x, y):
        case (a, b) if a > b:
            return a * b
        case (a, b) if a > 0.0:
            return a - b * b
        case (0.0, _) | (_, 0.0):
            return 0.0
        case pair:
            return pair[0] * pair[1] ** 2


@case(num(), N, tags="match lists")
def match_a_list_that_grows(x, n):
    items = [x]
    for k in range(n):
        items.append(x * k)
    match items:
        case [a]:
            return a * a
        case [a, b]:
            return a + b
        case [first, *_, last]:
            return first * last
    return 0.0


@case(num(), num(), wrt=(0, 1), tags="match")
def match_rebinds_its_subject(x, y):
    pair = (x, (y, x * y))
    s = y
    for _ in (1, 2):
        match pair:
            case (head, (_, _) as pair):
                s += head
            case (a, pair):
                s *= a * pair
    return s * pair

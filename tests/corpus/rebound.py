"""Containers that are recreated in every iteration, as in functional programs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import N, arr, build, case, listed, num


@dataclass
class State:
    position: Any
    speed: Any


@case(build(dict, a=arr(3), b=num()), N, tags="rebound dict loops")
def dict_made_anew(p, n):
    for _ in range(n):
        p = {k: v - 0.1 * v * v for k, v in p.items()}
    return np.sum(p["a"]) * p["b"]


@case(arr(3), N, tags="rebound list loops")
def list_of_arrays_made_anew(x, n):
    total = [np.zeros(3), np.zeros(2)]
    for i in range(n):
        parts = [x * i, x[:2] ** 2]
        total = [t + p for t, p in zip(total, parts)]
    return np.sum(total[0] * x) + np.sum(total[1])


@case(build(State, arr(2), arr(2)), num(), N, wrt=(0, 1), tags="rebound dataclass loops")
def dataclass_made_anew(s, k, n):
    for _ in range(n):
        s = State(s.position + 0.1 * s.speed, s.speed - k * np.sin(s.position))
    return np.sum(s.position * s.speed)


@case(build(State, arr(2), num()), N, tags="rebound dataclass loops")
def dataclass_replaced(s, n):
    t = s
    for _ in range(n):
        t = replace(t, position=t.position * s.speed)
    return np.sum(t.position) + replace(t, speed=t.speed * 2.0).speed


@case(
    build(dict, layers=listed(build(dict, w=arr(2, 2)), build(dict, w=arr(2, 2))), scale=num()),
    arr(2),
    N,
    tags="rebound nested loops",
)
def nested_containers_made_anew(p, x, n):
    for _ in range(n):
        layers = [{"w": layer["w"] * 0.5 + 0.1} for layer in p["layers"]]
        p = {"layers": layers, "scale": p["scale"] * 1.5}
    for layer in p["layers"]:
        x = np.tanh(layer["w"] @ x)
    return np.sum(x) * p["scale"]


@case(arr(3), num(0.2, 0.9), tags="rebound while")
def made_anew_in_some_rounds(x, k):
    p, best, rounds = {"x": x, "s": 1.0}, {"x": x * 0.0, "s": 0.0}, 0
    while rounds < 6:
        trial = {"x": p["x"] * k, "s": p["s"] + np.sum(p["x"])}
        if rounds % 2 == 0:
            best = p
            p = trial
        rounds += 1
    return np.sum(p["x"] * best["x"]) + p["s"] * best["s"]


@case(arr(3), N, tags="rebound dict loops")
def first_written_then_made_anew(x, n):
    p = {"x": x, "s": 1.0}
    for _ in range(n):
        p["s"] = p["s"] + np.sum(p["x"])
        p = {"x": p["x"] * 0.5, "s": p["s"] * 2.0}
        p["x"] = p["x"] + 0.25
    return np.sum(p["x"]) * p["s"]


@case(arr(3), N, tags="rebound list loops")
def two_that_change_places(x, n):
    a, b = [x, x * 2.0], [x * x, x + 1.0]
    for _ in range(n):
        a, b = b, a
    return np.sum(a[0] * b[1]) - np.sum(a[1])


@case(arr(3), N, tags="rebound dict loops")
def only_the_last_one_is_read(x, n):
    last = {"x": x}
    for i in range(n + 1):
        last = {"x": np.sin(x * (i + 1.0))}
    return np.sum(last["x"])

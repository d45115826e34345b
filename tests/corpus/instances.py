"""Objects of ordinary classes that are made, changed and used inside a function."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import N, arr, case, num


class Pipe:
    def __init__(self, function):
        self.function = function

    def __rshift__(self, other):
        return Pipe(lambda x: other(self(x)))

    def __call__(self, x):
        return self.function(x)


class Running:
    """A mean that is updated."""

    momentum = 0.5

    def __init__(self, size, *, start=0.0):
        self.mean = np.full(size, start)
        self.count = 0

    def add(self, x):
        self.mean = self.momentum * self.mean + (1.0 - self.momentum) * x
        self.count += 1
        return self

    @property
    def total(self):
        return np.sum(self.mean)

    @total.setter
    def total(self, value):
        self.mean = self.mean * 0.0 + value


class Weighted(Running):
    momentum = 0.25

    def __init__(self, size, weight):
        super().__init__(size, start=1.0)
        self.weight = weight

    def add(self, x):
        return super().add(self.weight * x)


class Empty:
    pass


@case(arr(3, 2), arr(2, 3), arr(3), wrt=(0, 1), tags="instances")
def functions_joined_by_an_operator(a, b, x):
    network = Pipe(lambda v: b @ v) >> Pipe(np.tanh) >> Pipe(lambda v: a @ v)
    return np.sum(network(x) ** 2)


@case(arr(N, 3), tags="instances loops")
def object_changed_in_a_loop(rows):
    running = Running(3)
    for row in rows:
        running.add(row * row)
    return running.total * (running.count + 1.0)


@case(arr(2), num(), wrt=(0, 1), tags="instances super")
def object_of_a_subclass(x, w):
    running = Weighted(2, w)
    running.add(x).add(x * x)
    before = running.total
    running.total = np.sin(before)
    return before * running.total + running.count


@case(arr(3), N, tags="instances loops rebound")
def object_made_in_every_iteration(x, n):
    best = Running(3, start=0.5)
    for i in range(n):
        new = Running(3)
        new.mean = best.mean * x + i
        best = new
    return best.total


@case(num(), tags="instances branches")
def attributes_set_in_branches(x):
    box = Empty()
    box.x = x
    if x > 0.0:
        box.x = box.x * 2.0
    else:
        box.x = np.sin(box.x)
    other = box
    other.x = other.x + 1.0
    return box.x


@dataclass
class Scaled:
    x: Any
    factor: float = 2.0
    history: list = field(default_factory=list)
    scaled: Any = field(init=False)

    def __post_init__(self):
        self.scaled = self.x * self.factor
        self.history.append(self.scaled)


@case(num(), tags="instances dataclass")
def dataclass_that_completes_itself(x):
    a, b = Scaled(x), Scaled(x * x, factor=3.0)
    b.history.append(a.scaled)
    return a.scaled * b.history[0] + b.history[1] + len(a.history)

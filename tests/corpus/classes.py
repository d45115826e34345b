"""Classes as users write them: inheritance, `super`, class and static methods, operators."""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from . import arr, build, case, num


class Affine:
    scale = 2.0

    def __init__(self, shift):
        self.shift = shift

    @property
    def offset(self):
        return self.shift * 3.0

    def name(self):
        return "affine"

    def call(self, x):
        return x * self.scale + self.offset

    @classmethod
    def unit(cls, x):
        return x * cls.scale

    @staticmethod
    def half(x):
        return x * 0.5


class Bent(Affine):
    scale = 5.0

    @property
    def offset(self):
        return super().offset + 1.0

    def call(self, x):
        return np.tanh(super().call(x))

    @classmethod
    def unit(cls, x):
        return super().unit(x) + 1.0

    def both(self, x):
        inner = super(Bent, self).call(x)
        return inner + super().half(x) + super().scale


class Noisy:
    """A mixin: its successor in the MRO depends on the class that derives from it."""

    def call(self, x):
        return super().call(x) + np.sin(x)


class NoisyBent(Noisy, Bent):
    def call(self, x):
        first = super().call
        return first(x) * first(2.0 * x) if self.name() == "affine" else x


BENT, NOISY = Bent(0.25), NoisyBent(0.5)


@case(arr(3), tags="classes super")
def method_of_the_parent(x):
    return np.sum(BENT.call(x) * x)


@case(num(), tags="classes super")
def parent_named_and_its_attributes(x):
    return BENT.both(x) + BENT.unit(x) + Bent.unit(x * x)


@case(arr(3), tags="classes super")
def mixin_before_the_parent(x):
    return np.sum(NOISY.call(x))


@dataclass
class Point:
    x: Any
    y: Any

    def norm(self):
        return self.x * self.x + self.y * self.y

    @classmethod
    def diagonal(cls, v):
        return cls(v, v * 2.0)

    @staticmethod
    def weigh(v):
        return np.sin(v)


@dataclass
class Heavy(Point):
    mass: Any

    def norm(self):
        return self.mass * super().norm()


@case(build(Heavy, x=num(), y=num(), mass=num()), tags="classes super dataclass")
def dataclass_of_a_dataclass(p):
    return p.norm() + p.weigh(p.mass) + Point.weigh(p.x)


@case(num(), tags="classes dataclass")
def made_by_a_class_method(x):
    p = Point.diagonal(x)
    return p.norm() * p.diagonal(p.y).norm()


class Pair(NamedTuple):
    a: Any
    b: Any

    @property
    def product(self):
        return self.a * self.b

    def swapped(self):
        return Pair(self.b, self.a * 2.0)


@case(build(Pair, num(), arr(3)), tags="classes namedtuple")
def methods_of_a_namedtuple(p):
    return np.sum(p.swapped().product * p.a)


class Activated:
    def __init__(self, activation):
        self.activation = activation


def leaky(x, slope):
    return np.where(x > 0.0, x, slope * x)


CLIPPED = Activated(functools.partial(np.clip, a_min=-0.5, a_max=0.5))
LEAKY = Activated(functools.partial(leaky, slope=0.25))
SCALE = functools.partial(np.multiply, np.array([1.0, 2.0, 3.0]))
TABLE = {"leaky": functools.partial(leaky, slope=0.5), "sin": np.sin}


@case(arr(3), tags="classes partial")
def partials_of_library_functions(x):
    return np.sum(CLIPPED.activation(x) * LEAKY.activation(x) + SCALE(x))


@case(arr(3), tags="classes partial")
def partials_in_a_table(x):
    return np.sum(TABLE["leaky"](x) * TABLE["sin"](x))


class Polynomial:
    """Every operator is a method."""

    __array_ufunc__ = None

    def __init__(self, coefficients, weight):
        self.coefficients = coefficients
        self.weight = weight

    def __len__(self):
        return len(self.coefficients)

    def __bool__(self):
        return self.weight > 0.0

    def __eq__(self, other):
        return self.weight == other

    def __lt__(self, other):
        return self.weight < other

    def __contains__(self, power):
        return power < len(self)

    def __iter__(self):
        return iter(self.coefficients)

    def __getitem__(self, power):
        return self.coefficients[power] * self.weight

    def __call__(self, x):
        total = 0.0
        for power, coefficient in enumerate(self):
            total = total + coefficient * x**power
        return total

    def __add__(self, other):
        return self.coefficients[0] + other

    def __radd__(self, other):
        return self.coefficients[1] + other * 2.0

    def __matmul__(self, other):
        return self.coefficients[2] * np.sum(other * other)

    def __neg__(self):
        return -self.weight


CURVE = Polynomial([0.5, -1.5, 0.25], 2.0)


@case(arr(3), tags="classes operators")
def operators_of_a_class(x):
    s = np.sum((CURVE + x) * x) + np.sum(x + CURVE) + CURVE @ x + (-CURVE) * x[0]
    return s + (3.0 + CURVE) * x[1] + CURVE[1] * x[2] + sum(CURVE) * x[0]


@case(num(), tags="classes operators")
def questions_to_a_class(x):
    s = CURVE(x) * len(CURVE)
    if CURVE and CURVE == 2.0 and CURVE != 3.0:
        s = s + x * x
    if CURVE < 1.0 or 1.0 > CURVE or 7 in CURVE:
        s = s * 100.0
    return s if 2 in CURVE and not -CURVE == 0.0 else x


@dataclass
class Dual:
    value: Any
    slope: Any

    def __add__(self, other):
        if not isinstance(other, Dual):
            other = Dual(other, 0.0)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __radd__(self, other):
        return self + other

    def __mul__(self, other):
        if not isinstance(other, Dual):
            return NotImplemented
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __rmul__(self, other):
        return Dual(self.value * other, self.slope * other)

    def __imul__(self, other):
        self.value *= other
        self.slope *= other
        return self

    def __getitem__(self, name):
        return self.value if name == "value" else self.slope


@case(num(), num(), wrt=(0, 1), tags="classes operators dataclass")
def dual_numbers(x, y):
    a, b = Dual(x, 1.0), Dual(y, 0.0)
    c = 2.0 * (a * b + 3.0) + (1.0 + a * a)
    c *= y
    same = Dual(1.0, 2.0) == Dual(1.0, 2.0) and Dual(1.0, 2.0) != Dual(1.0, 3.0)
    return c["value"] * c["slope"] if same else x


@case(num(), tags="classes operators")
def equal_containers(x):
    s = x if {"a": 1, "b": 2} == {"b": 2, "a": 1} else 0.0
    s = s + x * x if [1, 2] != (1, 2) else 0.0
    return s * 2.0 if {"a": x} == {"a": x} and {"a": 1} != {"b": 1} else s

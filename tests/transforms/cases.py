"""Programs that are difficult for a differentiating compiler, with arguments.

Each case is a function `(p, *params) -> results` on a `Program`; the first result is scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2s.transforms.ir.nodes import Array, Module, Type
from s2s.transforms.ir.symbolic_dims import Dim

from .programs import F8, Program, int_scalar, program, vector


@dataclass
class Case:
    name: str
    params: dict[str, Type]
    build: Callable[..., Any]
    args: list[tuple[Any, ...]]

    @property
    def module(self) -> Module:
        return program(self.params, self.build, self.name)

    @property
    def wrt(self) -> tuple[str, ...]:
        return tuple(n for n, t in self.params.items() if t.dtype == "float64")


CASES: list[Case] = []
X3 = np.array([0.3, 1.2, -0.7])
XS = [np.array([]), np.array([0.6]), np.array([0.6, 1.1]), X3]
VECTOR = {"x": vector("x")}
VECTOR_SCALAR = {"x": vector("x"), "y": F8}


def case(params: dict[str, Type], args: list[Any]) -> Callable[[Any], Any]:
    def declare(build: Any) -> Any:
        tuples = [a if isinstance(a, tuple) else (a,) for a in args]
        CASES.append(Case(build.__name__, params, build, tuples))
        return build

    return declare


def with_y(values: list[Any]) -> list[Any]:
    return [(x, 1.3) for x in values]


@case({"x": F8, "y": F8}, [(0.7, 1.9)])
def straight(p: Program, x: Any, y: Any) -> Any:
    z = np.sin(x) * y
    return z * z + x / y + z


@case({"x": F8, "y": F8}, [(0.7, 1.9)])
def unused(p: Program, x: Any, y: Any) -> Any:
    return x * 2.0


@case({"x": F8}, [(0.7,)])
def constant(p: Program, x: Any) -> Any:
    return 3.0


@case(VECTOR_SCALAR, with_y(XS))
def broadcast(p: Program, x: Any, y: Any) -> Any:
    return p.sum(x * y + y * y)


@case(VECTOR_SCALAR, with_y(XS))
def accumulate(p: Program, x: Any, y: Any) -> Any:
    return p.loop(x.shape[0], [y], lambda i, s: [s + p.get(x, i) * y])[0]


@case(VECTOR_SCALAR, with_y(XS))
def product(p: Program, x: Any, y: Any) -> Any:
    (s,) = p.loop(x.shape[0], [y], lambda i, s: [s * p.get(x, i)])
    return s * s


@case(VECTOR_SCALAR, with_y(XS))
def backwards(p: Program, x: Any, y: Any) -> Any:
    return p.loop(-1, [y], lambda i, s: [np.sin(s * p.get(x, i))], start=x.shape[0] - 1, step=-1)[0]


@case(VECTOR_SCALAR, with_y([np.arange(n) / 3 + 0.2 for n in range(8)]))
def strided(p: Program, x: Any, y: Any) -> Any:
    return p.loop(
        x.shape[0], [y], lambda i, s: [s * s * p.get(x, i) + p.get(x, i)], start=1, step=3
    )[0]


@case(VECTOR_SCALAR, with_y(XS))
def reversed_loop(p: Program, x: Any, y: Any) -> Any:
    return p.loop(x.shape[0], [y], lambda i, s: [np.sin(s * p.get(x, i))], reverse=True)[0]


@case(VECTOR_SCALAR, with_y(XS))
def last_value(p: Program, x: Any, y: Any) -> Any:
    return p.loop(x.shape[0], [y], lambda i, s: [np.exp(p.get(x, i)) * y])[0]


@case(VECTOR_SCALAR, with_y(XS))
def swap(p: Program, x: Any, y: Any) -> Any:
    a, b = p.loop(x.shape[0], [y, y * 2.0], lambda i, a, b: [b, a * p.get(x, i)])
    return a * b + a


@case(VECTOR_SCALAR, with_y(XS))
def passed_on(p: Program, x: Any, y: Any) -> Any:
    """A carried value whose next value is defined outside the loop, and one that does not
    change."""
    a, b, c = p.loop(x.shape[0], [y, y, y], lambda i, a, b, c: [y, b, a * b * p.get(x, i)])
    return a * b * c


@case(VECTOR_SCALAR, with_y(XS))
def shared_next(p: Program, x: Any, y: Any) -> Any:
    def body(i: Any, a: Any, b: Any) -> Any:
        c = a * b + p.get(x, i)
        return [c, c]

    a, b = p.loop(x.shape[0], [y, 2.0], body)
    return a * b


@case(VECTOR_SCALAR, with_y(XS))
def nested(p: Program, x: Any, y: Any) -> Any:
    n = x.shape[0]

    def outer(i: Any, s: Any) -> Any:
        z = np.sin(s) * p.get(x, i)
        (t,) = p.loop(n, [s], lambda j, t: [t + z * np.cos(p.get(x, j) * t)])
        return [t * z]

    return p.loop(n, [y], outer)[0]


@case(VECTOR_SCALAR, with_y(XS))
def triangular(p: Program, x: Any, y: Any) -> Any:
    def outer(i: Any, s: Any) -> Any:
        (t,) = p.loop(i + 1, [s], lambda j, t: [np.sin(t * p.get(x, j) + p.get(x, i))])
        return [t]

    return p.loop(x.shape[0], [y], outer)[0]


@case(VECTOR_SCALAR, with_y(XS))
def branch_in_loop(p: Program, x: Any, y: Any) -> Any:
    def body(i: Any, s: Any) -> Any:
        v = p.get(x, i)
        return p.branch(v > 0.5, lambda: [s + np.sin(v) * y], lambda: [s * v])

    (s,) = p.loop(x.shape[0], [y], body)
    return s * s


@case({"x": F8, "y": F8}, [(0.7, 1.9), (1.9, 0.7)])
def branches(p: Program, x: Any, y: Any) -> Any:
    """The sweep needs values of one branch; the other branch contributes nothing."""

    def then() -> Any:
        z = np.sin(x)
        (w,) = p.branch(z > 0.8, lambda: [np.exp(z * y)], lambda: [z])
        return [w * z, y]

    a, b = p.branch(x > y, then, lambda: [x, 2.0])
    return a * b + a


@case(VECTOR, XS)
def branch_arrays(p: Program, x: Any) -> Any:
    """Only one branch contributes to an array."""
    (s,) = p.branch(x.shape[0] > 1, lambda: [p.get(x, 1) * p.get(x, 0)], lambda: [0.5])
    return s * s


@case(VECTOR_SCALAR, with_y(XS))
def loop_in_branch_in_loop(p: Program, x: Any, y: Any) -> Any:
    n = x.shape[0]

    def outer(i: Any, s: Any) -> Any:
        v = p.get(x, i)

        def then() -> Any:
            w = s * v
            return p.loop(n, [w], lambda j, t: [np.sin(t * w) + p.get(x, j)])

        return p.branch(v > 0.5, then, lambda: [s * s])

    return p.loop(n, [y], outer)[0]


@case(VECTOR_SCALAR, with_y(XS))
def overwrite(p: Program, x: Any, y: Any) -> Any:
    """a[i] = a[i] * a[i] * y, read before and after"""
    a = x * y

    def body(i: Any, a: Any, s: Any) -> Any:
        v = p.get(a, i)
        a = p.set(a, v * v * y, i)
        return [a, s + np.sin(p.get(a, i)) * v]

    a, s = p.loop(x.shape[0], [a, 0.0], body)
    return s + p.sum(a * a)


@case(VECTOR, XS)
def recurrence(p: Program, x: Any) -> Any:
    """a[i] = a[i - 1] * x[i]"""
    (a,) = p.loop(
        x.shape[0],
        [x],
        lambda i, a: [p.set(a, np.sin(p.get(a, i - 1)) * p.get(x, i), i)],
        start=1,
    )
    return p.sum(a * a * a)


@case(VECTOR, XS)
def stencil(p: Program, x: Any) -> Any:
    """Linear updates of a whole array: nothing is saved."""
    (a,) = p.loop(3, [x], lambda k, a: [a * 0.5 + p.sum(a)])
    return p.sum(a * a)


@case(VECTOR, XS)
def array_chain(p: Program, x: Any) -> Any:
    (a,) = p.loop(3, [x], lambda k, a: [np.sin(a) * x])
    return p.sum(a)


@case(VECTOR, XS)
def add_at(p: Program, x: Any) -> Any:
    a = p.zeros_like(x)

    def body(i: Any, a: Any) -> Any:
        v = p.get(x, i)
        return [p.set(a, v * p.get(a, 0), 0, add=True)]

    (a,) = p.loop(x.shape[0], [x], body)
    return p.sum(a * a)


@case({"x": vector("x", 2)}, [np.arange(n * 2.0).reshape(n, 2) / 5 for n in range(3)])
def rows(p: Program, x: Any) -> Any:
    """Rows are views of a parameter; a local array lives in the body."""

    def body(i: Any, s: Any) -> Any:
        row = p.get(x, i)
        z = np.sin(row * s)
        return [s + p.sum(z * row) * p.get(z, 0)]

    return p.loop(x.shape[0], [0.5], body)[0]


@case({"x": F8, "n": int_scalar("n")}, [(0.7, n) for n in range(4)])
def until(p: Program, x: Any, n: Any) -> Any:
    """A loop with an early exit, after at most n + 1 iterations."""
    (s,) = p.loop(10, [x], lambda i, s: [np.sin(s) * x + s], until=lambda i, s: i >= n)
    return s * s


@case({"x": F8, "n": int_scalar("n")}, [(0.7, n) for n in range(4)])
def until_reversed(p: Program, x: Any, n: Any) -> Any:
    """Runs backwards and exits early; the index is read."""
    (s,) = p.loop(
        7,
        [x],
        lambda i, s: [np.sin(s) * x + s * p.emit("cast", i, dtype="float64")],
        until=lambda i, s: i <= 6 - n,
        start=1,
        step=2,
        reverse=True,
    )
    return s * s


@case({"x": F8, "n": int_scalar("n")}, [(0.7, n) for n in range(4)])
def while_count(p: Program, x: Any, n: Any) -> Any:
    s, _ = p.repeat(
        [x, p.sym(np.int64(0))], lambda s, k: [k < n], lambda s, k: [np.sin(s) * x + s, k + 1]
    )
    return s * s


@case({"x": F8, "y": F8}, [(0.7, y) for y in (0.1, 0.9, 2.0, 6.0)])
def while_active(p: Program, x: Any, y: Any) -> Any:
    """The condition depends on an active value that the body reads, too."""

    def test(s: Any) -> Any:
        t = s * s * x
        return [t < y, t]

    (s,) = p.repeat([x], test, lambda t, s: [s + t * 0.5 + 0.3])
    return s * s * y


@case({"x": F8, "y": F8}, [(0.7, y) for y in (0.1, 0.9, 2.0, 6.0)])
def while_entangled(p: Program, x: Any, y: Any) -> Any:
    """A loop in the condition, whose result the body reads."""

    def test(s: Any) -> Any:
        (t,) = p.loop(2, [s], lambda i, t: [t * s * x])
        return [t < y, t]

    (s,) = p.repeat([x], test, lambda t, s: [s + np.sin(t) * 0.5 + 0.3])
    return s * s * y


@case({"x": F8, "n": int_scalar("n")}, [(0.7, n) for n in range(4)])
def while_in_loop(p: Program, x: Any, n: Any) -> Any:
    def outer(i: Any, s: Any) -> Any:
        s, _ = p.repeat(
            [s, i], lambda s, k: [k < n], lambda s, k: [np.sin(s * x) + s, k + 1],
            until=lambda s, k: s > 2.0,
        )  # fmt: skip
        return [s * s]

    return p.loop(n, [x], outer)[0]


@case(VECTOR_SCALAR, with_y(XS))
def branch_overwrites(p: Program, x: Any, y: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        v = p.get(a, i)
        return p.branch(v > 0.5, lambda: [p.set(a, v * v, i)], lambda: [p.set(a, y * v, 0)])

    (a,) = p.loop(x.shape[0], [x], body)
    return p.sum(a * x)


@case(VECTOR, XS[1:])
def grows(p: Program, x: Any) -> Any:
    """A carried array whose size changes."""
    own = Array("float64", (Dim.of("g.0"),))

    def body(i: Any, a: Any) -> Any:
        head = p.emit("index", a * a, 0, 1, items=(("slice", 1, 2, None),))
        return [p.emit("concatenate", np.sin(a), head, axis=0)]

    (a,) = p.loop(3, [x], body, names=["g"], types=[own])
    return p.sum(a * a)


@case({"x": vector("x", 3)}, [np.arange(n * 4.0).reshape(n, 2, 2) / 7 for n in range(3)])
def rows_of_rows(p: Program, x: Any) -> Any:
    """Inner loops read their bounds from the shapes of views."""

    def planes(i: Any, s: Any) -> Any:
        plane = p.get(x, i)

        def rows_(j: Any, s: Any) -> Any:
            row = p.get(plane, j)
            (t,) = p.loop(row.shape[0], [1.0], lambda k, t: [t * p.get(row, k) + 0.5])
            return [s + t * t]

        return p.loop(plane.shape[0], [s], rows_)

    return p.loop(x.shape[0], [0.0], planes)[0]


@case(VECTOR, XS)
def two_pointers(p: Program, x: Any) -> Any:
    """Counters of a while loop are used as indices."""
    zero = p.sym(np.int64(0))
    s, _, _ = p.repeat(
        [0.0, zero, x.shape[0] - 1],
        lambda s, i, j: [i < j],
        lambda s, i, j: [s + np.sin(p.get(x, i)) * p.get(x, j), i + 2, j - 1],
    )
    return s * s


@case({"x": Array("float64", ())}, [np.array(0.7)])
def zero_dim(p: Program, x: Any) -> Any:
    (s,) = p.loop(3, [x * 1.0], lambda i, s: [s * x + np.sin(x)])
    return s * s

"""Stacks that become slots again, and those that stay lists."""

from __future__ import annotations

import numpy as np

from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.frontend.pytree import describe
from s2s.transforms.ir.nodes import (
    Assign,
    Function,
    ListOf,
    Op,
    Save,
    Scalar,
    Var,
    targets_of,
    walk,
)
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.simplify.inline_calls import inline_calls
from s2s.transforms.simplify.lists_to_slots import lists_to_slots
from s2s.transforms.specialise import specialise

X = np.array([0.3, 0.5, 0.7])


def powers(x, k):
    for i in range(k):
        x = x * np.sin(x[i])
    return np.sum(x * x)


def inlined(f) -> tuple[Function, Facts]:
    made = specialise(f, {"x": describe(X)}, {"x": X}, keep=True)
    module = reverse(made.module, (made.params[0].name,), 0, made.facts)
    return inline_calls(module, made.facts).main, made.facts


def lists(function: Function) -> list[Var]:
    values = [v for s in walk(function.body) for v in targets_of(s)]
    return [v for v in values if isinstance(v.type, ListOf)]


def slots(function: Function) -> tuple[set[str], set[str]]:
    saved = {s.slot.name for s in walk(function.body) if isinstance(s, Save)}
    ops = (s.op for s in walk(function.body) if isinstance(s, Assign))
    return saved, {op.attrs["slot"].name for op in ops if op.name == "restore"}


def test_each_stack_becomes_a_slot() -> None:
    def f(x):
        t = 0.0
        for k in range(3):
            t = t + powers(x, k)
        return t * powers(x, 2)

    before, facts = inlined(f)
    assert lists(before) and not slots(before)[0] & {v.name for v in lists(before)}
    after = lists_to_slots(before, facts)
    saved, restored = slots(after)
    assert not lists(after) and saved == restored


def test_sizes_of_restored_values_are_those_of_the_saved() -> None:
    def f(x):
        return powers(x, 3)

    before, facts = inlined(f)
    after = lists_to_slots(before, facts)
    saved = {s.slot.name: s.value for s in walk(after.body) if isinstance(s, Save)}
    for s in walk(after.body):
        if isinstance(s, Assign) and s.op.name == "restore" and s.target.type.ndim:
            value = saved[s.op.attrs["slot"].name]
            assert [facts.canonical(d) for d in s.target.type.shape] == [
                facts.canonical(d) for d in value.type.shape
            ]


def test_a_list_of_the_program_stays_one() -> None:
    a = Var("a", ListOf(Scalar("float64")))
    b, x, y = Var("b", a.type), Var("x", Scalar("float64")), Var("y", Scalar("float64"))
    body = [
        Assign(a, Op("list_new", (), {"type": a.type})),
        Assign(b, Op("list_append", (a, x))),
        Assign(y, Op("list_get", (b, b), {})),
    ]
    f = Function("f", [x], body, [y])
    assert lists_to_slots(f, Facts()) is f

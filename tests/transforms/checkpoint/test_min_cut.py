"""The choice between storing and recomputing has minimal cost."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from s2s.transforms.checkpoint import min_cut
from s2s.transforms.checkpoint.min_cut import Value, choose
from s2s.transforms.checkpoint.rematerialize import INFINITE_COST

COSTS = st.sampled_from([0.0, 1.0, 2.0, 5.0, 12.0, 40.0])


@st.composite
def graphs(draw):
    """Random graphs of values v0, v1, …, each computed from earlier ones; some cannot be
    recomputed."""
    values: dict[str, Value] = {}
    for k in range(draw(st.integers(1, 7))):
        made_of = draw(st.sets(st.sampled_from([f"v{i}" for i in range(k)] or ["x"]), max_size=3))
        compute = INFINITE_COST if draw(st.integers(0, 4)) == 0 else draw(COSTS)
        values[f"v{k}"] = Value(draw(COSTS) + 1.0, compute, sorted(made_of))
    needed = draw(st.sets(st.sampled_from(sorted(values)), min_size=1))
    return sorted(needed), values


def cost(stored, needed, values):
    """The cost of storing these values and recomputing all others that are needed."""
    total, done = sum(values[n].store for n in stored), set(stored)
    todo = [n for n in needed if n not in done]
    while todo:
        name = todo.pop()
        if name in done or name not in values:
            continue
        done.add(name)
        total += values[name].compute
        todo += values[name].operands
    return total


@given(graphs())
@settings(max_examples=200, deadline=None)
def test_nothing_is_cheaper(graph):
    needed, values = graph
    found = min_cut._minimum_cut(needed, values)[0]
    subsets = (s for k in range(len(values) + 1) for s in itertools.combinations(sorted(values), k))
    assert found == min(cost(s, needed, values) for s in subsets)


@given(graphs())
@settings(max_examples=200, deadline=None)
def test_a_choice_provides_what_is_needed(graph):
    needed, values = graph
    choice = choose(needed, values)
    if choice is None:
        return
    assert not choice.stored & choice.computed
    there = choice.stored | choice.computed
    assert set(needed) <= there
    for name in choice.computed:
        assert all(o in there for o in values[name].operands if o in values)
    assert cost(choice.stored, needed, values) == min_cut._minimum_cut(needed, values)[0]


def test_what_others_are_made_of_is_stored_once():
    values = {"p": Value(12.0, INFINITE_COST)}
    values |= {f"d{k}": Value(12.0, 1.0, ["p"]) for k in range(3)}
    choice = choose(["d0", "d1", "d2"], values)
    assert choice is not None
    assert choice.stored == {"p"} and choice.computed == {"d0", "d1", "d2"}


def test_a_small_advantage_is_not_worth_the_lines():
    values = {"p": Value(11.0, INFINITE_COST), "d": Value(12.0, 0.5, ["p"])}
    assert choose(["d"], values) is None


def test_what_is_dear_is_stored():
    values = {"p": Value(12.0, INFINITE_COST), "e": Value(12.0, 16.0, ["p"])}
    assert choose(["e"], values) is None

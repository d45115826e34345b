"""Comprehensions as loops."""

from __future__ import annotations

from s2s.transforms.specialise.operations.comprehensions import Comprehensions
from s2s.transforms.specialise.values import Items, TupleVal, constant
from s2s.transforms.syntax import core
from tests.transforms.specialise.bench import Bench


def bench(items) -> Bench:
    """A fake evaluator whose loops run over `items`, and whose lists take what is appended."""

    def for_each(target, over, body, until, node) -> bool:
        for item in items:
            here.env[target.id] = item
            body()
        return False

    def append(owner, name, args):
        content = here.session.state.heap[owner.cell]
        here.session.state.heap[owner.cell] = Items((*content.values, *args))

    here = Bench(for_each=for_each, call_method=append)
    return here


def comprehension(here: Bench, kind: str, element: core.Expr, *tests: core.Expr) -> core.Comp:
    at = here.node.at
    clause = core.Clause(at, core.Name(at, "v"), core.Const(at, "over"), tests)
    return core.Comp(at, kind, element, (clause,))


def test_a_list() -> None:
    here = bench([constant(1), constant(2)])
    node = comprehension(here, "list", core.Name(here.node.at, "v"))
    made = here[Comprehensions].comprehension(node)
    assert [v.known for v in here.session.state.heap[made.cell].values] == [(1,), (2,)]
    assert "v" not in here.env and not here.block


def test_a_condition_that_is_known_leaves_elements_out() -> None:
    here = bench([constant(0), constant(2)])
    name = core.Name(here.node.at, "v")
    made = here[Comprehensions].comprehension(comprehension(here, "list", name, name))
    assert [v.known for v in here.session.state.heap[made.cell].values] == [(2,)]


def test_the_names_around_it_come_back() -> None:
    here = bench([constant(1)])
    here.env["v"] = kept = here.number()
    here[Comprehensions].comprehension(comprehension(here, "list", core.Name(here.node.at, "v")))
    assert here.env["v"] is kept


def test_a_dict_keeps_the_last_value_of_a_key() -> None:
    pairs = [TupleVal((constant(k), constant(v))) for k, v in ((1, 5), (2, 6), (1, 7))]
    here = bench(pairs)
    made = here[Comprehensions].dict_of(comprehension(here, "dict", core.Name(here.node.at, "v")))
    content = here.session.state.heap[made.cell]
    assert content.keys == (1, 2) and [v.known for v in content.values] == [(7,), (6,)]

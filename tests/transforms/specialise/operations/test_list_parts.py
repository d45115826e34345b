"""Parts of run-time lists."""

from __future__ import annotations

from s2s.transforms.ir.nodes import Scalar
from s2s.transforms.specialise.heap.lists import Lists
from s2s.transforms.specialise.operations.list_parts import ListParts
from s2s.transforms.specialise.values import Growing, Items, ListVal, SliceVal, constant
from tests.transforms.specialise.bench import Bench


def test_parts_are_copied_in_loops() -> None:
    loops = []

    def for_each(target, over, body, until, node) -> bool:
        loops.append(over)
        here.env[target.id] = here.number("k", "int64")
        return body()

    appended = []
    here = Bench(for_each=for_each, call_method=lambda owner, name, args: appended.append(name))
    content = here[Lists].grow(Items((here.number(),)), Scalar("float64"), here.node)
    assert isinstance(content, Growing)
    part = SliceVal(constant(1), None, None)
    made = here[ListParts].list_part(content, part, here.node)
    assert isinstance(made, ListVal) and len(loops) == 1 and appended == ["append"]
    appended.clear()
    value, rest = here[ListParts].list_without(content, constant(0), here.node)
    assert value.known is None and isinstance(rest, ListVal) and len(loops) == 3
    appended.clear()
    here[ListParts].list_with(content, constant(0), here.number("z"), here.node)
    assert appended == ["append"] * 3

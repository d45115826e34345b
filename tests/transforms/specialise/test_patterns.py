"""Values split into patterns and leaves, and made of them again."""

from __future__ import annotations

from s2s.transforms.specialise.frames import Frames
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.patterns import Packer, leaves_of, retyped, unpack
from s2s.transforms.specialise.values import Maybe, Num, Obj, TupleVal, constant
from tests.transforms.specialise.bench import Bench


def packer(here: Bench) -> Packer:
    return Packer(here[Frames], lambda index, number: number.known is not None, lambda why: why)


def test_a_pattern_does_not_depend_on_names() -> None:
    here = Bench()
    first = packer(here).pack(TupleVal((here.number("x"), here.array("a"), constant(2))))
    second = packer(here).pack(TupleVal((here.number("y"), here.array("b"), constant(2))))
    other = packer(here).pack(TupleVal((here.number("z"), here.array("c"), constant(3))))
    assert first == second != other and len(list(leaves_of(first))) == 2


def test_containers_are_made_again_with_what_they_share() -> None:
    here = Bench()
    items = here[Arrays].new_list((here.number(),))
    pattern = packer(here).pack(TupleVal((items, items)))
    made = unpack(pattern, here[Frames], lambda leaf, name: Num(here.number("n").operand), "v")
    assert made.values[0].cell is made.values[1].cell is not items.cell


def test_what_has_no_pattern_is_refused() -> None:
    here = Bench()
    x = here.number()
    assert packer(here).pack(Maybe(x, x.operand)) == "a name that is bound on some paths only"
    assert packer(here).pack(Obj(len)) == packer(here).pack(Obj(len))


def test_types_of_leaves_can_be_replaced() -> None:
    here = Bench()
    pattern = packer(here).pack(TupleVal((here.number("x"),)))
    wanted = here[Arrays].ref_type(here.array("a"))
    (leaf,) = leaves_of(retyped(pattern, lambda index: wanted))
    assert leaf.type == wanted

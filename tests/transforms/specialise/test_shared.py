"""What the specialisers of one module have in common."""

from __future__ import annotations

from s2s.transforms.frontend.source import read
from s2s.transforms.specialise.patterns import Still
from s2s.transforms.specialise.shared import Lifted, Outcome, Outlined, Shared, last_return


def two(x):
    if x > 0.0:
        return x
    return -x


def test_the_last_return_in_the_text() -> None:
    source = read(two)
    last = last_return(source.node)
    assert source.line(source.span(last).line).strip() == "return -x"


class NoLongerFits(Lifted):
    def fits(self) -> bool:
        return False


def test_a_function_is_found_while_what_it_reaches_fits() -> None:
    args = Still("args", None)
    fits = Outlined("f#1", args, Outcome(reached=(Lifted((("arg", "x"),), 1.0),)))
    gone = Outlined("f#2", args, Outcome(reached=(NoLongerFits((), 1.0),)))
    shared = Shared(two, made=[("key", gone), ("key", fits), ("other", gone)])
    assert shared.find("key") is fits
    assert shared.find("other") is None

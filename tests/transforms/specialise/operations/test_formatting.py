"""Formatted text."""

from __future__ import annotations

from s2s.transforms.specialise.operations.formatting import Formatting
from s2s.transforms.specialise.values import constant
from s2s.transforms.syntax import core
from tests.transforms.specialise.bench import Bench


def field(here: Bench, value: object, spec: str = "") -> core.Field:
    at = here.node.at
    return core.Field(at, core.Const(at, value), "", core.Format(at, (spec,)) if spec else None)


def test_known_values_are_text() -> None:
    here = Bench()
    node = core.Format(here.node.at, ("n is ", field(here, 3), ", ", field(here, 2.5, ".2f")))
    assert here[Formatting].text_of(node) == "n is 3, 2.50"


def test_run_time_scalars_stay_parts_of_a_message() -> None:
    here = Bench()
    x = here.env["x"] = here.number()
    name = core.Field(here.node.at, core.Name(here.node.at, "x"), "", None)
    parts = here[Formatting].message_parts(core.Format(here.node.at, ("x is ", name)))
    assert parts[0] == "x is " and len(parts) == 2 and parts[1] != "x"
    assert here[Formatting].field_text(field(here, 1), constant(7)) == "7"
    assert x.known is None

"""Tables of methods."""

from __future__ import annotations

from s2s.transforms.specialise.dispatch import builtin, entry, evaluates, table
from s2s.transforms.syntax import core


class One:
    @evaluates(core.Const, core.Name)
    def value(self) -> str:
        return "value"

    @builtin(len)
    def call_len(self) -> str:
        return "len"


class Two:
    @evaluates(core.Attr)
    @entry("other", "k")
    def attribute(self) -> str:
        return "attribute"


def test_a_table_has_the_methods_of_all_parts() -> None:
    found = table("evaluates", One(), Two())
    assert {key: method() for key, method in found.items()} == {
        core.Const: "value", core.Name: "value", core.Attr: "attribute"
    }  # fmt: skip
    assert table("builtin", One())[len]() == "len"
    assert table("other", One(), Two())["k"]() == "attribute"
    assert table("runs", One()) == {}

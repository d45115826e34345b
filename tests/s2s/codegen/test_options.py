"""Compile options: what may be reassociated, and keys for the cache."""

from __future__ import annotations

from s2s.codegen.options import BY_NUMBA, FASTMATH, OPTIONS, WRAPPED, spelled


def test_nan_and_infinity_are_honoured() -> None:
    for options in (OPTIONS, BY_NUMBA, WRAPPED):
        assert not {"nnan", "ninf", "fast"} & options["fastmath"]
        assert options["error_model"] == "numpy" and options["nogil"]


def test_numba_may_not_estimate_reciprocals() -> None:
    assert "arcp" in OPTIONS["fastmath"] and "arcp" not in BY_NUMBA["fastmath"]
    assert FASTMATH == OPTIONS["fastmath"]  # `BY_NUMBA` is a copy


def test_equal_options_have_one_spelling() -> None:
    flags = ["nsz", "afn", "arcp", "contract", "reassoc"]
    spellings = set()
    for k in range(len(flags)):
        turned = {**dict.fromkeys(flags[k:]), **dict.fromkeys(flags[:k])}
        options = {"fastmath": set(turned), "nogil": True, "error_model": "numpy"}
        spellings.add(spelled(dict(reversed(options.items())) if k % 2 else options))
    assert spellings == {spelled(OPTIONS)}


def test_different_options_have_different_spellings() -> None:
    assert len({spelled(o) for o in (OPTIONS, BY_NUMBA, WRAPPED)}) == 3
    assert spelled({"nogil": True, "fastmath": set()}) != spelled({"nogil": 1.5, "fastmath": set()})

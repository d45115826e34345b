"""Compile options: what may be reassociated, and keys for the cache."""

from __future__ import annotations

from s2s.codegen.options import FASTMATH, NUMBA_OPTIONS, OPTIONS, WRAPPER_OPTIONS, canonical_options


def test_nan_and_infinity_are_honoured() -> None:
    for options in (OPTIONS, NUMBA_OPTIONS, WRAPPER_OPTIONS):
        assert not {"nnan", "ninf", "fast"} & options["fastmath"]
        assert options["error_model"] == "numpy" and options["nogil"]


def test_numba_may_not_estimate_reciprocals() -> None:
    assert "arcp" in OPTIONS["fastmath"] and "arcp" not in NUMBA_OPTIONS["fastmath"]
    assert FASTMATH == OPTIONS["fastmath"]  # `NUMBA_OPTIONS` is a copy


def test_equal_options_have_one_spelling() -> None:
    flags = ["nsz", "afn", "arcp", "contract", "reassoc"]
    spellings = set()
    for k in range(len(flags)):
        turned = {**dict.fromkeys(flags[k:]), **dict.fromkeys(flags[:k])}
        options = {"fastmath": set(turned), "nogil": True, "error_model": "numpy"}
        spellings.add(canonical_options(dict(reversed(options.items())) if k % 2 else options))
    assert spellings == {canonical_options(OPTIONS)}


def test_different_options_have_different_spellings() -> None:
    assert len({canonical_options(o) for o in (OPTIONS, NUMBA_OPTIONS, WRAPPER_OPTIONS)}) == 3
    assert canonical_options({"nogil": True, "fastmath": set()}) != canonical_options(
        {"nogil": 1.5, "fastmath": set()}
    )

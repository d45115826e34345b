"""Signatures: `float32[n,784], int64[n]`, where names are sizes at run time and numbers are fixed.

They become example arguments, which is what the compiler takes, and the sizes that were meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..api.signature_spec import ALIASES, scalar
from ..errors import TypeError_
from . import c_names

_LEAF = re.compile(r"^(?P<dtype>[a-z]+\d*)\s*(?:\[(?P<axes>[^\]]*)\])?$")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

# Sizes for names: large enough not to be 1, and unlike each other.
_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83)

Size = str | int | None


@dataclass
class Signature:
    """Example arguments; `sizes` holds, by the identity of each array among them, what its axes
    are: a name, a number, or None where an example says nothing about it."""

    args: tuple[Any, ...]
    sizes: dict[int, tuple[Size, ...]] = field(default_factory=dict)

    def of(self, value: Any) -> tuple[Size, ...]:
        found = self.sizes.get(id(value))
        return (None,) * np.ndim(value) if found is None else found


def read(given: Any) -> Signature:
    """From a text, or a tuple of texts, examples, and containers of them."""
    reader = _Reader()
    whole = isinstance(given, str)
    if whole:
        given = _split(given)
    elif not isinstance(given, (tuple, list)):
        given = (given,)
    args = tuple(reader.value(g, whole) for g in given)
    return Signature(args, reader.sizes)


def _split(text: str) -> list[str]:
    """At commas outside brackets."""
    parts = [p.strip() for p in re.split(r",(?![^\[]*\])", text)]
    return [p for p in parts if p]


class _Reader:
    def __init__(self) -> None:
        self.sizes: dict[int, tuple[Size, ...]] = {}
        self.names: dict[str, int] = {}

    def value(self, given: Any, whole: bool = False) -> Any:
        """What stands for an argument; a text in a `whole` signature of text is a type."""
        if isinstance(given, str):
            return self._leaf(given) if whole or _is_type(given) else given
        if isinstance(given, np.ndarray):
            return np.ascontiguousarray(given).reshape(given.shape)
        if type(given) in (tuple, list):
            return type(given)(self.value(g) for g in given)
        if type(given) is dict:
            return {k: self.value(g) for k, g in given.items()}
        return given

    def _leaf(self, text: str) -> Any:
        match = _LEAF.match(text.strip())
        try:
            dtype = np.dtype(ALIASES.get(match["dtype"], match["dtype"])) if match else None
        except TypeError:
            dtype = None
        if match is None or dtype is None:
            raise _wrong(text)
        if match["axes"] is None:
            return scalar(match["dtype"], dtype)
        axes = tuple(self._axis(a.strip(), text) for a in match["axes"].split(",") if a.strip())
        shape = [self._example(a) if isinstance(a, str) else a for a in axes]
        array = np.zeros(shape, dtype)
        self.sizes[id(array)] = axes
        return array

    def _axis(self, text: str, whole: str) -> str | int:
        if text.isdigit():
            return int(text)
        if not _NAME.fullmatch(text):
            raise _wrong(whole)
        if not c_names.is_size(text):
            raise TypeError_(
                f"{text} in {whole!r} means something else in C or Python",
                advice="choose another name for the size",
            )
        return text

    def _example(self, name: str) -> int:
        if name not in self.names:
            k = len(self.names)
            self.names[name] = _PRIMES[k] if k < len(_PRIMES) else 101 + 2 * k
        return self.names[name]


def _is_type(text: str) -> bool:
    """Whether a text among examples is a type, and not a string to be passed."""
    match = _LEAF.match(text.strip())
    if match is None or match["axes"] is not None:
        return "[" in text
    try:
        np.dtype(ALIASES.get(match["dtype"], match["dtype"]))
    except TypeError:
        return False
    return True


def _wrong(text: str) -> TypeError_:
    return TypeError_(
        f"{text!r} is no type of an argument",
        advice='write "float32[n,784], int64[n], float64": names are sizes at run time, numbers '
        "are fixed; or give example arguments",
    )

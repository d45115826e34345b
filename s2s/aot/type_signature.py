"""Signatures such as `float32[n,784], int64[n]`: names are run-time sizes, integers are constants.

A signature is parsed into example arguments, from which the compiler specialises, and the sizes of
their axes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..api.signature_spec import ALIASES, scalar
from ..errors import S2STypeError
from . import c_names

_LEAF = re.compile(r"^(?P<dtype>[a-z]+\d*)\s*(?:\[(?P<axes>[^\]]*)\])?$")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

# Example sizes for named axes: distinct, and larger than 1.
_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83)

Size = str | int | None


@dataclass
class Signature:
    """Example arguments.  `sizes` maps the id of each array to the sizes of its axes: a name, a
    constant, or None where an example array leaves it open."""

    args: tuple[Any, ...]
    sizes: dict[int, tuple[Size, ...]] = field(default_factory=dict)

    def of(self, value: Any) -> tuple[Size, ...]:
        found = self.sizes.get(id(value))
        return (None,) * np.ndim(value) if found is None else found


def parse_signature(given: Any) -> Signature:
    """Parse a signature: a string, or a tuple of type strings, example values and containers of
    them."""
    reader = _Reader()
    whole = isinstance(given, str)
    if whole:
        given = _split(given)
    elif not isinstance(given, (tuple, list)):
        given = (given,)
    args = tuple(reader.value(g, whole) for g in given)
    return Signature(args, reader.sizes)


def _split(text: str) -> list[str]:
    """Split a signature at commas outside brackets."""
    parts = [p.strip() for p in re.split(r",(?![^\[]*\])", text)]
    return [p for p in parts if p]


class _Reader:
    """Makes example arguments.  `names` maps size names to their example sizes."""

    def __init__(self) -> None:
        self.sizes: dict[int, tuple[Size, ...]] = {}
        self.names: dict[str, int] = {}

    def value(self, given: Any, whole: bool = False) -> Any:
        """The example value of an argument.  A string is a type if it is part of a `whole`
        signature string or looks like a type; otherwise it is passed as it is."""
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
            raise _invalid_type(text)
        if match["axes"] is None:
            return scalar(match["dtype"], dtype)
        axes = tuple(self._axis(a.strip(), text) for a in match["axes"].split(",") if a.strip())
        shape = [self._example(a) if isinstance(a, str) else a for a in axes]
        array = np.zeros(shape, dtype)
        self.sizes[id(array)] = axes
        return array

    def _axis(self, text: str, whole: str) -> str | int:
        if text.isascii() and text.isdigit():
            return int(text)
        if not _NAME.fullmatch(text):
            raise _invalid_type(whole)
        if not c_names.is_size(text):
            raise S2STypeError(
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
    """True if a string among example values is a type, not a string argument."""
    match = _LEAF.match(text.strip())
    if match is None or match["axes"] is not None:
        return "[" in text
    try:
        np.dtype(ALIASES.get(match["dtype"], match["dtype"]))
    except TypeError:
        return False
    return True


def _invalid_type(text: str) -> S2STypeError:
    return S2STypeError(
        f"{text!r} is no type of an argument",
        advice='write "float32[n,784], int64[n], float64": names are sizes at run time, numbers '
        "are fixed; or give example arguments",
    )

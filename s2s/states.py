"""The state of an object in plain Python, as arrays by name: the numbers, arrays, Variables and
random generators in its attributes, in lists and dicts there, and in objects it holds.

    optimizer.steps               a number
    optimizer.slots['m'][0]       an array, or, with `:variable` behind it, a Variable

An object may say in `saved_attributes` which of its attributes are its state.
"""

from __future__ import annotations

import ast
import json
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .layers.base import Layer
from .variable import Variable

ITEM = re.compile(r"""(.*)\[('.*'|".*"|-?\d+)\]""")
KIND = re.compile(r"(.*?)(?::(variable|generator))?")
LARGEST_KEY = 2**32
OPAQUE = (Variable, np.ndarray, np.random.Generator, types.FunctionType, types.ModuleType, type)


@dataclass
class Place:
    """Where a part of the state is held: an attribute of an object, or an item of a container."""

    holder: Any
    key: Any

    def get(self) -> Any:
        if isinstance(self.holder, (list, dict)):
            return self.holder[self.key]
        return getattr(self.holder, self.key)

    def put(self, value: Any) -> None:
        if isinstance(self.holder, list) and self.key == len(self.holder):
            self.holder.append(value)
        elif isinstance(self.holder, (list, dict)):
            self.holder[self.key] = value
        else:
            setattr(self.holder, self.key, value)


def save(owner: Any, name: str, apart: set[int]) -> dict[str, Any]:
    """The state of an object; `apart` are the ids of Variables that are saved elsewhere."""
    found: dict[str, Any] = {}
    for label, place in _places(owner, name, apart):
        value = place.get()
        if isinstance(value, np.random.Generator):
            found[f"{label}:generator"] = generator_state(value)
        elif isinstance(value, Variable):
            found[f"{label}:variable"] = value.numpy()
        elif isinstance(value, (int, float, complex, np.generic, np.ndarray)):
            found[label] = np.asarray(value)
    return found


def load(owner: Any, name: str, apart: set[int], arrays: dict[str, Any]) -> None:
    """Sets the state of an object; what is not there yet in its lists and dicts is made."""
    places = dict(_places(owner, name, apart))
    for label, array in arrays.items():
        if not label.startswith(f"{name}."):
            continue
        plain, kind = KIND.fullmatch(label).groups()  # type: ignore[union-attr]
        place = places.get(plain) or _new_place(plain, places)
        if place is None:
            raise ValueError(f"the state that was saved has {plain}, and the object has not")
        old: Any = place.get() if plain in places else None
        if kind == "generator":
            set_generator(old, array)
        elif isinstance(old, Variable):
            old.assign(array)
        elif kind == "variable":
            place.put(Variable(array, trainable=False, name=plain))
        else:
            place.put(_like(old, array))
        places[plain] = place


def _like(old: Any, array: Any) -> Any:
    if isinstance(old, np.ndarray) or array.ndim:
        return np.array(array)
    return array[()] if isinstance(old, np.generic) else array.item()


def _new_place(label: str, places: dict[str, Place]) -> Place | None:
    match = ITEM.fullmatch(label)
    holder = places[match[1]].get() if match and match[1] in places else None
    return Place(holder, ast.literal_eval(match[2])) if match and holder is not None else None


def _places(owner: Any, name: str, apart: set[int]) -> Iterator[tuple[str, Place]]:
    """Every attribute and item, containers before what they hold."""
    names = getattr(owner, "saved_attributes", None) or list(vars(owner))
    for attribute in names:
        yield from _inside(Place(owner, attribute), f"{name}.{attribute}", apart)


def _inside(place: Place, label: str, apart: set[int]) -> Iterator[tuple[str, Place]]:
    value = place.get()
    if isinstance(value, Layer) or id(value) in apart or isinstance(value, (bool, str)):
        return
    yield label, place
    if isinstance(value, dict):
        for key in value:
            _check_key(label, key)
            yield from _inside(Place(value, key), f"{label}[{key!r}]", apart)
    elif isinstance(value, list):
        for k in range(len(value)):
            yield from _inside(Place(value, k), f"{label}[{k}]", apart)
    elif hasattr(value, "__dict__") and not isinstance(value, OPAQUE):
        yield from _places(value, label, apart)


def _check_key(label: str, key: Any) -> None:
    if isinstance(key, str) or (isinstance(key, int) and abs(key) < LARGEST_KEY):
        return
    raise ValueError(
        f"{label} is a dict with the key {key!r}, which means nothing in another run; use names or "
        "positions of variables as keys"
    )


# ---------------------------------------------------------------- random generators


def generator_state(generator: np.random.Generator) -> Any:
    """As bytes of JSON."""
    text = json.dumps(generator.bit_generator.state, default=np.ndarray.tolist)
    return np.frombuffer(text.encode(), "u1")


def set_generator(generator: np.random.Generator, state: Any) -> None:
    saved = json.loads(state.tobytes())
    now = generator.bit_generator.state
    if saved["bit_generator"] != now["bit_generator"]:
        raise ValueError(
            f"the state of a {saved['bit_generator']} was saved, and this generator is a "
            f"{now['bit_generator']}"
        )
    generator.bit_generator.state = _arrays_as_in(now, saved)


def _arrays_as_in(now: Any, saved: Any) -> Any:
    if isinstance(now, dict):
        return {k: _arrays_as_in(now[k], v) for k, v in saved.items()}
    return np.array(saved, now.dtype) if isinstance(now, np.ndarray) else saved

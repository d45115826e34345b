"""The state of an object in plain Python, as arrays by name: the numbers, arrays, Variables and
random generators in its attributes, in lists and dicts there, and in objects it holds.

    optimizer.steps               a number
    optimizer.slots['m'][0]       an array, or, with `:variable` behind it, a Variable

An object may say in `saved_attributes` which of its attributes are its state.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..layers.base import Layer
from ..objects.variable import Variable

ITEM = re.compile(r"""(.*)\[('.*'|".*"|-?\d+)\]""")
KIND = re.compile(r"(.*?)(?::(variable|generator))?")
LARGEST_KEY = 2**32
Change = Callable[[], Any]
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


def load(owner: Any, name: str, apart: set[int], arrays: dict[str, Any]) -> list[Change]:
    """Sets the attributes and items of an object; what is not there yet in its lists and dicts is
    made.  Returns the changes of Variables and generators that remain to be made.  They are
    checked, so that they do not fail."""
    places = dict(_places(owner, name, apart))
    changes: list[Change] = []
    for label, array in arrays.items():
        if not label.startswith(f"{name}."):
            continue
        plain, kind = _parsed(label)
        place = places.get(plain) or _new_place(plain, places)
        if place is None:
            raise ValueError(f"the state that was saved has {plain}, and the object has not")
        old: Any = place.get() if plain in places else None
        if kind == "generator" and isinstance(old, np.random.Generator):
            changes.append(change_of_generator(old, array))
        elif isinstance(old, Variable) and _is_assignable(old, array):
            changes.append(partial(old.assign, array))
        elif kind == "generator" or isinstance(old, Variable) or not _fits(old, array):
            raise ValueError(f"{plain} is of dtype {array.dtype} and shape {array.shape} in what "
                             f"was saved, and {type(old).__name__} in the object")  # fmt: skip
        elif kind == "variable":
            place.put(Variable(array, trainable=False, name=plain))
        else:
            place.put(_like(old, array))
        places[plain] = place
    return changes


@contextlib.contextmanager
def restoring(owners: list[Any], apart: set[int]) -> Iterator[None]:
    """Puts back the attributes of objects, and the items of lists and dicts in them, if the block
    raises.  The contents of arrays are left alone."""
    holders: dict[int, Any] = {id(owner): owner for owner in owners}
    for owner in owners:
        for _, place in _places(owner, "", apart):
            value = place.get()
            holders[id(place.holder)] = place.holder
            if isinstance(value, (list, dict)):
                holders[id(value)] = value
    before = [(h, h.copy() if isinstance(h, (list, dict)) else dict(vars(h)))
              for h in holders.values()]  # fmt: skip
    try:
        yield
    except BaseException:
        for holder, old in before:
            _restore(holder, old)
        raise


def _restore(holder: Any, old: Any) -> None:
    if isinstance(holder, list):
        holder[:] = old
    elif isinstance(holder, dict):
        holder.clear()
        holder.update(old)
    else:  # one by one, as changes of attributes are announced
        for name in [n for n in vars(holder) if n not in old]:
            delattr(holder, name)
        for name, value in old.items():
            if vars(holder).get(name, holder) is not value:
                setattr(holder, name, value)


def _is_assignable(variable: Variable, array: Any) -> bool:
    return array.shape == variable.shape and np.can_cast(array.dtype, variable.dtype, "same_kind")


def _parsed(label: str) -> tuple[str, str | None]:
    match = KIND.fullmatch(label)
    if match is None:  # a line break in it
        raise ValueError(f"{label!r} is no name of a part of a state")
    return match[1], match[2]


def _fits(old: Any, array: Any) -> bool:
    """Whether an array can take the place of a value: of a number, an array, or of nothing."""
    if array.dtype.kind not in "biufc":
        return False
    if isinstance(old, (int, float, complex, np.generic)):
        return array.ndim == 0
    return old is None or isinstance(old, np.ndarray)


def _like(old: Any, array: Any) -> Any:
    if isinstance(old, np.ndarray) or array.ndim:
        return np.array(array)
    return array[()] if isinstance(old, np.generic) else array.item()


def _new_place(label: str, places: dict[str, Place]) -> Place | None:
    """An item that a list or a dict does not have yet."""
    match = ITEM.fullmatch(label)
    holder = places[match[1]].get() if match and match[1] in places else None
    if match is None or not isinstance(holder, (list, dict)):
        return None
    try:
        key = ast.literal_eval(match[2])
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"{label!r} is no name of a part of a state") from error
    return None if isinstance(holder, list) and key != len(holder) else Place(holder, key)


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
    change_of_generator(generator, state)()


def change_of_generator(generator: np.random.Generator, state: Any) -> Change:
    """Sets the state of a generator when it is called; it is checked before."""
    try:
        saved = json.loads(state.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError("what was saved is no state of a random generator") from error
    now = generator.bit_generator.state
    kind = saved.get("bit_generator") if isinstance(saved, dict) else None
    if kind != now["bit_generator"]:
        raise ValueError(
            f"the state of a {kind} was saved, and this generator is a {now['bit_generator']}"
        )
    return partial(setattr, generator.bit_generator, "state", _as_in(now, saved))


# The largest values of numbers in states.  NumPy uses positions without checking them.
LARGEST = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "uinteger": 2**32 - 1}


def _as_in(now: Any, saved: Any, name: str = "") -> Any:
    """What was saved, with arrays for lists; it must be built like the state of now."""
    if isinstance(now, dict) and isinstance(saved, dict) and saved.keys() == now.keys():
        return {k: _as_in(now[k], v, k) for k, v in saved.items()}
    if isinstance(now, np.ndarray) and isinstance(saved, list):
        largest = np.iinfo(now.dtype).max
        if len(saved) == now.size and all(_is_natural(v, largest) for v in saved):
            return np.array(saved, now.dtype).reshape(now.shape)
    elif isinstance(now, (int, np.integer)):
        if _is_natural(saved, LARGEST.get(name, 2**128 - 1)):
            return saved
    elif isinstance(now, str) and saved == now:
        return saved
    raise ValueError(f"{name or 'a part'} of the state of a random generator is malformed")


def _is_natural(value: Any, largest: int) -> bool:
    return type(value) is int and 0 <= value <= largest

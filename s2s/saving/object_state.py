"""The state of a Python object as arrays by name: the scalars, arrays, Variables and random
generators in its attributes, in lists and dicts there, and in objects that it holds.

    optimizer.steps               a scalar
    optimizer.slots['m'][0]       an array, or, with the suffix `:variable`, a Variable

The attribute `saved_attributes` of an object, if present, lists the attributes that are its state.
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
    """The location of a part of the state: an attribute of an object, or an item of a container."""

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
    """The state of an object as arrays by name, with the prefix `name`.  `apart` are the ids of
    Variables to exclude, because they are saved as weights."""
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
    """Set the attributes and items of an object; missing items of lists and dicts are created.
    Returns the pending changes of Variables and generators.  They are validated, so that they
    cannot fail when they are made."""
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
def rollback_on_error(owners: list[Any], apart: set[int]) -> Iterator[None]:
    """Restore the attributes of objects, and the items of lists and dicts in them, if the block
    raises.  The contents of arrays are not restored."""
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
    else:  # by setattr, because attribute changes notify compiled steps
        for name in [n for n in vars(holder) if n not in old]:
            delattr(holder, name)
        for name, value in old.items():
            if vars(holder).get(name, holder) is not value:
                setattr(holder, name, value)


def _is_assignable(variable: Variable, array: Any) -> bool:
    return array.shape == variable.shape and np.can_cast(array.dtype, variable.dtype, "same_kind")


def _parsed(label: str) -> tuple[str, str | None]:
    """Split a label into the name and the kind: variable, generator or None."""
    match = KIND.fullmatch(label)
    if match is None:  # the label contains a line break
        raise ValueError(f"{label!r} is no name of a part of a state")
    return match[1], match[2]


def _fits(old: Any, array: Any) -> bool:
    """True if an array can replace `old`: a scalar (by an array of rank 0), an array, or None."""
    if array.dtype.kind not in "biufc":
        return False
    if isinstance(old, (int, float, complex, np.generic)):
        return array.ndim == 0
    return old is None or isinstance(old, np.ndarray)


def _like(old: Any, array: Any) -> Any:
    """The saved array as a value of the kind of `old`: array, NumPy scalar or Python scalar."""
    if isinstance(old, np.ndarray) or array.ndim:
        return np.array(array)
    return array[()] if isinstance(old, np.generic) else array.item()


def _new_place(label: str, places: dict[str, Place]) -> Place | None:
    """The location of a new item of an existing list or dict, or None."""
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
    """Every attribute and item with its label, in preorder: containers before their contents."""
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
    """The state of a generator as an array of JSON bytes."""
    text = json.dumps(generator.bit_generator.state, default=np.ndarray.tolist)
    return np.frombuffer(text.encode(), "u1")


def set_generator(generator: np.random.Generator, state: Any) -> None:
    change_of_generator(generator, state)()


def change_of_generator(generator: np.random.Generator, state: Any) -> Change:
    """A function that sets the state of a generator.  The state is validated here, so that the
    function cannot fail."""
    try:
        saved = json.loads(state.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError("the saved value is not the state of a random generator") from error
    now = generator.bit_generator.state
    kind = saved.get("bit_generator") if isinstance(saved, dict) else None
    if kind != now["bit_generator"]:
        raise ValueError(
            f"the state of a {kind} was saved, and this generator is a {now['bit_generator']}"
        )
    return partial(setattr, generator.bit_generator, "state", _as_in(now, saved))


# Maximum values of integers in generator states.  NumPy does not check positions before use.
LARGEST = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "uinteger": 2**32 - 1}


def _as_in(now: Any, saved: Any, name: str = "") -> Any:
    """The saved state, with lists converted to arrays.  It must have the structure of the current
    state `now`."""
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

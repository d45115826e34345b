"""Type keys: distinct where specs are distinct, equal where only sizes and values differ."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from s2s.call.type_key import IdentityKey, type_key
from s2s.objects.tensor import immutable
from s2s.transforms.frontend.pytree import as_tensors, describe


class Thing:
    pass


Pair = namedtuple("Pair", "a b")
Other = namedtuple("Other", "a b")


@dataclass
class Data:
    a: float


frozen = np.ones(2)
frozen.flags.writeable = False
DISTINCT = [
    1, 1.0, True, np.float32(1), np.float64(1), np.int32(1), None, "a", "b",
    np.ones(2), np.ones(2, np.float32), np.ones((2, 2)), np.ones(4)[::2], frozen, np.array(1.0),
    (1.0,), [1.0], (1.0, 2.0), (1, 2.0), {"a": 1.0}, {"b": 1.0}, {"a": 1.0, "b": 1.0},
    {"b": 1.0, "a": 1.0}, Pair(1.0, 2.0), Other(1.0, 2.0), Data(1.0), Data(1), Thing(), Thing(),
]  # fmt: skip


def test_fingerprints_are_distinct():
    keys = [type_key(v) for v in DISTINCT]
    assert len(set(keys)) == len(keys)
    assert keys == [type_key(v) for v in DISTINCT]


def test_sizes_and_values_do_not_matter():
    assert type_key(np.ones((2, 3))) == type_key(np.zeros((7, 1)))
    assert type_key({"a": (1.0, np.ones(2))}) == type_key({"a": (3.0, np.ones(0))})


def test_static_values():
    values = [1, 1.0, True, 0.0, -0.0, "1", (1,), (1.0,), [1], {"a": 1}, None, float]
    keys = [type_key(v, static=True) for v in values]
    assert len(set(keys)) == len(keys)
    assert type_key([1, (2, 3)], True) == type_key([1, (2, 3)], True)
    assert type_key(float("nan"), True) == type_key(float("nan"), True)


def test_keys_are_distinct_where_specs_are():
    values = [v for v in DISTINCT if type(v) is not Thing]
    for a in values:
        for b in values:
            if type_key(a) == type_key(b):
                assert describe(a) == describe(b)
    with_tensors = [np.ones(2), np.ones((2, 2)), immutable(np.ones(2)), frozen, (np.ones(2),)]
    for a in with_tensors:
        for b in with_tensors:
            same = as_tensors(describe(a)) == as_tensors(describe(b))
            assert (type_key(a, tensors=True) == type_key(b, tensors=True)) == same


def test_tensors_are_keyed_without_writeability():
    writable = np.ones(2)
    assert type_key(writable) != type_key(frozen)
    assert type_key(writable, tensors=True) == type_key(frozen, tensors=True)
    inside = [{"a": (writable,)}, {"a": (frozen,)}]
    assert type_key(inside[0], tensors=True) == type_key(inside[1], tensors=True)


def test_objects_are_keyed_by_identity():
    thing = Thing()
    assert type_key(thing) == type_key(thing) == IdentityKey(thing)
    assert type_key(thing) != type_key(Thing())
    assert hash(IdentityKey(thing)) == hash(IdentityKey(thing)) and IdentityKey(thing) != thing
    assert repr(IdentityKey(1)) == "Same(1)"


def test_a_key_keeps_its_object_alive():
    """An object that is created later cannot have the id of one in the cache."""
    keys = {type_key(Thing()) for _ in range(50)}
    assert len(keys) == 50


def test_functions_are_keyed_by_code_and_defaults():
    def make(k: Any) -> Any:
        def function(x: Any, k: Any = k) -> Any:
            return x * k

        return function

    assert type_key(make(1)) == type_key(make(1)) != type_key(make(2))
    assert type_key(lambda x: x) != type_key(lambda x: x + 1)


@pytest.mark.parametrize("value", [np.ones(2), {1, 2}, Thing()])
def test_static_values_that_are_not_hashable(value):
    assert type_key(value, True) == type_key(value, True)
    hash(type_key(value, True))


def test_static_containers_are_keyed_by_value_and_type():
    assert type_key({"a": [1, 2]}, True) == type_key({"a": [1, 2]}, True)
    assert type_key([1, 2], True) != type_key((1, 2), True)
    assert type_key({"a": 1, "b": 2}, True) != type_key({"b": 2, "a": 1}, True)

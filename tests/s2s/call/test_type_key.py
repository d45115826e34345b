"""Type keys: distinct where specs are distinct, equal where only sizes and values differ."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from s2s.call.type_key import Same, fingerprint
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
    keys = [fingerprint(v) for v in DISTINCT]
    assert len(set(keys)) == len(keys)
    assert keys == [fingerprint(v) for v in DISTINCT]


def test_sizes_and_values_do_not_matter():
    assert fingerprint(np.ones((2, 3))) == fingerprint(np.zeros((7, 1)))
    assert fingerprint({"a": (1.0, np.ones(2))}) == fingerprint({"a": (3.0, np.ones(0))})


def test_static_values():
    values = [1, 1.0, True, 0.0, -0.0, "1", (1,), (1.0,), [1], {"a": 1}, None, float]
    keys = [fingerprint(v, static=True) for v in values]
    assert len(set(keys)) == len(keys)
    assert fingerprint([1, (2, 3)], True) == fingerprint([1, (2, 3)], True)
    assert fingerprint(float("nan"), True) == fingerprint(float("nan"), True)


def test_keys_are_distinct_where_specs_are():
    values = [v for v in DISTINCT if type(v) is not Thing]
    for a in values:
        for b in values:
            if fingerprint(a) == fingerprint(b):
                assert describe(a) == describe(b)
    with_tensors = [np.ones(2), np.ones((2, 2)), immutable(np.ones(2)), frozen, (np.ones(2),)]
    for a in with_tensors:
        for b in with_tensors:
            same = as_tensors(describe(a)) == as_tensors(describe(b))
            assert (fingerprint(a, tensors=True) == fingerprint(b, tensors=True)) == same


def test_tensors_are_keyed_without_writeability():
    writable = np.ones(2)
    assert fingerprint(writable) != fingerprint(frozen)
    assert fingerprint(writable, tensors=True) == fingerprint(frozen, tensors=True)
    inside = [{"a": (writable,)}, {"a": (frozen,)}]
    assert fingerprint(inside[0], tensors=True) == fingerprint(inside[1], tensors=True)


def test_objects_are_keyed_by_identity():
    thing = Thing()
    assert fingerprint(thing) == fingerprint(thing) == Same(thing)
    assert fingerprint(thing) != fingerprint(Thing())
    assert hash(Same(thing)) == hash(Same(thing)) and Same(thing) != thing
    assert repr(Same(1)) == "Same(1)"


def test_a_key_keeps_its_object_alive():
    """An object that is created later cannot have the id of one in the cache."""
    keys = {fingerprint(Thing()) for _ in range(50)}
    assert len(keys) == 50


def test_functions_are_keyed_by_code_and_defaults():
    def make(k: Any) -> Any:
        def function(x: Any, k: Any = k) -> Any:
            return x * k

        return function

    assert fingerprint(make(1)) == fingerprint(make(1)) != fingerprint(make(2))
    assert fingerprint(lambda x: x) != fingerprint(lambda x: x + 1)


@pytest.mark.parametrize("value", [np.ones(2), {1, 2}, Thing()])
def test_static_values_that_are_not_hashable(value):
    assert fingerprint(value, True) == fingerprint(value, True)
    hash(fingerprint(value, True))


def test_static_containers_are_keyed_by_value_and_type():
    assert fingerprint({"a": [1, 2]}, True) == fingerprint({"a": [1, 2]}, True)
    assert fingerprint([1, 2], True) != fingerprint((1, 2), True)
    assert fingerprint({"a": 1, "b": 2}, True) != fingerprint({"b": 2, "a": 1}, True)

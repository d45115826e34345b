"""`tf.data.Dataset`: elements are immutable snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s.tf as tf
from s2s.objects.tensor import is_immutable


def test_elements_are_tensors() -> None:
    pairs = tf.data.Dataset.from_tensor_slices((np.arange(4.0), {"y": np.arange(4)})).batch(2)
    for x, rest in pairs:
        assert is_immutable(x) and is_immutable(rest["y"]) and x.shape == (2,)
        with pytest.raises(TypeError, match="a tensor cannot be written to"):
            x[0] = 1.0


def test_methods_return_datasets_of_this_class() -> None:
    source = tf.data.Dataset.range(6)
    for made in (
        source.map(lambda x: x + 1), source.batch(2), source.shuffle(3, seed=1), source.take(2),
        source.repeat(2), source.prefetch(1), tf.data.Dataset.zip(source, source),
        tf.data.Dataset.from_generator(lambda: iter([np.zeros(2)])),
    ):  # fmt: skip
        assert type(made) is tf.data.Dataset is tf.Dataset
        parts = next(iter(made))
        assert all(map(is_immutable, parts if isinstance(parts, tuple) else (parts,)))


def test_sources_may_change_afterwards() -> None:
    source = np.arange(3.0)
    dataset = tf.data.Dataset.from_tensor_slices(source)
    source[:] = -1.0
    assert [float(x) for x in dataset] == [0.0, 1.0, 2.0]


def test_mapped_functions_receive_tensors() -> None:
    seen: list[Any] = []
    dataset = tf.data.Dataset.from_tensor_slices(np.ones((2, 2)))
    list(dataset.map(lambda x: seen.append(x) or x))
    assert len(seen) == 2 and all(map(is_immutable, seen))
    assert tf.data.AUTOTUNE is not None

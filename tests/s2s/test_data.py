"""Datasets, progress bars and the history of a run."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import s2s.tf as tf
from s2s.data import Dataset

X, Y = np.arange(20.0).reshape(10, 2), np.arange(10)


def numbers(dataset: Any) -> list[Any]:
    return [e.tolist() for e in dataset]


def test_slices_of_nests() -> None:
    pairs = list(Dataset.from_tensor_slices((X, {"label": Y})))
    assert len(pairs) == 10
    np.testing.assert_array_equal(pairs[3][0], X[3])
    assert pairs[3][1]["label"] == 3
    with pytest.raises(ValueError, match=r"different lengths: \[10, 9\]"):
        Dataset.from_tensor_slices((X, Y[:9]))
    assert numbers(Dataset.from_tensor_slices([1.0, 2.0])) == [1.0, 2.0]


def test_batches() -> None:
    dataset = Dataset.from_tensor_slices((X, Y)).batch(4)
    assert [y.tolist() for _, y in dataset] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(dataset) == 3
    first = next(iter(dataset))[0]
    assert first.shape == (4, 2) and isinstance(first.numpy(), np.ndarray)
    assert len(list(dataset)) == 3  # a dataset can be iterated again
    short = Dataset.from_tensor_slices(Y).batch(4, drop_remainder=True)
    assert numbers(short) == [[0, 1, 2, 3], [4, 5, 6, 7]] and len(short) == 2
    assert numbers(short.unbatch()) == list(range(8))
    with pytest.raises(ValueError, match="batch_size is at least 1, not 0"):
        dataset.batch(0)


def test_shuffling() -> None:
    source = Dataset.from_tensor_slices(Y)
    shuffled = source.shuffle(10, seed=1)
    first, second = numbers(shuffled), numbers(shuffled)
    assert sorted(first) == sorted(second) == list(range(10)) and first != second
    assert numbers(source.shuffle(10, seed=1)) == first
    assert numbers(source.shuffle(10, seed=2)) != first
    fixed = source.shuffle(10, reshuffle_each_iteration=False)
    assert numbers(fixed) == numbers(fixed)
    assert numbers(source.shuffle(1)) != [] and len(shuffled) == 10
    # With a buffer of 3, no element is drawn more than 3 positions early.
    assert all(e <= k + 3 for k, e in enumerate(numbers(source.shuffle(3, seed=0))))
    rng = np.random.default_rng(5)
    state = rng.bit_generator.state
    drawn = numbers(source.shuffle(10, seed=rng))
    rng.bit_generator.state = state
    assert numbers(source.shuffle(10, seed=rng)) == drawn


def test_other_methods() -> None:
    source = Dataset.from_tensor_slices(Y)
    assert numbers(source.map(lambda y: y * y).take(4)) == [0, 1, 4, 9]
    pairs = Dataset.from_tensor_slices((X, Y)).map(lambda x, y: (x.sum(), y + 1))
    assert next(iter(pairs)) == (1.0, 1)
    assert numbers(source.skip(7)) == [7, 8, 9] and len(source.skip(7)) == 3
    assert numbers(source.take(3).repeat(2)) == [0, 1, 2, 0, 1, 2]
    assert len(source.take(3).repeat(2)) == 6 and len(source.take(99)) == 10
    assert numbers(source.take(2).repeat().take(5)) == [0, 1, 0, 1, 0]
    assert list(source.take(0).repeat()) == []
    with pytest.raises(TypeError, match="length of this dataset is not known"):
        len(source.repeat())
    zipped = Dataset.zip((source, source.skip(2)))
    assert [tuple(map(int, e)) for e in zipped][:2] == [(0, 2), (1, 3)] and len(zipped) == 8
    assert len(Dataset.zip(source, source)) == 10
    assert numbers(source.filter(lambda y: y % 4 == 0)) == [0, 4, 8]
    assert numbers(source.take(2).concatenate(source.skip(8))) == [0, 1, 8, 9]
    assert [(k, int(e)) for k, e in source.skip(8).enumerate()] == [(0, 8), (1, 9)]
    assert numbers(Dataset.range(2, 8, 3)) == [2, 5]
    assert list(Dataset.from_generator(lambda: iter("ab"))) == ["a", "b"]
    made: list[int] = []
    cached = source.take(3).map(lambda y: made.append(int(y)) or y).cache()
    assert numbers(cached) == numbers(cached) == [0, 1, 2] == made


def test_prefetching() -> None:
    source = Dataset.from_tensor_slices(Y).shuffle(10, seed=3).batch(3)
    again = Dataset.from_tensor_slices(Y).shuffle(10, seed=3).batch(3).prefetch(tf.data.AUTOTUNE)
    assert numbers(source) == numbers(again) and len(again) == 4

    def fail(y: Any) -> Any:
        if y == 2:
            raise KeyError("two")
        return y

    with pytest.raises(KeyError, match="two"):
        list(Dataset.from_tensor_slices(Y).map(fail).prefetch(2))
    # An abandoned iterator leaves no thread running.
    for element in Dataset.from_tensor_slices(Y).repeat().prefetch(2):
        if element == 5:
            break
    for _ in range(100):
        if not any(t.name == "s2s prefetch" for t in threading.enumerate()):
            return
        time.sleep(0.05)
    raise AssertionError("the thread did not end")

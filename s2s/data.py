"""Datasets: samples in order or shuffled, in batches, as often as wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .tensor import tensor


class Dataset:
    """An iterable that can be walked again; each method gives a new one."""

    def __init__(self, make: Callable[[], Iterator[Any]], length: int | None) -> None:
        self._make, self._length = make, length

    @staticmethod
    def from_tensor_slices(arrays: Any) -> Dataset:
        """One element per row of an array, or of each array in a nest."""
        leaves = _leaves(arrays)
        lengths = {len(a) for a in leaves}
        if len(lengths) != 1:
            raise ValueError(f"the arrays have different lengths: {sorted(lengths)}")
        (length,) = lengths

        def rows() -> Iterator[Any]:
            return (_mapped(arrays, lambda a, i=i: np.asarray(a)[i]) for i in range(length))

        return Dataset(rows, length)

    def __iter__(self) -> Iterator[Any]:
        return self._make()

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError("the length of this dataset is not known")
        return self._length

    def shuffle(
        self, buffer_size: int, seed: int | None = None, reshuffle_each_iteration: bool = True
    ) -> Dataset:
        """In random order, drawn from a buffer of `buffer_size` elements; another order in each
        pass unless `reshuffle_each_iteration` is False."""
        shared = np.random.default_rng(seed)

        def shuffled() -> Iterator[Any]:
            rng = shared if reshuffle_each_iteration else np.random.default_rng(seed)
            buffer: list[Any] = []
            for element in self:
                buffer.append(element)
                if len(buffer) > buffer_size:
                    yield buffer.pop(int(rng.integers(len(buffer))))
            while buffer:
                yield buffer.pop(int(rng.integers(len(buffer))))

        return Dataset(shuffled, self._length)

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """Stacks of elements; the last may be shorter."""

        def batches() -> Iterator[Any]:
            kept: list[Any] = []
            for element in self:
                kept.append(element)
                if len(kept) == batch_size:
                    yield _stacked(kept)
                    kept = []
            if kept and not drop_remainder:
                yield _stacked(kept)

        length = self._length
        if length is not None:
            length = length // batch_size if drop_remainder else -(-length // batch_size)
        return Dataset(batches, length)

    def map(self, function: Callable[..., Any], **_: Any) -> Dataset:
        def mapped() -> Iterator[Any]:
            for element in self:
                yield function(*element) if isinstance(element, tuple) else function(element)

        return Dataset(mapped, self._length)

    def repeat(self, count: int | None = None) -> Dataset:
        def repeated() -> Iterator[Any]:
            done = 0
            while count is None or done < count:
                yield from self
                done += 1

        length = None if count is None or self._length is None else count * self._length
        return Dataset(repeated, length)

    def take(self, count: int) -> Dataset:
        def taken() -> Iterator[Any]:
            for k, element in enumerate(self):
                if k >= count:
                    return
                yield element

        return Dataset(taken, None if self._length is None else min(count, self._length))

    def prefetch(self, buffer_size: int) -> Dataset:
        """The same: everything is in memory."""
        return self


def _leaves(nest: Any) -> list[Any]:
    if isinstance(nest, dict):
        return [leaf for v in nest.values() for leaf in _leaves(v)]
    if isinstance(nest, tuple):
        return [leaf for v in nest for leaf in _leaves(v)]
    return [nest]


def _mapped(nest: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(nest, dict):
        return {k: _mapped(v, change) for k, v in nest.items()}
    if isinstance(nest, tuple):
        return tuple(_mapped(v, change) for v in nest)
    return change(nest)


def _stacked(elements: list[Any]) -> Any:
    first = elements[0]
    if isinstance(first, dict):
        return {k: _stacked([e[k] for e in elements]) for k in first}
    if isinstance(first, tuple):
        return tuple(_stacked([e[i] for e in elements]) for i in range(len(first)))
    return tensor(np.stack(elements))

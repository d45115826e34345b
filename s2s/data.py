"""Datasets: iterable pipelines with shuffling, batching and repetition; and progress bars."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .objects.tensor import tensor
from .public_names import listing
from .training.progress_bar import Bar

__all__ = ["AUTOTUNE", "Dataset", "progress"]
__dir__ = listing(__name__)

AUTOTUNE = -1
INFINITE = -1


class Dataset:
    """A re-iterable sequence of elements; each method returns a new dataset."""

    def __init__(self, make: Callable[[], Iterator[Any]], length: int | None) -> None:
        self._make, self._length = make, length

    @classmethod
    def from_tensor_slices(cls, tensors: Any) -> Dataset:
        """One element per row of an array, or of the arrays in a nested structure."""
        arrays = map_leaves(tensors, np.asanyarray)
        lengths = [len(a) for a in _leaves(arrays)]
        if len(set(lengths)) != 1:
            raise ValueError(f"the arrays have different lengths: {lengths}")
        return cls(lambda: (map_leaves(arrays, _row(i)) for i in range(lengths[0])), lengths[0])

    @classmethod
    def from_generator(cls, generator: Callable[[], Any], **_: Any) -> Dataset:
        """The elements that a generator function yields; it is called once per pass."""
        return cls(lambda: iter(generator()), None)

    @classmethod
    def range(cls, *args: int) -> Dataset:
        numbers = range(*args)
        return cls(lambda: (np.int64(i) for i in numbers), len(numbers))

    @classmethod
    def zip(cls, datasets: Any, *more: Any) -> Dataset:
        """Tuples of one element of each dataset, up to the length of the shortest."""
        parts = (datasets, *more) if more or isinstance(datasets, Dataset) else tuple(datasets)
        lengths = [d._length for d in parts if d._length is not None]
        return cls(lambda: zip(*parts), min(lengths) if lengths else None)

    def __iter__(self) -> Iterator[Any]:
        return self._make()

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError("the length of this dataset is not known")
        return self._length

    def cardinality(self) -> int:
        """The number of elements; -2 if it is unknown."""
        return -2 if self._length is None else self._length

    def as_numpy_iterator(self) -> Iterator[Any]:
        return (map_leaves(e, np.array) for e in self)

    def enumerate(self, start: int = 0) -> Dataset:
        return type(self)(lambda: enumerate(self, start), self._length)

    def shuffle(
        self,
        buffer_size: int,
        seed: int | np.random.Generator | None = None,
        reshuffle_each_iteration: bool = True,
    ) -> Dataset:
        """The elements in random order, drawn from a buffer of `buffer_size` elements.  The order
        differs in each pass unless `reshuffle_each_iteration` is False.  `seed` may be a generator,
        whose state can be saved."""
        if buffer_size < 1:
            raise ValueError(f"shuffle: buffer_size is at least 1, not {buffer_size}")
        drawn = np.random.default_rng(seed)
        fixed = int(drawn.integers(2**63)) if not reshuffle_each_iteration else None

        def shuffled() -> Iterator[Any]:
            rng = drawn if fixed is None else np.random.default_rng(fixed)
            buffer: list[Any] = []
            for element in self:
                buffer.append(element)
                if len(buffer) > buffer_size:
                    yield _drawn(buffer, rng)
            while buffer:
                yield _drawn(buffer, rng)

        return type(self)(shuffled, self._length)

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """Batches of stacked elements.  The last may be shorter, unless `drop_remainder`."""
        if batch_size < 1:
            raise ValueError(f"batch: batch_size is at least 1, not {batch_size}")

        def batches() -> Iterator[Any]:
            elements = iter(self)
            while kept := list(itertools.islice(elements, batch_size)):
                if len(kept) == batch_size or not drop_remainder:
                    yield _stacked(kept)

        length = self._length
        if length is not None:
            length = length // batch_size if drop_remainder else -(-length // batch_size)
        return type(self)(batches, length)

    def unbatch(self) -> Dataset:
        """The rows of each element as elements."""

        def rows() -> Iterator[Any]:
            for element in self:
                for i in range(len(_leaves(element)[0])):
                    yield map_leaves(element, _row(i))

        return type(self)(rows, None)

    def map(self, map_func: Callable[..., Any], **_: Any) -> Dataset:
        """Apply a function to each element; a tuple is passed as several arguments."""

        def mapped() -> Iterator[Any]:
            for element in self:
                yield map_func(*element) if isinstance(element, tuple) else map_func(element)

        return type(self)(mapped, self._length)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements for which a predicate is true."""

        def kept() -> Iterator[Any]:
            for element in self:
                if predicate(*element) if isinstance(element, tuple) else predicate(element):
                    yield element

        return type(self)(kept, None)

    def repeat(self, count: int | None = None) -> Dataset:
        """`count` passes over the elements; infinitely many if it is None or -1."""
        if count is None or count == INFINITE:
            return type(self)(lambda: self._forever(), None)
        length = None if self._length is None else count * self._length
        return type(self)(lambda: (e for _ in range(count) for e in self), length)

    def _forever(self) -> Iterator[Any]:
        while True:
            found = False
            for element in self:
                found = True
                yield element
            if not found:
                return

    def take(self, count: int) -> Dataset:
        """The first `count` elements; all for -1."""
        if count == INFINITE:
            return self
        length = None if self._length is None else min(count, self._length)
        return type(self)(lambda: itertools.islice(self, count), length)

    def skip(self, count: int) -> Dataset:
        """All but the first `count` elements."""
        length = None if self._length is None else max(self._length - count, 0)
        return type(self)(lambda: itertools.islice(self, count, None), length)

    def concatenate(self, other: Dataset) -> Dataset:
        known = self._length is not None and other._length is not None
        length = self._length + other._length if known else None  # type: ignore[operator]
        return type(self)(lambda: itertools.chain(self, other), length)

    def cache(self, *_: Any) -> Dataset:
        """Keep the elements of the first complete pass in memory for later passes."""
        kept: list[Any] = []
        complete: list[bool] = []

        def elements() -> Iterator[Any]:
            if complete:
                yield from kept
                return
            made = []
            for element in self:
                made.append(element)
                yield element
            kept[:], complete[:] = made, [True]

        return type(self)(elements, self._length)

    def prefetch(self, buffer_size: int = AUTOTUNE) -> Dataset:
        """Produce elements ahead in a background thread, at most `buffer_size` (2 for
        AUTOTUNE)."""
        ahead = 2 if buffer_size == AUTOTUNE else max(buffer_size, 1)
        return type(self)(lambda: _ahead(self, ahead), self._length)


def progress(dataset: Any, description: str = "", total: int | None = None) -> Bar:
    """Iterate over a dataset with a progress bar, in a terminal or a notebook:

    for x, y in (bar := s2s.data.progress(dataset, f"epoch {epoch}")):
        bar.show(loss=step(x, y))
    """
    return Bar(dataset, description, total)


# ---------------------------------------------------------------- helpers


def _ahead(dataset: Dataset, count: int) -> Iterator[Any]:
    """Elements produced by a thread, at most `count` ahead.  The thread ends when the iterator is
    closed."""
    made: queue.Queue[Any] = queue.Queue(count)
    consumer_done = threading.Event()

    def put(kind: str, value: Any) -> bool:
        while not consumer_done.is_set():
            try:
                made.put((kind, value), timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for element in dataset:
                if not put("element", element):
                    return
            put("end", None)
        except BaseException as error:  # raised again in the consuming thread
            put("error", error)

    threading.Thread(target=work, name="s2s prefetch", daemon=True).start()
    try:
        while True:
            kind, value = made.get()
            if kind == "element":
                yield value
            elif kind == "error":
                raise value
            else:
                return
    finally:
        consumer_done.set()


def _drawn(buffer: list[Any], rng: np.random.Generator) -> Any:
    """Remove and return a random element; the last element takes its position."""
    k = int(rng.integers(len(buffer)))
    buffer[k], buffer[-1] = buffer[-1], buffer[k]
    return buffer.pop()


def _row(i: int) -> Callable[[Any], Any]:
    return lambda array: array[i]


def _leaves(nest: Any) -> list[Any]:
    """The leaves of a nested structure of dicts and tuples."""
    if isinstance(nest, dict):
        return [leaf for v in nest.values() for leaf in _leaves(v)]
    if isinstance(nest, tuple):
        return [leaf for v in nest for leaf in _leaves(v)]
    return [nest]


def map_leaves(nest: Any, change: Callable[[Any], Any]) -> Any:
    """Apply `change` to each leaf of a nested structure of dicts and tuples."""
    if isinstance(nest, dict):
        return {k: map_leaves(v, change) for k, v in nest.items()}
    if isinstance(nest, tuple):
        return tuple(map_leaves(v, change) for v in nest)
    return change(nest)


def _stacked(elements: list[Any]) -> Any:
    """The leaves of several elements, stacked along a new first axis."""
    first = elements[0]
    if isinstance(first, dict):
        return {k: _stacked([e[k] for e in elements]) for k in first}
    if isinstance(first, tuple):
        return tuple(_stacked([e[i] for e in elements]) for i in range(len(first)))
    return tensor(np.stack(elements))

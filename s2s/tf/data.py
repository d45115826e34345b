"""`tf.data`: datasets whose elements are tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import data
from ..data import AUTOTUNE
from ..objects.tensor import snapshot
from ..public_names import listing

__all__ = ["AUTOTUNE", "Dataset"]
__dir__ = listing(__name__)


class Dataset(data.Dataset):
    """An `s2s.data.Dataset` whose elements are immutable snapshots.  Mapped functions and consumers
    cannot modify them, and later writes to the source arrays do not affect them."""

    @classmethod
    def from_tensor_slices(cls, tensors: Any) -> Dataset:
        return super().from_tensor_slices(data.map_leaves(tensors, snapshot))  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Any]:
        return (data.map_leaves(element, snapshot) for element in super().__iter__())

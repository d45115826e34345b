"""Progress bars over batches, by tqdm if it is installed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


class Bar:
    """Iterates over `source` with a progress bar; `show` displays scalars after it."""

    def __init__(self, source: Iterable[Any], description: str, total: int | None) -> None:
        self.source, self.description = source, description
        self.total = _length(source) if total is None else total
        self.shown: dict[str, float] = {}
        self._bar: Any = None

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("the length of the iterable is not known")
        return self.total

    def __iter__(self) -> Iterator[Any]:
        make = _tqdm()
        if make is None:
            yield from self.source
            return
        with make(total=self.total, desc=self.description or None) as self._bar:
            for element in self.source:
                yield element
                self._bar.update()
        self._bar = None

    def show(self, **numbers: Any) -> None:
        """Show scalars of the current batch; of a metric, its `result()`."""
        for name, value in numbers.items():
            value = value.result() if hasattr(value, "result") else value
            self.shown[name] = float(np.asarray(value))
        if self._bar is not None:
            self._bar.set_postfix({k: f"{v:.4g}" for k, v in self.shown.items()}, refresh=False)


def _length(source: Any) -> int | None:
    try:
        return len(source)
    except TypeError:
        return None


def _tqdm() -> Any:
    """The tqdm class for a terminal or a notebook; None, with a warning, if it is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        warnings.warn("no progress bar is shown: `pip install tqdm`", stacklevel=3)
        return None
    return tqdm

"""A record of scalars over a training run, which can be plotted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


class History:
    """Recorded scalars by name:

        history.record(loss=loss, accuracy=accuracy)
        history.plot("run.png")

    `history["loss"]` is the list of recorded values.  `val_loss` is plotted together with `loss`.
    """

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}
        self.steps: dict[str, list[int]] = {}
        self.step = 0

    def record(self, **numbers: Any) -> None:
        """Record scalars of this step or epoch; of a metric, its `result()`."""
        found: dict[str, float] = {}
        for name, value in numbers.items():
            value = value.result() if hasattr(value, "result") else value
            number = np.asarray(value)
            if number.size != 1:
                raise ValueError(
                    f"{name} is an array of shape {number.shape}, and a history holds numbers; "
                    "record its mean"
                )
            found[name] = float(number.reshape(()))
        for name, value in found.items():
            self.values.setdefault(name, []).append(value)
            self.steps.setdefault(name, []).append(self.step)
        self.step += 1

    def __getitem__(self, name: str) -> list[float]:
        if name not in self.values:
            raise KeyError(f"no {name} was recorded; there are {', '.join(self.values) or 'none'}")
        return self.values[name]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __len__(self) -> int:
        return self.step

    def __repr__(self) -> str:
        last = ", ".join(f"{k}={v[-1]:.4g}" for k, v in self.values.items())
        return f"<s2s.History of {self.step}: {last}>"

    def plot(self, path: str | Path | None = None, log: bool = False) -> Any:
        """Plot one panel per quantity; return the figure, and save it if a path is given.  With
        `log`, the axes of positive quantities are logarithmic."""
        kinds: dict[str, list[str]] = {}
        for name in self.values:
            kinds.setdefault(name.removeprefix("val_"), []).append(name)
        figure, axes = _panels(max(len(kinds), 1))
        for axis, (kind, names) in zip(axes, kinds.items()):
            for name in names:
                marker = "o" if len(self.values[name]) == 1 else ""
                axis.plot(self.steps[name], self.values[name], marker=marker, label=name)
            axis.set_ylabel(kind)
            if log and all(v > 0.0 for name in names for v in self.values[name]):
                axis.set_yscale("log")
            if len(names) > 1:
                axis.legend()
        axes[-1].set_xlabel("record")
        if path is not None:
            figure.savefig(path, bbox_inches="tight")
        return figure


def _panels(count: int) -> tuple[Any, list[Any]]:
    """A figure with `count` vertically stacked panels; it needs no display."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plotting a history needs `pip install matplotlib`") from None
    figure = Figure(figsize=(6.4, 1.0 + 2.4 * count), layout="constrained")
    axes = figure.subplots(count, 1, squeeze=False, sharex=True)
    return figure, [row[0] for row in axes]

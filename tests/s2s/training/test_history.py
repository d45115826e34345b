"""The history of a run: records, refusals, plots."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import s2s


def test_history(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    history = s2s.History()
    for k in range(4):
        history.record(loss=np.float32(1.0 / (k + 1)), val_loss=1.5 / (k + 1))
    history.record(accuracy=s2s.metrics.Mean(), loss=0.1)
    assert history["loss"] == pytest.approx([1.0, 0.5, 1 / 3, 0.25, 0.1])
    assert history.steps["accuracy"] == [4] and len(history) == 5
    assert "loss" in history and "rate" not in history
    assert repr(history) == "<s2s.History of 5: loss=0.1, val_loss=0.375, accuracy=0>"
    figure = history.plot(tmp_path / "run.png", log=True)
    assert [len(a.lines) for a in figure.axes] == [2, 1]  # loss and val_loss share a panel
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(KeyError, match="no rate was recorded; there are loss, val_loss"):
        history["rate"]
    with pytest.raises(ValueError, match=r"loss is an array of shape \(2,\)"):
        history.record(loss=np.ones(2))


def test_plotting_needs_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        s2s.History().plot()


def test_an_empty_history() -> None:
    history = s2s.History()
    assert len(history) == 0 and repr(history) == "<s2s.History of 0: >"
    with pytest.raises(KeyError, match="no loss was recorded; there are none"):
        history["loss"]


def test_arrays_of_one_element_are_numbers() -> None:
    history = s2s.History()
    history.record(loss=np.array([[2.0]]), steps=3, done=True)
    assert [history[name] for name in ("loss", "steps", "done")] == [[2.0], [3.0], [1.0]]
    assert all(type(history[name][0]) is float for name in history.values)


def test_a_refused_record_leaves_nothing_behind() -> None:
    history = s2s.History()
    with pytest.raises(ValueError, match="loss is an array of shape"):
        history.record(accuracy=0.5, loss=np.ones(3))
    assert len(history) == 0 and "loss" not in history and "accuracy" not in history


def test_axes_of_numbers_that_are_not_positive_stay_linear() -> None:
    pytest.importorskip("matplotlib")
    history = s2s.History()
    for k in range(3):
        history.record(loss=1.0 + k, gain=k - 1.0)
    loss, gain = history.plot(log=True).axes
    assert (loss.get_yscale(), gain.get_yscale()) == ("log", "linear")
    assert (loss.get_ylabel(), gain.get_ylabel()) == ("loss", "gain")
    assert len(s2s.History().plot().axes) == 1

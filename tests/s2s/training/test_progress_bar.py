"""Progress bars over batches: iteration, length, what is shown, without tqdm."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.data import Dataset
from s2s.training.progress_bar import Bar

Y = np.arange(10)


def test_a_bar_knows_its_length_and_shows_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    metric = s2s.metrics.Mean()
    bar = s2s.data.progress(Dataset.from_tensor_slices(Y).batch(4), "epoch 1")
    for k, batch in enumerate(bar):
        metric.update_state(batch)
        bar.show(loss=np.float32(0.5 + k), mean=metric)
    text = shown.getvalue()
    assert "epoch 1" in text and "3/3" in text and "loss=2.5" in text and "mean=4.5" in text
    assert len(bar) == 3 and bar.shown == {"loss": 2.5, "mean": 4.5}


def test_any_iterable_can_be_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(s2s.data.progress(c for c in "abc")) == ["a", "b", "c"]
    assert list(s2s.data.progress(Dataset.range(5).repeat().take(3), total=3)) == [0, 1, 2]


def test_without_tqdm_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.warns(UserWarning, match="pip install tqdm"):
        assert len(list(s2s.data.progress(Dataset.range(3)))) == 3


def test_lengths() -> None:
    assert len(Bar([1, 2], "", None)) == 2 and len(Bar([1, 2], "", 5)) == 5
    with pytest.raises(TypeError, match="the length of the iterable is not known"):
        len(Bar(iter("abc"), "", None))


def test_numbers_are_kept_before_and_after_the_iteration() -> None:
    bar = Bar([], "", None)
    bar.show(loss=np.float32(0.5))
    bar.show(loss=np.array(0.25), rate=1)
    assert bar.shown == {"loss": 0.25, "rate": 1.0}
    with pytest.raises(TypeError):
        bar.show(loss=np.ones(2))


def test_a_bar_may_be_left_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar = Bar([1, 2, 3], "", None)
    seen: list[Any] = []
    for element in bar:
        seen.append(element)
        break
    assert seen + list(bar) == [1, 1, 2, 3]


def test_errors_of_the_source_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())

    def source() -> Any:
        yield 1
        raise KeyError("two")

    with pytest.raises(KeyError, match="two"):
        list(Bar(source(), "", None))

"""The `training` flag of the innermost layer call: inherited, restored, one per thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from s2s.layers import Layer
from s2s.layers.training_mode import MODE

X = np.ones((1, 1))


class Inner(Layer):
    def call(self, inputs: Any, training: Any = None) -> Any:
        self.seen = training
        return inputs


class Outer(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def call(self, inputs: Any) -> Any:
        return self.inner(inputs)


class Failing(Layer):
    def call(self, inputs: Any) -> Any:
        raise RuntimeError("refused")


@pytest.mark.parametrize("training", [True, False, None])
def test_inherited_by_inner_layers(training: bool | None) -> None:
    outer = Outer()
    outer(X, training=training)
    assert outer.inner.seen is training
    assert MODE.training is None


def test_an_explicit_argument_wins() -> None:
    class Frozen(Outer):
        def call(self, inputs: Any) -> Any:
            return self.inner(inputs, training=False)

    frozen = Frozen()
    frozen(X, training=True)
    assert frozen.inner.seen is False


def test_restored_after_an_error() -> None:
    with pytest.raises(RuntimeError, match="refused"):
        Failing()(X, training=True)
    assert MODE.training is None


def test_one_flag_per_thread() -> None:
    entered, checked, seen = threading.Event(), threading.Event(), []

    class Waiting(Layer):
        def call(self, inputs: Any, training: Any = None) -> Any:
            entered.set()
            assert checked.wait(30.0)
            seen.append(MODE.training)
            return inputs

    thread = threading.Thread(target=lambda: Waiting()(X, training=True))
    thread.start()
    assert entered.wait(30.0)
    assert MODE.training is None
    outer = Outer()
    outer(X, training=False)
    checked.set()
    thread.join()
    assert outer.inner.seen is False and seen == [True]

"""`s2s.tf` and the page's tables agree with TensorFlow, in plain Python and compiled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s.tf as tf

from .cases import EXPRESSIONS, START, differentiable, numbers, outcomes, page_outcomes, run

ORACLE = json.loads(Path(__file__).with_name("oracle.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


def agree(got: Any, want: Any, where: str) -> None:
    if isinstance(want, dict):
        assert list(got) == list(want), where
        for key in want:
            agree(got[key], want[key], f"{where} {key}")
    elif isinstance(want, list) and any(isinstance(v, list) or v is None for v in want):
        assert isinstance(got, list) and len(got) == len(want), where
        for a, b in zip(got, want):
            agree(a, b, where)
    elif want is None or isinstance(want, str):
        assert (got is None) == (want is None), where
    else:
        assert np.shape(got) == np.shape(want), where
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6, err_msg=where)


def test_oracle_is_complete() -> None:
    assert list(ORACLE["expressions"]) == EXPRESSIONS, "run python -m tests.spellings.make_oracle"


def test_expressions(tmp_path: Path) -> None:
    agree(outcomes(tf, tmp_path), ORACLE["expressions"], "")


def test_compiled(tmp_path: Path) -> None:
    for number, expression in enumerate(EXPRESSIONS):
        text = (
            f"{START}\n@tf.function\ndef f(x, m, s):\n    return {expression}\nvalue = f(x, m, s)\n"
        )
        value = run(text, f"compiled_{number}", tf, tmp_path)["value"]
        agree(numbers(value), ORACLE["expressions"][expression][0], expression)


@pytest.mark.parametrize("side", [0, 1], ids=["theirs", "ours"])
def test_page(side: int, tmp_path: Path) -> None:
    agree(page_outcomes(tf, tmp_path, side), ORACLE["page"], "")


def test_differentiable() -> None:
    assert differentiable(tf.constant(1.0)) and not differentiable(tf.constant(1))


def test_what_is_missing_is_named() -> None:
    with pytest.raises(AttributeError, match="s2s.tf has no 'raw_ops': use NumPy's"):
        _ = tf.raw_ops


def test_one_seed_for_all() -> None:
    def drawn() -> list[Any]:
        tf.keras.utils.set_random_seed(3)
        layer = tf.keras.layers.Dense(2)
        layer(np.ones((1, 3), np.float32))
        return [layer.kernel.numpy().tolist(), tf.random.normal([2]).tolist(), np.random.rand()]

    assert drawn() == drawn()


@tf.function
def drawn(x):
    return x + tf.random.normal(tf.shape(x)), tf.random.uniform([2], -1.0, 1.0)


def test_compiled_steps_draw_what_plain_python_draws() -> None:
    x = np.zeros((2, 3), np.float32)
    for _ in range(2):
        tf.random.set_seed(3)
        first, second = drawn(x), drawn(x)
        tf.random.set_seed(3)
        for normal, uniform in (first, second):
            np.testing.assert_array_equal(normal, tf.random.normal((2, 3)))
            np.testing.assert_array_equal(uniform, tf.random.uniform([2], -1.0, 1.0))

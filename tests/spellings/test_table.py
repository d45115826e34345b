"""Compares every name of `s2s.tf` with TensorFlow: value, dtype, shape and gradient."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import s2s.tf as tf
from tests.scale import sample

from .compare import compared
from .deviations import GRADIENTS, VALUES
from .table import CASES

ORACLE = json.loads(Path(__file__).with_name("table.json").read_text(encoding="utf-8"))

# Names that are not functions of tensors, or are tested elsewhere.
ELSEWHERE = {
    "Dataset", "GradientTape", "Tensor", "UnconnectedGradients", "bool", "complex128", "complex64",
    "custom_gradient", "data", "float32", "float64", "function", "int32", "int64", "keras",
    "linalg", "math", "newaxis", "nn", "print", "random", "global_norm", "set_seed",
    "Loss", "get", "mean_absolute_error",  # the last is `mae`
}  # fmt: skip


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


def differing(cases: list[str], gradient: bool, folder: Path) -> dict[str, str]:
    found = {case: compared(tf, case, ORACLE[case], gradient, folder) for case in cases}
    return {case: text for case, text in found.items() if text}


def test_oracle_is_complete() -> None:
    assert [c for c in ORACLE if c != "tensorflow"] == list(dict.fromkeys(CASES)), (
        "run python -m tests.spellings.make_table"
    )


def test_every_name_has_a_case() -> None:
    text = "\n".join(CASES)
    modules: dict[str, Any] = {
        "": tf, "math.": tf.math, "nn.": tf.nn, "linalg.": tf.linalg, "random.": tf.random,
        "keras.activations.": tf.keras.activations, "keras.losses.": tf.keras.losses,
    }  # fmt: skip
    missing = [
        f"tf.{prefix}{name}"
        for prefix, module in modules.items()
        for name in module.__all__
        if name not in ELSEWHERE and f".{name}(" not in text
    ]
    assert not missing


def test_values(tmp_path: Path) -> None:
    cases = [*sample(list(dict.fromkeys(CASES)), 400), *VALUES]
    found = differing(cases, False, tmp_path)
    unexpected = {case: text for case, text in found.items() if case not in VALUES}
    assert not unexpected, f"{len(unexpected)}: {list(unexpected.items())[:5]}"
    assert set(VALUES) <= set(found), f"no longer different: {set(VALUES) - set(found)}"


def test_gradients(tmp_path: Path) -> None:
    known = [c for c, want in ORACLE.items() if isinstance(want, list) and want[1] is not None]
    # Layers and metrics are not made inside a tape's block.
    made = ("tf.keras.layers", "tf.keras.metrics")
    cases = sample([c for c in known if c not in VALUES and not any(m in c for m in made)], 12)
    found = differing(cases, True, tmp_path)
    unexpected = {case: text for case, text in found.items() if case not in GRADIENTS}
    assert not unexpected, f"{len(unexpected)}: {list(unexpected.items())[:5]}"

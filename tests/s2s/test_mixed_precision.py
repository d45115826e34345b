"""Precision policies: names, dtypes, the global policy."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from s2s import mixed_precision
from s2s.layers import Dense
from s2s.mixed_precision import Policy, global_policy, policy, set_global_policy


@pytest.mark.parametrize("which", ["float64", np.float64, np.dtype("float64"), float])
def test_by_name_or_dtype(which: Any) -> None:
    assert policy(which) == Policy("float64", "float64", "float64")


@pytest.mark.parametrize("name", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_policies_compute_in_float32(name: str) -> None:
    assert policy(name) == Policy(name, "float32", "float32")
    assert Dense(2, dtype=name)(np.ones((1, 3))).dtype == np.float32


def test_a_policy_is_itself_and_none_is_the_global_one() -> None:
    made = policy("float64")
    assert policy(made) is made and policy() is global_policy() and policy(None).name == "float32"
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "float32"  # type: ignore[misc]


@pytest.mark.parametrize("which", ["float16", "bfloat16", "int32", np.complex128])
def test_other_dtypes_are_refused(which: Any) -> None:
    with pytest.raises(ValueError, match="weights are float32 or float64, not .*mixed_bfloat16"):
        policy(which)


def test_unknown_names_are_refused_and_change_nothing() -> None:
    with pytest.raises(TypeError):
        set_global_policy("mixed_float12")
    assert global_policy().name == "float32"


def test_policies_say_what_they_compute_in() -> None:
    assert mixed_precision.global_policy().name == "float32"
    try:
        with pytest.warns(UserWarning, match="layers compute in float32"):
            mixed_precision.set_global_policy("mixed_float16")
        policy = mixed_precision.global_policy()
        assert (policy.name, policy.compute_dtype) == ("mixed_float16", "float32")
        layer = Dense(2)
        assert layer(np.ones((1, 3))).dtype == np.float32
        mixed_precision.set_global_policy("float64")
        layer = Dense(2)
        assert layer(np.ones((1, 3), np.float32)).dtype == np.float64
        assert layer.kernel.dtype == np.float64
    finally:
        mixed_precision.set_global_policy("float32")
    assert Dense(2, dtype="mixed_bfloat16")(np.ones((1, 3))).dtype == np.float32

"""Argument checks of optimizers: which gradients and variables are refused, and how."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.optimizers.gradient_checks import (
    gradients_must_fit,
    lengths_must_match,
    some,
    variables_must_be_known,
    zipped_lengths,
)


def variable(name: str = "w") -> Any:
    return s2s.Variable(np.zeros((2, 3)), name=name)


G, W = np.zeros((2, 3)), variable()


def test_lengths_of_zipped_lists() -> None:
    assert zipped_lengths(zip([1], [1, 2])) in ([1, 2], [])  # [] where Python cannot tell
    assert zipped_lengths(zip((n for n in [1]), [1])) == []
    assert zipped_lengths([(1, 2)]) == []


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="sgd.apply_gradients was given 1 gradients and 2 variab"):
        lengths_must_match("sgd", zip([G], [W, W]))
    lengths_must_match("sgd", zip([G, G], [W, W]))
    lengths_must_match("sgd", [(G, W)])


def test_fitting_gradients_pass_silently() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradients_must_fit("sgd", [(G, W), (G.tolist(), W)])


def test_shapes_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match=r"w has shape \(2, 3\), its gradient \(3, 2\)"):
        gradients_must_fit("sgd", [(G.T, W)])
    with pytest.raises(ValueError, match=r"its gradient \(\)"):
        gradients_must_fit("sgd", [(1.0, W)])  # nothing is broadcast


def test_pairs_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(TypeError, match=r"a ndarray where it needs a Variable; pairs are \(grad"):
        gradients_must_fit("sgd", [(W, G)])


def test_no_variables_are_refused() -> None:
    with pytest.raises(ValueError, match="given no variables; a model that is not built"):
        gradients_must_fit("sgd", [])


def test_missing_gradients() -> None:
    with pytest.raises(ValueError, match="every gradient is None: .* depend on w, b; compute it"):
        gradients_must_fit("sgd", [(None, W), (None, variable("b"))])
    with pytest.warns(UserWarning, match="leaves b unchanged"):
        gradients_must_fit("sgd", [(G, W), (None, variable("b"))])


def test_unknown_variables_are_refused() -> None:
    variables_must_be_known("sgd", (W,), [W])
    with pytest.raises(ValueError, match="sgd has not seen b: it was made ready for w"):
        variables_must_be_known("sgd", (W,), [W, variable("b")])
    with pytest.raises(ValueError, match="has not seen w"):  # equal is not the same
        variables_must_be_known("sgd", (W,), [variable()])


def test_long_lists_of_names_are_shortened() -> None:
    assert some(["a"]) == "a" and some(["a", "b", "a"]) == "a, b"
    assert some(list("abcdef")) == "a, b, c, d and 2 more"

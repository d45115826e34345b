"""JSON output: standard JSON, whatever the numbers are."""

from __future__ import annotations

import json

import numpy as np
import pytest

from s2s.cli.json_output import as_json


def test_json_has_no_infinities():
    data = {"a": [1.0, float("inf"), (float("nan"), None)]}
    assert json.loads(as_json(data)) == {"a": [1.0, "inf", ["nan", None]]}


def test_numpy_floats_and_minus_infinity():
    data = {"x": (np.float64("-inf"), np.float64(0.1)), "y": {"z": [float("nan")]}}
    assert json.loads(as_json(data)) == {"x": ["-inf", 0.1], "y": {"z": ["nan"]}}


def test_everything_else_is_unchanged():
    data = {"a": [1, -0.5, True, None, "ä <b>"], "b": {}, "c": 10**30}
    assert json.loads(as_json(data)) == data
    assert as_json({"a": 1}) == '{\n  "a": 1\n}'


def test_what_json_cannot_hold():
    with pytest.raises(TypeError):
        as_json({"a": np.ones(2)})

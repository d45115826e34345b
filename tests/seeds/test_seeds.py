"""Every code block of the documents, with only its import line changed, has TensorFlow's results
(written by `make_oracle.py`)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import s2s.tf as tf
from s2s.layers import initializers
from s2s.objects.tensor import Tensor

from .documents import BLOCKS, Block
from .make_oracle import FILE
from .run_block import noise, run, weights

ORACLE = json.loads(FILE.read_text())


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.id)
def test_block(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")

    def initial(shape: Any, dtype: Any) -> Any:
        return weights(shape)

    def normal(shape: Any) -> Any:
        return noise(shape).view(Tensor)

    monkeypatch.setitem(initializers.NAMES, "glorot_uniform", initial)
    monkeypatch.setattr(tf.random, "normal", normal)
    monkeypatch.setattr(tf.data.Dataset, "shuffle", lambda self, *a, **k: self)
    got = run(block, tf, "s2s.tf")
    for name, want in ORACLE[block.id].items():
        assert len(got[name]) == len(want), name
        for g, w in zip(got[name], want):
            np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-6, err_msg=name)

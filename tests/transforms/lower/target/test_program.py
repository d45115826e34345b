"""Descriptions of programs are plain records."""

from __future__ import annotations

import copy
import pickle

from tests.cuda.compiling import emitted


def test_a_description_can_be_stored():
    _, program = emitted(
        "def f(x, n):\n    for i in range(n):\n        x[i] = 1.0\n    return (x,)\n",
        x="float64[:]",
    )
    assert pickle.loads(pickle.dumps(program)) == program == copy.deepcopy(program)
    assert program.kernels and program.verdicts[0].kind == "grid"

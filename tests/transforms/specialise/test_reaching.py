"""What functions reach by themselves, globals above all, is read anew at every call."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import s2s

OTHER = """
    import dataclasses

    FACTOR = 10.0

    @dataclasses.dataclass
    class Model:
        u: float

        def apply(self, x):
            return x * FACTOR * self.u
"""
MAIN = """
    import numpy as np
    from other_module_of_reaching import Model

    FACTOR = 3.0
    TABLE = np.array([2.0, 5.0])

    def made_here(x):
        return Model(2.0).apply(x)

    def passed_in(x, model):
        return model.apply(x)

    def in_one_branch(x, n):
        if n > 2:
            s = x * TABLE[0]
        else:
            s = x * TABLE[1]
        for i in range(n):
            s = s + x * FACTOR
        return s
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ...]]:
    names = ("other_module_of_reaching", "main_module_of_reaching")
    for name, text in zip(names, (OTHER, MAIN)):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tuple(importlib.import_module(name) for name in names)
    for name in names:
        del sys.modules[name]


@pytest.mark.parametrize("backend", ["loops", "python"])
def test_methods_see_the_globals_of_their_own_module(modules: tuple, backend: str) -> None:
    other, main = modules
    made = s2s.grad(main.made_here, backend=backend)
    passed = s2s.grad(main.passed_in, backend=backend)
    assert made(1.0) == 20.0
    assert passed(1.0, other.Model(2.0)) == 20.0
    other.FACTOR = 7.0
    assert made(1.0) == 14.0
    assert passed(1.0, other.Model(2.0)) == 14.0


@pytest.mark.parametrize("backend", ["loops", "python"])
def test_a_global_first_seen_in_one_branch(modules: tuple, backend: str) -> None:
    _, main = modules
    gradient = s2s.grad(main.in_one_branch, backend=backend)
    np.testing.assert_allclose([gradient(1.0, n) for n in (0, 1, 3)], [5.0, 8.0, 11.0])

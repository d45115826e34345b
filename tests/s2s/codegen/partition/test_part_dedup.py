"""A part that is replaced by an equal one equals the part that would have been emitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.codegen import kernel_body
from s2s.codegen.partition import outline_nests, split_function
from s2s.codegen.partition.part_dedup import PartKey


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch, tmp_path) -> list[Any]:
    """Kernels are cut into short parts, and each is written.  What `PartKey` says of those that
    need not be is compared with that; they are collected."""
    found: list[Any] = []

    def state(caller: Any) -> tuple[Any, Any]:
        return [*caller.owned.items()], {n: [*words] for n, words in caller.words.items()}

    def call_part(caller: Any, stmts: Any, last: Any) -> Any:
        if split_function._hands_on(stmts, caller.plan):
            seen = PartKey(caller, stmts, last)
            alike = caller.plan.alike.get(seen.key)
            if alike is not None:
                owned, words = state(caller)
                told = seen.repeated(alike)
                after = str(state(caller))
                caller.owned.clear()
                caller.owned.update(owned)
                for name, before in words.items():
                    caller.words[name][:] = before
                assert split_function._written(caller, stmts, last, moves=True) == told
                assert str(state(caller)) == after
                caller.owned.clear()
                caller.owned.update(owned)
                for name, before in words.items():
                    caller.words[name][:] = before
                found.append(told)
        return split_function.call_part(caller, stmts, last)

    monkeypatch.setattr(kernel_body, "call_part", call_part)
    monkeypatch.setattr(split_function, "LONG", 3)
    monkeypatch.setattr(split_function, "PART", 6)
    monkeypatch.setattr(split_function, "LEAST", 2)
    monkeypatch.setattr(split_function, "ODDS", 2)
    monkeypatch.setattr(outline_nests, "LARGE", 3)
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    return found


def same(function: Any, *args: Any, wrt: Any = None) -> None:
    expected = s2s.grad(function, wrt=wrt, backend="python")(*args)
    compiled = s2s.grad(function, wrt=wrt, backend="numba")
    for _ in range(2):
        np.testing.assert_allclose(compiled(*args), expected, rtol=1e-12)


def test_layers(repeated: list[Any]) -> None:
    def network(x, weights):
        for w in weights:
            x = np.tanh(x @ w) @ w
        return (x * x).sum()

    x = np.linspace(0.1, 0.5, 9).reshape(3, 3)
    same(network, x, [np.eye(3) / 2 + k / 100 for k in range(7)], wrt="weights")
    assert len(repeated) > 3


def test_numbers_of_layers_differ(repeated: list[Any]) -> None:
    def network(x, weights):
        for k, w in enumerate(weights):
            x = np.tanh(x @ w * (1.0 + k % 2)) @ w + np.zeros((3, 3))
        return (x * x).sum()

    x = np.linspace(0.1, 0.5, 9).reshape(3, 3)
    same(network, x, [np.eye(3) / 2 + k / 100 for k in range(8)], wrt="weights")
    assert repeated


def test_what_later_layers_need_is_kept(repeated: list[Any]) -> None:
    def network(x, weights):
        seen = []
        for w in weights:
            x = np.cumsum(x @ w, axis=0) / 2
            x = x - x[:1] + np.sin(x)
            seen.append(x)
        return (x * x).sum() + (seen[1] * seen[3]).sum()

    x = np.linspace(0.1, 0.5, 9).reshape(3, 3)
    same(network, x, [np.eye(3) / 2 + k / 100 for k in range(7)], wrt="weights")
    assert repeated


def test_errors_of_layers(repeated: list[Any]) -> None:
    def network(x, weights, at):
        for w in weights:
            x = np.tanh(x @ w) @ w
            x = x * x[at, 0]
        return (x * x).sum()

    x = np.linspace(0.1, 0.5, 9).reshape(3, 3)
    weights = [np.eye(3) / 2 + k / 100 for k in range(6)]
    same(network, x, weights, 1, wrt="weights")
    with pytest.raises(IndexError, match="out of bounds"):
        s2s.grad(network, wrt="weights", backend="numba")(x, weights, 5)

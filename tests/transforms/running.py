"""Runs a program after `storage` and `write`, and compares it with its value form."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from s2s.transforms.bufferize.bufferize import storage
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.emit.numpy_writer import write
from s2s.transforms.ir.nodes import Module, Var


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for v in value for leaf in flat(v)]
    return [value]


def call_text(text: str, name: str, args: list[Any]) -> list[Any]:
    namespace: dict[str, Any] = {}
    exec(compile(text, f"<{name}>", "exec"), namespace)
    with np.errstate(all="ignore"):
        return flat(namespace[name](*args))


def check_text(module: Module, *args: Any, for_lowering: bool = False, rtol: float = 1e-12) -> str:
    """Check that the readable text has the semantics of value form: equal results, which share no
    memory with arguments or with each other; effects in place, and no other writes."""
    text = write(storage(module, for_lowering))
    check_same(module, text, *args, rtol=rtol)
    return text


def check_same(module: Module, text: str, *args: Any, rtol: float = 1e-12) -> None:
    main = module.main
    want, effects = evaluate(main, *args)
    given = copy.deepcopy(list(args))
    got = call_text(text, main.name, given)
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)
    for param, before, after in zip(main.params, args, given):
        np.testing.assert_allclose(after, effects.get(param.name, before), rtol=rtol, atol=rtol)
    arrays = [(r, g) for r, g in zip(main.results, got) if isinstance(g, np.ndarray)]
    for i, (r, g) in enumerate(arrays):
        assert g.flags.writeable
        for a in given:
            assert not (isinstance(a, np.ndarray) and np.shares_memory(a, g))
        for other, h in arrays[:i]:
            same = isinstance(r, Var) and r == other
            assert same or not np.shares_memory(g, h)

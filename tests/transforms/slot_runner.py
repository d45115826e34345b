"""Runs a function with its slots stored as planned, which tests indices and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2s.transforms.diagnostics.interpreter import Run
from s2s.transforms.ir.nodes import Array, Assign, For, Function, Save, While


class _PlannedRun(Run):
    def __init__(self, function: Function) -> None:
        super().__init__({})
        self.plans = function.notes.get("slots", {})
        self.arrays: dict[str, Any] = {}
        self.filled: dict[str, Any] = {}
        self.outermost: dict[str, list[str]] = {}
        for name, plan in self.plans.items():
            if plan.kind == "dense":
                self.outermost.setdefault(plan.loops[0], []).append(name)

    def statement(self, stmt: Any) -> None:
        if isinstance(stmt, (For, While)):
            for name in self.outermost.get(stmt.label, ()):
                plan = self.plans[name]
                sizes = [int(self.read(s)) for s in plan.sizes]
                shape = [int(self.read(s)) for s in plan.shape]
                self.filled[name] = np.zeros(sizes, bool)
                self.arrays[name] = np.empty(sizes + shape, object)
        if isinstance(stmt, Save) and self.plans[stmt.slot.name].kind == "dense":
            name, plan = stmt.slot.name, self.plans[stmt.slot.name]
            at = tuple(int(self.read(p)) for p in plan.save_at)
            assert all(p >= 0 for p in at)
            value = self.read(stmt.value)
            assert np.shape(value) == self.arrays[name].shape[len(at) :]
            if self.filled[name][at]:
                # Iterations of a loop share an element only if the value is loop-invariant.
                np.testing.assert_array_equal(value, self.arrays[name][at])
            self.filled[name][at] = True
            self.arrays[name][at] = value
            return
        super().statement(stmt)

    def assign(self, stmt: Assign) -> None:
        if stmt.op.name == "restore":
            name = stmt.op.attrs["slot"].name
            plan = self.plans[name]
            if plan.kind == "dense":
                at = tuple(int(self.read(p)) for p in plan.restore_at)
                assert self.filled[name][at]
                value = self.arrays[name][at]
                t = stmt.target.type
                self.bind(stmt.target, value.astype(t.dtype) if isinstance(t, Array) else value)
                return
        super().assign(stmt)


def run_planned(function: Function, *args: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        run = _PlannedRun(function)
        for param, arg in zip(function.params, args, strict=True):
            run.bind(param, arg)
        run.block(function.body)
        assert not any(run.saved.values()), "something was saved and never restored"
        return [run.read(r) for r in function.results]

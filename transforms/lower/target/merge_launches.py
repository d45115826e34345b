"""Merging of launches: independent grids become one kernel.

    dev.launch(f_k1, …, a)                  dev.launch(f_k1, …, a, b)
    dev.gemm(…)                     →       dev.gemm(…)
    dev.launch(f_k2, …, b)

Two grids are independent if neither writes memory that the other one accesses.  The first is moved
down to the second, across statements that do not depend on it.  A launch takes some microseconds,
which is longer than the update of a small array.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...ir.record import replace
from ..analysis.alias import MayAlias
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L
from .batches import BatchedProduct
from .kernel_writer import KernelText
from .plan import Blocks, Launch, Plan

# The maximal number of statements before a launch that are searched for one to merge it with.
MAX_LOOKBACK = 40
# The maximal number of parameters of a merged kernel.
MAX_PARAMS = 96
# A kernel that is not merged with another one begins with these lines.
FLAG_TEST = ["    if err[0] != 0:", "        return"]


def merge_launches(plan: Plan, may_alias: MayAlias) -> None:
    """Merge the launches of a plan, in place."""
    merger = _Merger(plan, may_alias)
    plan.body[:] = merger.block(plan.body)


class _Merger:
    def __init__(self, plan: Plan, may_alias: MayAlias) -> None:
        self.plan, self.may_alias = plan, may_alias

    def block(self, body: list[Any]) -> list[Any]:
        out: list[Any] = []
        for s in body:
            for inner in L.blocks_of(s):
                inner[:] = self.block(inner)
            at = self._partner(out, s) if isinstance(s, Launch) and _is_plain(s) else None
            if at is None:
                out.append(s)
            else:
                out.append(self._merged(out.pop(at), s))
        return out

    def _partner(self, out: list[Any], launch: Launch) -> int | None:
        """The position of the nearest earlier launch that `launch` can be merged with."""
        for position in range(len(out) - 1, max(-1, len(out) - 1 - MAX_LOOKBACK), -1):
            other = out[position]
            if (
                isinstance(other, Launch)
                and _is_plain(other)
                and _is_mergeable(other.kernel, launch.kernel)
                and self._is_independent(other, launch)
                and all(self._may_pass(other, s) for s in out[position + 1 :])
            ):
                return position
            if not _is_movable_across(other):
                return None
        return None

    def _may_pass(self, launch: Launch, s: Any) -> bool:
        """True if a launch may be moved after a statement."""
        if isinstance(s, L.If):
            return not _has_checks(launch.kernel)
        if isinstance(s, (Launch, L.Call, BatchedProduct)):
            return self._is_independent(launch, s)
        changed = {s.name} if isinstance(s, Blocks) else {*defs(s)}
        return changed.isdisjoint(_host_names(launch))

    def _is_independent(self, a: Any, b: Any) -> bool:
        """True if neither of two statements writes memory that the other one accesses."""
        touched_a, written_a = _memory(a)
        touched_b, written_b = _memory(b)
        return not any(
            p == q or self.may_alias(p, q)
            for written, touched in ((written_a, touched_b), (written_b, touched_a))
            for p in written
            for q in touched
        )

    def _merged(self, first: Launch, second: Launch) -> Launch:
        a, b = first.kernel, second.kernel
        a.params += [p for p, arg in zip(b.params, b.args) if arg not in a.args]
        a.args += [arg for arg in b.args if arg not in a.args]
        a.lines += [
            s for s in b.lines[len(FLAG_TEST) :] if "shared.array" not in s or s not in a.lines
        ]
        a.atomics += b.atomics
        a.functions |= b.functions
        a.written |= b.written
        a.sends_values |= b.sends_values
        self.plan.kernels = [k for k in self.plan.kernels if k is not b]
        grids = ((second.cells, second.block), *second.others)
        return replace(first, others=(*first.others, *grids))


def _is_plain(launch: Launch) -> bool:
    """True for a grid of any number of blocks."""
    return launch.blocks is None and launch.cells is not None


def _is_movable_across(s: Any) -> bool:
    """True if launches may be moved across a statement."""
    if isinstance(s, L.If):
        return not s.orelse and all(isinstance(q, (L.Fail, L.Comment)) for q in s.then)
    kinds = (L.Comment, L.Let, L.Alloc, L.View, Blocks, Launch, L.Call, BatchedProduct)
    return isinstance(s, kinds)


def _is_mergeable(a: KernelText, b: KernelText) -> bool:
    """True if the texts of two kernels may follow each other: their names mean the same, and no
    thread leaves the kernel before a barrier."""
    if a.lines[:2] != FLAG_TEST or b.lines[:2] != FLAG_TEST:
        return False
    barriers = any("cuda.syncthreads()" in line for k in (a, b) for line in k.lines)
    if barriers and (_has_checks(a) or _has_checks(b)):
        return False
    if len(a.params) + len(b.params) > MAX_PARAMS:
        return False
    known = {name: arg for (name, _), arg in zip(a.params, a.args)}
    args = {arg: name for name, arg in known.items()}
    for (name, _), arg in zip(b.params, b.args):
        if known.get(name, arg) != arg or args.get(arg, name) != name:
            return False
    mine, theirs = {*_assigned(a)}, {*_assigned(b)}
    return mine.isdisjoint(n for n, _ in b.params) and theirs.isdisjoint(known)


def _has_checks(kernel: KernelText) -> bool:
    return any("cuda.atomic.cas(err" in line for line in kernel.lines)


def _assigned(kernel: KernelText) -> Iterator[str]:
    """The variables of a kernel."""
    for line in kernel.lines:
        found = re.match(r"\s*(?:for (\w+) in |(\w+) = )", line)
        if found:
            yield found[1] or found[2]


def _host_names(launch: Launch) -> set[str]:
    """The names that the host reads for a launch."""
    names = {n for arg in launch.kernel.args for n in re.findall(r"[A-Za-z_]\w*", arg)}
    exprs = (e for pair in ((launch.cells, launch.block), *launch.others) for e in pair)
    return names | names_in(e for e in exprs if e is not None)


def _memory(s: Any) -> tuple[set[str], set[str]]:
    """The buffers and slots that a statement accesses, and those that it writes."""
    if isinstance(s, Launch):
        kernel = s.kernel
        pairs = zip(kernel.params, kernel.args)
        return {arg for (_, type_), arg in pairs if type_.endswith("*")}, kernel.written
    call = s.call if isinstance(s, BatchedProduct) else s
    operands = [a.buffer for a in call.args if isinstance(a, L.Subview)]
    return {*operands}, {operands[-1]}

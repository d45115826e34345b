"""Evaluates the measurements of a row: ratios, and the targets that they miss."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from . import row as r

# Targets that hold for every row; a row's own are in its Row.
TO_HAND = 1.15
TO_PRIMAL = 4.0
TO_PRIMAL_MEAN = 2.5
LOOPS_TO_JAX_MEAN = 10.0
# Rows with a target for the whole call, in seconds.
CALLS = {"call-scalar": 1e-6, "call-12-arrays": 2e-6}
# Seconds from import to the first step, cold and warm, of the row that has such a target.
STARTS = {"mlp32-sgd": (1.0, 0.3)}
# Tolerance: the memory of two processes is never exactly equal.
MEMORY_ROOM = 1.02


@dataclass
class Judged:
    row: r.Row
    peers: dict[str, dict[str, Any]]
    start: dict[str, Any]
    error: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    best: str = ""
    shortfalls: list[str] = field(default_factory=list)

    def ratio(self, peer: str) -> float | None:
        """Time of the peer over time of s2s."""
        if peer in self.seconds and r.OURS in self.seconds:
            return self.seconds[peer] / self.seconds[r.OURS]
        return None

    @property
    def ahead(self) -> float | None:
        return self.ratio(self.best) if self.best else None

    @property
    def to_jax(self) -> float | None:
        return self.ratio(r.JAX)

    @property
    def to_hand(self) -> float | None:
        """Time of s2s over time of the hand-written adjoint."""
        found = self.ratio(r.HAND)
        return 1.0 / found if found else None

    @property
    def to_primal(self) -> float | None:
        found = self.ratio(r.PRIMAL)
        return 1.0 / found if found else None

    def started(self, peer: str, when: str, what: str) -> float | None:
        return self.start.get(peer, {}).get(when, {}).get(what)


def judge(row: r.Row, found: dict[str, Any]) -> Judged:
    peers = found.get("peers", {})
    judged = Judged(row, peers, found.get("start", {}), found.get("error", ""))
    judged.seconds = {p: m["seconds"] for p, m in peers.items() if "seconds" in m}
    rivals = [p for p in r.RIVALS if p in judged.seconds]
    judged.best = min(rivals, key=lambda p: judged.seconds[p], default="")
    judged.shortfalls = list(shortfalls(judged))
    return judged


def shortfalls(judged: Judged) -> Iterable[str]:
    row = judged.row
    if judged.error:
        yield judged.error
    for peer in (r.OURS, r.PRIMAL):
        found = judged.peers.get(peer, {})
        error = found.get("error") or found.get("missing")
        if error:
            yield f"{peer}: {error.splitlines()[0][:160]}"
    if judged.ahead is not None and judged.ahead < row.ahead_of_best:
        yield f"{judged.ahead:.2f}× {judged.best}, wanted {row.ahead_of_best:g}×"
    if judged.to_jax is not None and judged.to_jax < row.ahead_of_jax and judged.best != r.JAX:
        yield f"{judged.to_jax:.2f}× JAX, wanted {row.ahead_of_jax:g}×"
    elif judged.to_jax is not None and row.ahead_of_best <= judged.to_jax < row.ahead_of_jax:
        yield f"{judged.to_jax:.2f}× JAX, wanted {row.ahead_of_jax:g}×"
    if judged.to_hand is not None and judged.to_hand > TO_HAND:
        yield f"{judged.to_hand:.2f} of the hand-written time, wanted {TO_HAND:g}"
    if counts_to_primal(judged) and (judged.to_primal or 0.0) > TO_PRIMAL:
        yield f"{judged.to_primal:.1f} times its primal, wanted {TO_PRIMAL:g}"
    if row.name in CALLS and judged.seconds.get(r.OURS, 0.0) > CALLS[row.name]:
        took, wanted = judged.seconds[r.OURS] * 1e6, CALLS[row.name] * 1e6
        yield f"{took:.2f} µs a call, wanted {wanted:g}"
    for when, wanted in zip(("cold", "warm"), STARTS.get(row.name, ())):
        took = judged.started(r.OURS, when, "first")
        if took is not None and took > wanted:
            yield f"{when} start {took:.2f} s, wanted {wanted:g}"
    own, other = (judged.started(p, "warm", "peak") for p in (r.OURS, r.JAX))
    if own and other and own > other * MEMORY_ROOM:
        yield f"{own:.0f} MB at its peak, JAX {other:.0f}"


def counts_to_primal(judged: Judged) -> bool:
    """True for rows that consist of one reverse sweep and are not dominated by call overhead."""
    return judged.row.reverse and judged.row.group != "overhead"


def geometric_mean(values: Iterable[float | None]) -> float | None:
    logs = [math.log(v) for v in values if v]
    return math.exp(sum(logs) / len(logs)) if logs else None

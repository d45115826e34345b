"""Ahead of time: functions, gradients and whole training steps as libraries for C.

    s2s.aot.build(step, "float32[n,784], int64[n]", out="build/step")

`describe` says in C's terms what is exported, `kernel` writes the code of a function over the
caller's memory (`plan`, `heap`, `state`), `entry` what checks the arguments, `target` makes an
object file of it, and `header`, `loader` and `link` the files around it.
"""

from __future__ import annotations

from .build import Built, build
from .link import BuildError

__all__ = ["BuildError", "Built", "build"]

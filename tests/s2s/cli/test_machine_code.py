"""Listings of a kernel: which functions of a module are shown, and under which names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.cli import machine_code
from s2s.codegen import kernel_module
from s2s.codegen.kernel_module import KERNEL

LLVM = """\
declare double @sin(double)

define i32 @first(double %x) {
entry:
  ret i32 0
}

define linkonce_odr void @NRT_decref(ptr %p) {
  ret void
}

define double @second() {
  ret double 0.0
}
"""

ASSEMBLY = """\
\t.text
\t.globl\tfirst
\t.p2align\t4
\t.type\tfirst,@function
first:
\t.cfi_startproc
\tmovq\t%rdi, %rax
\tretq
\t.size\tfirst, .-first
\t.type\tNRT_decref,@function
NRT_decref:
\tretq
\t.size\tNRT_decref, .-NRT_decref
\t.type\tlast,@function
last:
\tnop
"""


def test_definitions() -> None:
    found = list(machine_code._definitions(LLVM))
    assert [head.split("@")[1].split("(")[0] for head, _ in found] == [
        "first",
        "NRT_decref",
        "second",
    ]
    assert found[0][1] == "define i32 @first(double %x) {\nentry:\n  ret i32 0\n}\n"


def test_routines_without_directives() -> None:
    assert list(machine_code._routines(ASSEMBLY)) == [
        ("first", "first:\n\tmovq\t%rdi, %rax\n\tretq\n"),
        ("NRT_decref", "NRT_decref:\n\tretq\n"),
        ("last", "last:\n\tnop\n"),
    ]


@pytest.mark.parametrize("level, pieces", [("llvm", LLVM), ("asm", ASSEMBLY)])
def test_only_the_kernel_is_shown(level: str, pieces: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of the runtime are left out, and mangled names are those of the user."""
    monkeypatch.setattr(machine_code, "source", lambda *_: None)
    named = pieces.replace("first", KERNEL)
    monkeypatch.setattr(kernel_module, "listing", lambda *_: named)
    entry: Any = (
        s2s.grad(lambda x: x * x, backend="python")._specialiser("vjp").find((2.0,), "python")[0]
    )
    entry.compiled.name = "mine"
    shown = machine_code.text(entry, (2.0,), level)
    assert "NRT_decref" not in shown and KERNEL not in shown and "mine" in shown
    assert "declare" not in shown and ".cfi" not in shown


def test_a_kernel() -> None:
    made = s2s.function(lambda x: x[0] * 2.0, backend="python")
    entry, params = made._specialiser("primal").find((np.ones(2),), "python")
    for level, word in (("llvm", "define "), ("asm", "ret")):
        shown = machine_code.text(entry, params, level)
        assert word in shown and "NRT_" not in shown and "cpython" not in shown

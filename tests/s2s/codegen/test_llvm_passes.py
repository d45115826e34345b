"""The pass pipeline: flags, undefined symbols, options that are set back."""

from __future__ import annotations

import math
from typing import Any

import llvmlite.binding as llvm
import pytest
from llvmlite import ir

from s2s.codegen import llvm_passes
from s2s.codegen.options import FASTMATH
from tests.s2s.codegen.machine_code import DOUBLE, FLOAT, INT

SUM = """
declare double @outer(double)
define double @total(double* %x, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %body]
  %s = phi double [0.0, %entry], [%more, %body]
  %go = icmp slt i64 %i, %n
  br i1 %go, label %body, label %end
body:
  %p = getelementptr double, double* %x, i64 %i
  %v = load double, double* %p
  %more = fadd FLAGS double %s, %v
  %next = add i64 %i, 1
  br label %head
end:
  ret double %s
}
"""


@pytest.mark.parametrize("flags, vectorised", [("", False), ("reassoc nsz", True)])
def test_sums_are_vectorised_only_where_they_may_be_reordered(flags, vectorised) -> None:
    module = llvm_passes.parse_module(SUM.replace("FLAGS", flags))
    llvm_passes.run(module)
    assert (" x double>" in str(module)) == vectorised
    assert llvm_passes.undefined_symbols(module) == ("outer",) or "@outer" not in str(module)


def test_flags_are_set_where_there_are_none() -> None:
    module = ir.Module()
    kind = ir.FunctionType(DOUBLE, [DOUBLE, DOUBLE])
    other = ir.Function(module, kind, "other")
    made = ir.Function(module, kind, "f")
    builder: Any = ir.IRBuilder(made.append_basic_block())
    x, y = made.args
    one = builder.fadd(x, y)
    two = builder.fmul(one, y, flags=("contract",))
    three = builder.call(other, [one, two])
    builder.add(INT(1), INT(2))
    builder.ret(three)
    llvm_passes.set_fast_math_flags(module, FASTMATH)
    assert set(one.flags) == FASTMATH and two.flags == ["contract"]
    assert set(three.fastmath) == FASTMATH
    text = str(module)
    assert '"reciprocal-estimates"="none"' in text and text.count("reciprocal-estimates") == 1
    llvm_passes.parse_module(text)


def test_roots_in_single_precision_are_not_estimated() -> None:
    """1 / sqrt(0) is infinite, and 1 / sqrt(inf) is 0; an estimate with a Newton step is nan."""
    module = ir.Module()
    made = ir.Function(module, ir.FunctionType(FLOAT, [FLOAT]), "f")
    builder: Any = ir.IRBuilder(made.append_basic_block())
    root = builder.call(module.declare_intrinsic("llvm.sqrt", [FLOAT]), [made.args[0]])
    builder.ret(builder.fdiv(ir.Constant(FLOAT, 1.0), root))
    llvm_passes.set_fast_math_flags(module, FASTMATH)
    final = llvm_passes.parse_module(str(module))
    llvm_passes.run(final)
    assert "rsqrt" not in llvm_passes.assembly(final)
    import ctypes

    from s2s.runtime import jit_link

    code = jit_link.link(llvm_passes.object_code(final), ("f",), {})["f"]
    run = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(code)
    assert run(0.0) == math.inf and run(math.inf) == 0.0 and run(4.0) == 0.5


def test_modules_are_verified_and_may_have_any_names() -> None:
    module = llvm_passes.parse_module('define i64 @"f\u00fc\u2192"() { ret i64 3 }')
    assert len([*module.functions]) == 1
    with pytest.raises(RuntimeError):
        llvm_passes.parse_module(
            "define i64 @f() { %x = add i64 %y, 1\n %y = add i64 %x, 1\n ret i64 %x }"
        )
    with pytest.raises(RuntimeError):
        llvm_passes.parse_module("define i64 @f() {")


def test_undefined_symbols() -> None:
    text = """
@here = global i64 1
@there = external global i64
declare void @b()
declare void @a()
declare double @llvm.sqrt.f64(double)
define void @f() { call void @a()\n ret void }
"""
    assert llvm_passes.undefined_symbols(llvm_passes.parse_module(text)) == ("a", "b", "there")
    environment = '@"_ZN08NumbaEnv3f" = common global i8* null\n'
    assert llvm_passes.undefined_symbols(llvm_passes.parse_module(environment)) == ()
    used = environment + 'define i8* @g() { %x = load i8*, i8** @"_ZN08NumbaEnv3f"\n ret i8* %x }'
    assert llvm_passes.undefined_symbols(llvm_passes.parse_module(used)) is None


def test_options_are_set_back(monkeypatch) -> None:
    """Also after an error: they hold for the process."""
    told: list[str] = []
    monkeypatch.setattr(llvm, "set_option", lambda owner, option: told.append(option))
    with llvm_passes.strength_reduction(True):
        pass
    assert told == []
    with pytest.raises(KeyError), llvm_passes.strength_reduction(False):
        assert told == ["-disable-lsr=true"]
        raise KeyError
    assert told == ["-disable-lsr=true", "-disable-lsr=false"]


def test_the_machine_may_be_named(monkeypatch) -> None:
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse2,-avx")
    assert llvm_passes.features() == "+sse2,-avx"
    monkeypatch.delenv("NUMBA_CPU_FEATURES")
    assert llvm_passes.features() == llvm.get_host_cpu_features().flatten()


@pytest.mark.parametrize("care", [True, False])
def test_object_code(care) -> None:
    module = llvm_passes.parse_module(SUM.replace("FLAGS", ""))
    llvm_passes.run_light_passes(module)
    assert len(llvm_passes.object_code(module, care)) > 100
    assert "total" in llvm_passes.assembly(module, care)

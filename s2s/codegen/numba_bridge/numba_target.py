"""Numba targets for kernels: Numba's CPU target with another pass pipeline.

`LibraryTarget` has all of Numba's registries.  `KernelTarget`, which most kernels use, loads none
of them.

Kernels are loop nests that the code generator has prepared for LLVM.  Numba's pipeline would run
its passes three times (per function, cheap, full at -O3 with SLP vectorisation), which takes twice
the time and gains nothing here.  So the code library of these targets runs the passes of
`codegen/llvm_passes.py`, which `backend="native"` and ahead-of-time builds run as well; everything
else (typing, boxing, errors, linking, inspection) is Numba's.

Uses of `numba.core` beyond the interface of `numba.extending` (`types`, `cgutils`, `errors`,
`typing.templates`, `imputils`), with files and reasons; a test compares this list with the code:

- `registry.CPUTarget`, `registry.CPUDispatcher`, `registry.cpu_target`, `cpu`,
  `codegen.JITCPUCodegen`, `codegen.JITCodeLibrary`, `environment.lookup_environment` (here):
  `numba.extending` has no option for the LLVM passes.
- `target_extension.CPU`, `target_extension.dispatcher_registry`,
  `target_extension.target_registry`, `typing.context.Context`, `runtime.nrt.rtsys` (here): most
  kernels call no Numba function, and their target loads none.
- `typeconv.castgraph.Conversion` (`codegen/numba_bridge/borrowed_arguments.py`): conversions to
  the types of borrowed arguments.
- `caching._Cache`, `compiler.CompileResult`, `serialize.dumps`, `runtime._nrt_python`,
  `registry.cpu_target` (`codegen/numba_bridge/numba_cache.py`): machine code is cached in
  `S2S_CACHE_DIR`, with digests and owners checked, and loaded without preparing Numba to compile.
- `compiler_lock.global_compiler_lock`, `registry.cpu_target` (`runtime/locks.py`): the lock
  order.
- `registry.cpu_target` (`api/numba_overload.py`, `codegen/type_inference.py`,
  `codegen/arithmetic.py`): types and code of functions that only Numba
  implements.
- `compiler`, `registry.cpu_target`, `runtime.nrt.rtsys` (`codegen/kernel_module.py`,
  `runtime/jit_link.py`): the same for kernels without a Numba function around them.
- `callconv`, `cpu_options.FastMathOptions`, `fastmathpass.rewrite_module`, `registry.cpu_target`
  (`aot/library_module.py`): the same for libraries that are compiled ahead of time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import cpu, imputils
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher, CPUTarget, cpu_target
from numba.core.runtime.nrt import rtsys
from numba.core.target_extension import CPU, dispatcher_registry, target_registry
from numba.core.typing.context import Context as TypingContext
from numba.core.typing.templates import builtin_registry as declarations

from ...transforms.ir.lazy import lazy_property, memoize


class KernelLibrary(JITCodeLibrary):
    """Code library of a kernel.  `KernelCodegen.reduce_strength` enables LLVM's loop strength
    reduction (`codegen/enable_lsr.py`)."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        from .. import llvm_passes
        from ..gemm import indexed

        final = self._final_module
        llvm_passes.run(final, self._codegen._tm, neighbours=indexed.is_used(final))

    def _finalize_final_module(self) -> None:
        """Emit the object code that Numba's engine then loads, unless it comes from the cache."""
        if getattr(self, "_compiled_object", None) is not None:
            super()._finalize_final_module()
            return
        from .. import llvm_passes

        codegen: Any = self._codegen
        code = llvm_passes.object_code(self._final_module, codegen.reduce_strength)
        self.enable_object_caching()
        self._compiled_object = code
        super()._finalize_final_module()
        self._compiled_object = code  # the engine has consumed it
        # Functions that Numba has compiled for its own engine have their environments there.
        for name in environments(self._final_module):
            environment = lookup_environment(name)
            if environment is not None:
                codegen.set_env(name, environment)

    # Numba refuses to show code that was loaded from the cache; the module kept for linking is the
    # same code.

    def get_llvm_str(self) -> str:
        return str(self._shared_module or self._final_module)

    def get_asm_str(self) -> str:
        from .. import llvm_passes

        return llvm_passes.assembly(self._shared_module or self._final_module)


def environments(module: Any) -> list[str]:
    """The names of the Numba environments that functions of a module refer to."""
    variables = (v.name for v in module.global_variables)
    return [name for name in variables if name.startswith("_ZN08NumbaEnv")]


class KernelCodegen(JITCPUCodegen):
    _library_class = KernelLibrary
    reduce_strength = True


@memoize
def _codegen() -> Any:
    return KernelCodegen("s2s.exec")


class LibraryTarget(CPUTarget):
    """A target that shares Numba's typing context, so that all functions registered with Numba
    resolve."""

    options = cpu.CPUTargetOptions

    @property
    def target_context(self) -> Any:
        return self._target_context

    @lazy_property
    def _target_context(self) -> Any:
        context: Any = cpu_target.target_context
        return context.subtarget(_internal_codegen=_codegen())

    @property
    def typing_context(self) -> Any:
        return cpu_target.typing_context


class KernelTyping(TypingContext):
    """A typing context with the intrinsics inserted into it, and nothing else."""

    def refresh(self) -> None:
        """Nothing to load: no registry is used."""

    def insert_intrinsic(self, intrinsic: Any) -> None:
        found = (type_ for value, type_ in reversed(declarations.globals) if value is intrinsic)
        self.insert_global(intrinsic, next(found))


class KernelContext(cpu.CPUContext):
    """A target context with the implementations that calls of intrinsics, boxing of arrays and
    raising of errors need."""

    def refresh(self) -> None:
        from numba.cpython import builtins, numbers, tupleobj  # noqa: F401
        from numba.np import arrayobj  # noqa: F401

        rtsys.initialize(cpu_target.target_context)
        self.install_registry(imputils.builtin_registry)


class KernelTarget(CPUTarget):
    """The target of kernels that call no Numba function.  Loading all of Numba's registries takes
    0.6 s, including SciPy."""

    options = cpu.CPUTargetOptions

    @property
    def typing_context(self) -> Any:
        return self._typing_context

    @property
    def target_context(self) -> Any:
        return self._target_context

    @lazy_property
    def _typing_context(self) -> KernelTyping:
        return KernelTyping()

    @lazy_property
    def _target_context(self) -> Any:
        context: Any = KernelContext(self.typing_context, TARGET)
        return context.subtarget(_internal_codegen=_codegen())


TARGET = "s2s"


class LoopNests(CPU):
    """The target class in Numba's registry, where `intrinsic` looks up the target of code."""


target_registry[TARGET] = LoopNests
kernel_target, library_target = KernelTarget(TARGET), LibraryTarget("cpu")


class LibraryDispatcher(CPUDispatcher):
    """The dispatcher of a kernel that calls Numba functions."""

    targetdescr = library_target

    def load(self, signature: Any) -> bool:
        """Load the machine code for a signature from the cache; False if it is not there."""
        found = self._cache.load_overload(signature, self.targetctx)  # type: ignore[attr-defined]
        if found is None:
            return False
        self._cache_hits[signature] += 1  # type: ignore[attr-defined]
        self.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
        self.add_overload(found)
        return True


class KernelDispatcher(LibraryDispatcher):
    """The dispatcher of a kernel that calls no Numba function."""

    targetdescr = kernel_target

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Called by Numba when a user's function calls the kernel.  The kernel's code is then
        registered with Numba's own target, too."""
        context: Any = cpu_target.target_context
        for found in self.overloads.values():
            context.insert_user_function(found.entry_point, found.fndesc, [found.library])
        return super().get_call_template(args, kws)


dispatcher_registry[LoopNests] = KernelDispatcher


def dispatcher(function: Any, options: dict[str, Any], library: bool) -> Any:
    """A Numba dispatcher of a kernel that is not compiled yet; `library`: it may call Numba
    functions."""
    make = LibraryDispatcher if library else KernelDispatcher
    return make(function, targetoptions={"nopython": True, **options})


@contextmanager
def compiling(reduce_strength: bool) -> Iterator[None]:
    """Enable or disable LLVM's loop strength reduction while a kernel is compiled, under Numba's
    compiler lock."""
    codegen = _codegen()
    codegen.reduce_strength = reduce_strength
    try:
        yield
    finally:
        codegen.reduce_strength = True

"""One LLVM module per library: the kernels of its functions and the exported entry points."""

from __future__ import annotations

import ast
import re
from typing import Any

import numba
from llvmlite import ir
from numba.core import callconv
from numba.core.cpu_options import FastMathOptions
from numba.core.fastmathpass import rewrite_module
from numba.core.registry import cpu_target

from ..backends.build_kernel import register_runtime_functions
from ..codegen import stack_limit
from ..codegen.gemm import gemm_call
from ..codegen.llvm_passes import forbid_estimates
from ..codegen.llvm_utils import POINTER
from ..codegen.options import FASTMATH, OPTIONS
from ..codegen.statements import ErrorCodes
from ..codegen.type_inference import Types, Unsupported
from ..codegen.type_lowering import Context
from ..errors import S2SValueError, UnsupportedError, exception
from ..runtime.locks import compiler_lock
from . import (
    c_entry,
    c_kernel,
    c_names,
    linear_systems,
    object_file,
    status_codes,
    unsupported_calls,
)
from .callees import Callees
from .export_spec import Export
from .library_state import State

# Functions that every C library provides.
_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 "
    "fabs floor fma fmod frexp hypot ldexp lgamma log log10 log1p log2 modf nearbyint pow powi "
    "rint round sin sinh sqrt tan tanh tgamma trunc"
)
C_LIBRARY_SYMBOLS = {f"{n}{end}" for n in _MATH.split() for end in ("", "f")}
C_LIBRARY_SYMBOLS |= {"memcpy", "memset", "memmove"}


class ErrorMessages:
    """The error messages of one kernel, and the source lines of its statements."""

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled
        self.numba_calls: list[
            tuple[Any, str]
        ] = []  # called Numba functions over arrays, and lines

    def failure(self, site: int) -> tuple[Any, tuple[str, ...]]:
        """The type and message of an error.  Run-time values in the message become dots."""
        name, parts = self.compiled.failures[site]
        return name, ("".join(p if isinstance(p, str) else "…" for p in parts),)

    def substitute_failures(self, function: ast.FunctionDef, space: dict[str, Any]) -> None:
        """Replace `rt.Failure(site)` by the exception type and the message of that site, where the
        message has no run-time values."""
        for node in ast.walk(function):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            if ast.unparse(node.exc.func) == "rt.Failure" and len(node.exc.args) == 1:
                (site,) = node.exc.args
                assert isinstance(site, ast.Constant)
                name, (text,) = self.failure(int(site.value))  # type: ignore[arg-type]
                space[name] = exception(name)
                node.exc.func = ast.copy_location(ast.Name(name, ast.Load()), site)
                node.exc.args = [ast.copy_location(ast.Constant(text), site)]

    def source_line(self, stmt: Any) -> str:
        """The user's line for a statement of the lowered source, from the comment above it."""
        lines = self.compiled.lowered.splitlines()
        for line in reversed(lines[: getattr(stmt, "lineno", 1) - 1]):
            found = re.match(r"\s*# (L\d+|\w+\.py:\d+)\b(.*)", line)
            if found:
                return f" (line {found[1].removeprefix('L')}{found[2]})"
        return ""


class Library:
    """Builds the module of a library.  `exported` are the C symbols, `kernels` are by C name,
    `messages` by status code."""

    def __init__(
        self, name: str, exports: list[Export], state: State, machine: Any, trips: int | None
    ) -> None:
        self.trips = trips
        self.name, self.exports, self.state, self.machine = name, exports, state, machine
        self.exported: set[str] = set()
        self.kernels: dict[str, c_kernel.Kernel] = {}
        self.messages = dict(status_codes.MESSAGES)
        self.numba_calls: list[
            tuple[Any, str]
        ] = []  # called Numba functions over arrays, and lines

    def build(self, products: gemm_call.Library) -> Any:
        """Build, link and optimise the module, under the compiler lock."""
        with compiler_lock():
            return self._build(products)

    def _build(self, products: gemm_call.Library) -> Any:
        for export in self.exports:
            register_runtime_functions(export.entry.compiled.lowered)
        typing: Any = cpu_target.typing_context
        typing.refresh()
        base: Any = cpu_target.target_context
        base.refresh()
        model = callconv.create_error_model("numpy", base)
        flags = FastMathOptions(FASTMATH)
        context = base.subtarget(fastmath=flags, error_model=model)
        library = context.codegen().create_library(self.name)
        module = library.create_ir_module(self.name)
        stack_limit.define_for_library(module)
        failures = ErrorCodes(status_codes.FIRST_PROGRAM_ERROR)
        with context.push_code_library(library):
            for export in self.exports:
                self._write(Context(lambda: context), module, export, failures, products)
        for (kind, args), code in failures.known.items():
            name = kind if isinstance(kind, str) else kind.__name__
            self.messages[code] = ": ".join([name, *map(str, args)])
        if self.state.slots:
            c_entry.emit_state_init(module, self._export(f"{self.name}_init"), self.state)
        c_entry.emit_status_message(module, self._export(f"{self.name}_message"), self.messages)
        _define_no_op_refcounts(module)
        forbid_estimates(module)
        rewrite_module(module, flags)
        whole = object_file.link(module, library._linking_libraries, self.machine)
        if object_file.refers_to_numba_env(whole):
            if self.numba_calls:
                raise unsupported_calls.error(*self.numba_calls[0])
            raise UnsupportedError(
                f"{self.name} needs Python at run time, which a library does not have",
                advice=unsupported_calls.ADVICE,
            )
        object_file.optimise(whole, self.exported, self.machine)
        return whole

    def _write(
        self, context: Context, module: Any, export: Export, failures: ErrorCodes, products: Any
    ) -> None:
        compiled = export.entry.compiled
        messages = ErrorMessages(compiled)
        function, known, callees = _read(compiled, export, messages)
        made = c_kernel.emit_kernel(
            context, module, export.name, function, known, export.result_capacities(),
            export.conditions, failures, messages, products, self.trips,
            callees, compiled.written,
        )  # fmt: skip
        self.numba_calls += messages.numba_calls
        self.kernels[export.name] = made
        self._export(export.name)
        c_entry.emit_entry(context, module, export, made, self.state)
        workspace = self._export(f"{export.name}_workspace")
        c_entry.emit_workspace_query(context, module, export, made, workspace)

    def _export(self, name: str) -> str:
        """Record an exported C symbol; raise S2SValueError if the name is taken."""
        if name in self.exported or name in C_LIBRARY_SYMBOLS or name in c_names.FUNCTIONS:
            raise S2SValueError(
                f"two functions would be called {name} in C", advice="choose another name"
            )
        self.exported.add(name)
        return name


def _define_no_op_refcounts(module: Any) -> None:
    """Define `NRT_incref` and `NRT_decref` as no-ops.  Functions that Numba compiled count
    references to arrays, but all arrays here live in the workspace."""
    for name in ("NRT_incref", "NRT_decref"):
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER]), name)
        function.attributes.add("noinline")
        ir.IRBuilder(function.append_basic_block()).ret_void()


def _read(
    compiled: Any, export: Export, messages: ErrorMessages
) -> tuple[ast.FunctionDef, Types, Callees]:
    """The syntax tree of the kernel, its inferred types and its callees.  Raises UnsupportedError
    for code that only Numba's front end can compile."""
    tree = ast.parse(compiled.lowered)
    space: dict[str, Any] = {}
    exec(compile(tree, f"<s2s {compiled.name}, lowered>", "exec"), space)
    functions = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
    for name, function in functions.items():
        messages.substitute_failures(function, space)
        if name != compiled.entry:  # Numba infers the result types of callees
            space[name] = numba.njit(space[name], **OPTIONS)
    function = functions.pop(compiled.entry)
    callees = Callees(functions, space)
    try:
        known = Types(function, space, export.kinds)
        expanded = linear_systems.inline_linalg_calls(function, known)
        if expanded is None:
            return function, known, callees
        return expanded, Types(expanded, space, export.kinds), callees
    except Unsupported as error:
        why = str(error)
        if "generator" in why:
            why = "it makes a generator of random numbers; make it outside, once"
        raise UnsupportedError(
            f"{compiled.name} cannot be compiled ahead of time: {why}"
        ) from error

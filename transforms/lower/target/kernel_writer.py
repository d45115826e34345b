"""Writer of the body of a kernel: flat indices, functions of the device, errors as a flag.

Arrays are one-dimensional in kernels.  Sizes, host scalars and slots become parameters when they
are first needed; each has the expression that the host function passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir.quote import python_comment
from ...ir.record import field, record
from ..analysis.liveness import defs, upward_exposed
from ..loop_ir import nodes as L
from ..loop_ir.python_printer import expr as print_expr
from ..loop_ir.python_printer import print_typed
from .device_functions import kernel_function
from .place import Placement
from .program import KernelKind
from .symbols import Symbols

# The dtypes that kernels compute with.
KERNEL_DTYPES = frozenset({
    "float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
    "bool",
})  # fmt: skip
# The dtypes with an atomic addition.
ATOMIC_DTYPES = frozenset({"float64", "float32", "int64", "int32", "uint64", "uint32"})


@record
class Failure:
    """One entry of the table of errors: `Fail` statements of kernels refer to it by number."""

    exception: str
    message: str
    site: int | None
    dtypes: tuple[str, ...]


@record
class KernelText:
    """A kernel under construction: parameters with types, host arguments, and lines of the body.
    `written` are the arguments that it stores to."""

    name: str
    kind: KernelKind
    line: str = ""
    params: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    args: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])
    atomics: int = 0
    functions: set[str] = field(default_factory=set[str])
    written: set[str] = field(default_factory=set[str])
    sends_values: bool = False


class KernelWriter:
    """Writes the statements of a region.

    - `placement`, `symbols`: of the routine.
    - `failures`: the table of errors so far.
    - `shared`: the device scalars assigned in the region that are read outside of it or carried
      through it.  They are loaded at entry if needed, and stored at exit.
    - `atomic`: the buffers that several threads add to.
    """

    def __init__(
        self,
        kernel: KernelText,
        region: list[L.Stmt],
        symbols: Symbols,
        placement: Placement,
        failures: list[Failure],
        shared: Iterable[str] = (),
        atomic: Iterable[str] = (),
    ) -> None:
        self.kernel, self.symbols, self.placement = kernel, symbols, placement
        self.failures, self.atomic = failures, frozenset(atomic)
        self.shared = sorted(shared)
        stmts = list(L.walk(region))
        self.bound = {n for s in stmts for n in defs(s)} - set(self.shared)
        self.own = {s.name: s for s in stmts if isinstance(s, L.Alloc)}
        self.entry: dict[str, str] = {}
        exposed, assigned = upward_exposed(region), {s.name for s in region if isinstance(s, L.Let)}
        for name in self.shared:
            if name in exposed or name not in assigned:
                self._load_at_entry(name)

    # ---- parameters

    def _param(self, name: str, type_: str, arg: str) -> str:
        """The parameter for a host argument."""
        if arg in self.kernel.args:
            return self.kernel.params[self.kernel.args.index(arg)][0]
        taken = {n for n, _ in self.kernel.params} | self.bound | self.symbols.taken
        if name != arg and name in taken:
            number = 1
            while f"{name}_{number}" in taken:
                number += 1
            name = f"{name}_{number}"
        self.kernel.params.append((name, type_))
        self.kernel.args.append(arg)
        return name

    def buffer(self, name: str) -> str:
        if name in self.own:
            return name
        return self._param(name, f"{self.symbols.buffers[name][0]}*", name)

    def _slot(self, name: str) -> str:
        """The parameter for the slot of a device scalar."""
        arg = f"slot {name}"
        if arg in self.kernel.args:
            return self.kernel.params[self.kernel.args.index(arg)][0]
        return self._param(f"{name}_slot", f"{self.symbols.scalars[name]}*", arg)

    def _load_at_entry(self, name: str) -> None:
        if name not in self.entry:
            slot = self._slot(name)
            test = " != 0" if self.symbols.scalars[name] == "bool" else ""
            self.entry[name] = f"{name} = {slot}[0]{test}"

    def _scalar(self, name: str) -> str:
        if name in self.bound or name in self.shared:
            return name
        if name in self.placement.device:
            self._load_at_entry(name)
            return name
        return self._param(name, self.symbols.scalars[name], name)

    def _size(self, buffer: str, axis: int) -> L.Expr:
        if buffer in self.own:
            return self.expr(self.own[buffer].sizes[axis])
        return L.Name(self._param(f"{buffer}_n{axis}", "int64", f"{buffer}.shape[{axis}]"))

    # ---- expressions

    def expr(self, e: L.Expr) -> L.Expr:
        """An expression in terms of the kernel's parameters and functions."""
        if isinstance(e, L.Lit):
            return _literal(e)
        if isinstance(e, L.Name):
            return L.Name(self._scalar(e.name), e.dtype)
        if isinstance(e, L.Size):
            return self._size(e.buffer, e.axis)
        if isinstance(e, L.Load):
            flat = self.flat(e.buffer, e.index)
            if e.dtype == "bool":
                stored = L.Load(self.buffer(e.buffer), (flat,), "uint8")
                return L.Bin("!=", stored, L.ZERO, "bool")
            return L.Load(self.buffer(e.buffer), (flat,), e.dtype)
        if isinstance(e, L.Apply):
            return self._call(e)
        if isinstance(e, L.Cast) and e.dtype == "bool":
            return L.Bin("!=", self.expr(e.x), L.ZERO, "bool")
        return L.map_expr(e, lambda part: None if part is e else self.expr(part))

    def _call(self, e: L.Apply) -> L.Expr:
        function = kernel_function(e.function, tuple(a.dtype for a in e.args))
        args = tuple(map(self.expr, e.args))
        assert function is not None, e.function
        if not function:
            return args[0]
        if "." not in function and function != "abs":
            self.kernel.functions.add(function)
        call = L.Apply(function, args, e.dtype)
        # Python's float is double: what a function returns has its dtype only on the device.
        return L.Cast(call, e.dtype) if e.dtype not in ("float64", "int64", "bool") else call

    def flat(self, buffer: str, index: Sequence[L.Expr]) -> L.Expr:
        """The position of an element in the flat array."""
        out: L.Expr = L.ZERO
        for axis, i in enumerate(index):
            if axis:
                out = L.mul(out, self._size(buffer, axis))
            out = L.add(out, self.expr(i))
        return out

    def text(self, e: L.Expr) -> str:
        return print_expr(self.expr(e))

    def typed(self, e: L.Expr) -> str:
        return print_typed(self.expr(e))

    # ---- statements

    def block(self, stmts: list[L.Stmt], depth: int) -> list[str]:
        """The lines of a block."""
        lines: list[str] = []
        pad = "    " * depth
        for stmt in stmts:
            lines += self._stmt(stmt, pad, depth)
        if all(line.lstrip().startswith("#") for line in lines):
            lines.append(pad + "pass")
        return lines

    def _stmt(self, s: L.Stmt, pad: str, depth: int) -> list[str]:
        if isinstance(s, L.Comment):
            return [f"{pad}# {python_comment(s.text)}"] if s.text else []
        if isinstance(s, L.Let):
            return [f"{pad}{s.name} = {self.typed(s.expr)}"]
        if isinstance(s, L.Alloc):
            size = L.product(s.sizes)
            assert isinstance(size, L.Lit)
            dtype = "uint8" if s.dtype == "bool" else s.dtype
            return [f"{pad}{s.name} = cuda.local.array({max(1, size.value)}, np.{dtype})"]
        if isinstance(s, L.Store):
            return [pad + self._store(s)]
        if isinstance(s, L.Loop):
            return [f"{pad}for {s.var} in {self._range(s)}:", *self.block(s.body, depth + 1)]
        if isinstance(s, L.While):
            return [f"{pad}while True:", *self.block(s.body, depth + 1)]
        if isinstance(s, L.Break):
            return [pad + "break"]
        if isinstance(s, L.If):
            lines = [f"{pad}if {self.text(s.cond)}:", *self.block(s.then, depth + 1)]
            if s.orelse:
                lines += [f"{pad}else:", *self.block(s.orelse, depth + 1)]
            return lines
        assert isinstance(s, L.Fail), s
        return self._fail(s, pad)

    def _store(self, s: L.Store) -> str:
        at = print_expr(self.flat(s.buffer, s.index))
        buffer, value = self.buffer(s.buffer), self.typed(s.expr)
        if s.buffer not in self.own:
            self.kernel.written.add(s.buffer)
        if not s.add:
            return f"{buffer}[{at}] = {value}"
        if s.buffer in self.atomic:
            self.kernel.atomics += 1
            return f"cuda.atomic.add({buffer}, {at}, {value})"
        dtype = self.symbols.buffers[s.buffer][0]
        if dtype == "bool":
            return f"{buffer}[{at}] = {buffer}[{at}] != 0 or {value}"
        return f"{buffer}[{at}] += {value}"

    def _range(self, s: L.Loop) -> str:
        start, stop, step = self.text(s.start), self.text(s.stop), self.text(s.step)
        if not L.is_lit(s.step, 1):
            return f"range({start}, {stop}, {step})"
        return f"range({stop})" if L.is_lit(s.start, 0) else f"range({start}, {stop})"

    def _fail(self, s: L.Fail, pad: str) -> list[str]:
        failure = Failure(s.exception, s.message, s.site, tuple(v.dtype for v in s.values))
        if failure not in self.failures:
            self.failures.append(failure)
        site = self.failures.index(failure) + 1
        swap = f"cuda.atomic.cas(err, 0, 0, {site})"
        values: list[str] = []
        for k, v in enumerate(s.values[:4]):
            if v.dtype.startswith("float"):
                self.kernel.sends_values = True
                values.append(f"{pad}    err_values[{k}] = {self.typed(v)}")
            elif v.dtype == "bool":
                values.append(f"{pad}    err[{1 + k}] = 1 if {self.text(v)} else 0")
            else:
                values.append(f"{pad}    err[{1 + k}] = {self.typed(v)}")
        first = [f"{pad}if {swap} == 0:", *values] if values else [pad + swap]
        return [*first, f"{pad}return"]

    # ---- the frame

    def exit_lines(self) -> list[str]:
        """The lines that store the shared scalars."""
        return self.slot_stores(self.shared)

    def slot_stores(self, names: Iterable[str]) -> list[str]:
        """The lines that store scalars in their slots."""
        names = list(names)
        self.kernel.written |= {f"slot {name}" for name in names}
        return [f"{self._slot(name)}[0] = {name}" for name in names]


def _literal(e: L.Lit) -> L.Expr:
    """A literal; infinities and nan as constants of the module `math`."""
    if not e.dtype.startswith("float"):
        return e
    value = float(e.value)
    if value == value and abs(value) != float("inf"):
        return e
    name = L.Name("math.nan" if value != value else "math.inf", "float64")
    out: L.Expr = L.Un("-", name, "float64") if value < 0 else name
    return out if e.dtype == "float64" else L.Cast(out, e.dtype)

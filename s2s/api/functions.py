"""The public transforms `grad`, `value_and_grad` and `function`, and the callables they return.

A call of such an object goes through three levels, from fast to slow: the call stub or bytecode of
the specialisation that ran last, the other cached call stubs (`_try_call_stubs`), and the lookup by
type key with compilation on a miss (`_slow_path`).
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..call import bind_arguments, debug_flag
from ..call.backend_choice import BACKENDS, choose_backend, choose_target
from ..call.call_stub import CallStub
from ..dispatch import out_arguments
from ..dispatch.specialization import Specialization
from ..dispatch.specializations import Options, Specialiser, specialiser_for
from ..errors import MISS, S2STypeError, S2SValueError
from ..inspect import debug_nans
from ..inspect.code_string import Code
from ..runtime import gc_pause
from ..transforms.frontend.derivative_spec import derive
from ..transforms.frontend.signature import signature
from ..transforms.ir.quote import printable, python_comment
from . import device_calls, signature_spec
from .given_source import give_source

if TYPE_CHECKING:
    from ..inspect.explain import Report


# Maximal number of cached call stubs; they are tried before the specialisation is looked up.
MAX_CALL_STUBS = 4


class _Shared:
    """State shared by an object and its bound views (`obj.method`)."""

    def __init__(self, target: bind_arguments.Target, options: Options) -> None:
        self.target = target
        self.options = options
        self.method = bind_arguments.is_method(target.function)
        self.specialisers: dict[str, Specialiser] = {}
        # Call stubs of the specialisations used last, most recently used first.
        self.calls: tuple[CallStub, ...] = ()
        self.numba_type: Any = None


class _Signature:
    """Descriptor for `__signature__` of instances; the class itself has none.  (A `__getattr__`
    would slow down every attribute access.)"""

    def __get__(self, instance: Function | None, owner: type) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")
        return signature(instance._bind_given(instance._shared.target.function))


class _PlanSlot:
    """Base class with one slot for the call bytecode, which a back end runs without Python
    code.  `backends/native/call_vm.py` reads the slot at a fixed offset."""

    __slots__ = ("_plan",)
    _plan: Any


class Function(_PlanSlot):
    """A compiled function.  A call runs compiled code, specialised to the types of the arguments;
    `.python` is the original function."""

    _s2s_mode = "function"
    _mode = "primal"
    _own_class: Any = None  # in subclasses made by `_stub_class`: the class they derive from
    __name__: str
    __qualname__: str

    def __init__(self, target: Any, options: Options) -> None:
        found = unwrap(target)
        functools.update_wrapper(self, found.function)
        vars(self).pop("__s2s__", None)
        self._shared = _Shared(found, options)
        self._prefix = found.prefix
        self._fixed = found.fixed
        # The bytecode of the call stub that ran last, for objects without bound arguments.
        # A stub without bytecode becomes `__call__` of the object's class (`_stub_class`); if the
        # class overrides `__call__`, `_in_python` tries the stub first (`_first_stub`).
        self._plan = None
        self._first_stub: Any = None
        # In a class body it is not decided yet whether this becomes a method: check `wrt` later.
        if not bind_arguments.in_class(found.function):
            self._specialiser(self._mode)

    # ---- calling

    def _in_python(self, /, *args: Any, **kwargs: Any) -> Any:
        stub = self._first_stub
        if stub is not None and not (kwargs or debug_flag.active):
            found = stub(*args)
            if found is not MISS:
                return found
        if self._shared.calls and not debug_flag.active:
            found = self._try_call_stubs(args, kwargs)
            if found is not MISS:
                return found
        return self._slow_path(args, kwargs)

    # `Call.install` replaces this by a C function that runs the bytecode first.
    __call__ = _in_python

    def _try_call_stubs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the first cached call stub whose guards hold, on arguments bound to parameters; MISS
        if there is none.  Used if the most recent stub misses, or if the arguments have to be
        brought into positional order."""
        shared = self._shared
        binder, calls = shared.specialisers[self._mode].binder, shared.calls
        if self._prefix:
            args = self._prefix + args
        if self._fixed:
            kwargs = {**self._fixed, **kwargs}
        if kwargs and "out" in kwargs and "out" not in binder.names:
            return MISS
        given = binder.filled(args, kwargs)
        if given is None:
            return MISS
        for call in calls:
            found = call.run(*given)
            if found is not MISS:
                self._prefer(call)
                call.install(Function)  # compiling it takes time: only for repeated calls
                return found
        for call in calls:
            found = call.retry(*given)
            if found is not MISS:
                self._prefer(call)
                return found
        return MISS

    def _slow_path(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Slow path: run a call for which no call stub applies."""
        return self._value(self._mode, args, kwargs)

    def _prefer(self, call: CallStub) -> None:
        """Move a call stub to the front, so that the next call tries it first."""
        shared, entry = self._shared, call.entry
        calls = shared.calls
        if not calls or calls[0] is not call:
            others = [c for c in calls if c.entry is not entry]
            shared.calls = (call, *others[: MAX_CALL_STUBS - 1])
        specialiser = shared.specialisers[self._mode]
        specialiser.latest = entry
        # Stubs take positional arguments in parameter order; other calls are bound first.
        if not (self._prefix or self._fixed) and specialiser.binder.exact >= 0:
            self._plan, self._first_stub = call.bytecode, None
            if call.bytecode is None and self._plain.__call__ is not Function.__call__:
                self._first_stub = call.run
            else:
                self.__class__ = _stub_class(self._plain, call)  # type: ignore[assignment]

    def _backend(self) -> str:
        """The back end of a call; a target other than the CPU is one of its own."""
        options = self._shared.options
        return choose_backend(options.backend) if options.target == "cpu" else options.target

    def _make_call_stub(self, entry: Specialization, bound: tuple[Any, ...], backend: str) -> None:
        if backend in ("numba", "native"):
            explicit = self._shared.options.backend is not None
            call = entry.call(backend, bound, *self._result_expression(entry), explicit)
            if call is not None:
                self._prefer(call)

    def _result_expression(self, entry: Specialization) -> tuple[dict[str, Any], str]:
        """The output trees and the result expression over their names, for `Entry.call`."""
        return {"value": entry.compiled.out}, "value"

    def _value(self, mode: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        specialiser, bound = self._bind(mode, args, kwargs)
        backend = self._backend()
        with gc_pause.paused():  # one pause for all allocations of a first call
            entry, params = specialiser.find(bound, backend)
            if backend not in entry.kernels and not debug_flag.active:
                entry.kernel(backend, params)
        if debug_flag.active:
            results = debug_nans.run(specialiser, entry, bound, backend, params)
        else:
            results = entry.run(backend, params, args=bound)
        value = entry.value(bound, results)
        if entry.compiled.changes:
            entry.apply_side_effects(bound, results, backend)
        if mode == self._mode:
            self._make_call_stub(entry, bound, backend)
        return value

    def primal(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled function itself, without derivatives."""
        return self._value("primal", args, kwargs)

    @property
    def python(self) -> Callable[..., Any]:
        """The original function."""
        function = self._shared.target.function
        return self._bind_given(getattr(function, "plain", function))

    @property
    def _derivation(self) -> Callable[..., Any]:
        """The function that replaces this object where a compiled function calls it."""
        return self._bind_given(self._shared.target.function)

    def _bind_given(self, function: Any) -> Callable[..., Any]:
        if not self._prefix and not self._fixed:
            return function
        plain = type(function) is types.FunctionType
        if len(self._prefix) == 1 and not self._fixed and self._shared.method and plain:
            return types.MethodType(function, self._prefix[0])
        return functools.partial(function, *self._prefix, **self._fixed)

    # ---- reading

    @property
    def source(self) -> str:
        """The NumPy-level source of the latest specialisation; notebooks highlight it."""
        entry = self._specialiser(self._mode).latest
        return self._no_code_message() if entry is None else Code(entry.compiled.source)

    @property
    def lowered(self) -> str:
        """The lowered (loop-level) source of the latest specialisation, the input of codegen."""
        entry = self._specialiser(self._mode).latest
        return self._no_code_message() if entry is None else Code(entry.compiled.lowered)

    @property
    def compiled(self) -> Any:
        """The Numba dispatcher of the latest specialisation: `.signatures`, `.inspect_llvm()`,
        `.inspect_asm()`.  It takes the scalars and arrays of a call, in the order of the parameters
        of `lowered`, and returns all results."""
        entry = self._specialiser(self._mode).latest
        kernels = {} if entry is None else {**entry.kernels_into, **entry.kernels}
        for backend in ("numba", "njit"):
            if backend in kernels:
                return vars(kernels[backend])["dispatcher"]
        raise S2STypeError(
            f"{self.__name__} has not been compiled with Numba yet",
            advice=f'call it first, or {self.__name__}.compile(...), with backend="numba"',
        )

    def source_for(self, /, *args: Any, **kwargs: Any) -> str:
        """The NumPy-level source for given arguments; nothing is executed."""
        return Code(self._entry_for(args, kwargs).compiled.source)

    def passes(self, /, *args: Any, **kwargs: Any) -> Iterator[tuple[str, str]]:
        """The program after each compiler pass, as pairs (pass, source)."""
        specialiser = self._specialiser(self._mode)
        latest = specialiser.latest
        if latest is not None and not args and not kwargs:
            return latest.compiled.passes()
        specialiser, bound = self._bind(self._mode, args, kwargs)
        return specialiser.translate(specialiser.describe(bound), specialiser.named(bound)).passes()

    def explain(self, /, *args: Any, **kwargs: Any) -> Report:
        """A printable report: which values are active and which are not, and why; what is saved
        for the adjoint sweep, and in how many bytes; what was recompiled, and why.  It describes
        the arguments given (nothing is executed), or without arguments the latest
        specialisation."""
        from ..inspect.explain import explain

        specialiser = self._specialiser(self._mode)
        bound = None
        if args or kwargs or specialiser.latest is None:
            try:
                specialiser, bound = self._bind(self._mode, args, kwargs)
            except TypeError as error:
                if args or kwargs:
                    raise
                raise S2STypeError(
                    f"{self.__name__} has not been called yet, so there is nothing to explain",
                    advice=f"call it first, or give arguments: {self.__name__}.explain(...)",
                ) from error
        return explain(self, specialiser, bound)

    def compile(self, /, *specs: Any, **named: Any) -> Any:
        """Compile before the first call, for example arguments, for types such as
        `"float64[:, :]"` (contiguous), or for Numba types; returns the object itself."""
        read = functools.partial(signature_spec.example, self.__name__)
        pairs = [read(s) for s in specs]
        named_pairs = {k: read(v) for k, v in named.items()}
        sizes = not any(t for _, t in [*pairs, *named_pairs.values()])
        args = tuple(v for v, _ in pairs)
        specialiser, bound = self._bind(
            self._mode, args, {k: v for k, (v, _) in named_pairs.items()}
        )
        specialiser.prepare(bound, self._backend(), sizes)
        return self

    def _entry_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialization:
        specialiser, bound = self._bind(self._mode, args, kwargs)
        return specialiser.find(bound, "python")[0]

    def _no_code_message(self) -> str:
        name = python_comment(self.__name__)
        return (
            f"# {name} has not been called yet, so there is no code for it.\n"
            f"# {name}.source_for(*args) shows the code for given arguments.\n"
        )

    # ---- binding

    def _bind(
        self, mode: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Specialiser, tuple[Any, ...]]:
        specialiser = self._shared.specialisers.get(mode) or self._specialiser(mode)
        if self._prefix:
            args = (*self._prefix, *args)
        if self._fixed:
            kwargs = {**self._fixed, **kwargs}
        bound = specialiser.binder.bind(args, kwargs)
        if self._shared.options.target != "cpu":
            bound = device_calls.prepared(bound, self._shared.options.target)
        return specialiser, bound

    def _specialiser(self, mode: str) -> Specialiser:
        shared = self._shared
        found = shared.specialisers.get(mode)
        if found is None:
            found = specialiser_for(shared.target, mode, shared.options, shared.method)
            shared.specialisers[mode] = found
        return found

    def __set_name__(self, owner: type, name: str) -> None:
        if self._shared.target.kind != "staticmethod":
            self._become_method()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        kind = self._shared.target.kind
        if kind == "classmethod":
            return self._bound(owner if owner is not None else type(instance))
        # As for functions and partials: an object with bound arguments is not bound again.
        if instance is None or kind == "staticmethod" or self._prefix or self._fixed:
            return self
        return self._bound(instance)

    def _bound(self, instance: Any) -> Any:
        if not self._shared.method:
            self._become_method()
        return self._with((instance,), self._fixed)

    def _with(self, prefix: tuple[Any, ...], fixed: dict[str, Any]) -> Any:
        """A view of the same object with other bound arguments."""
        view = object.__new__(self._plain)
        vars(view).update(vars(self))
        view._prefix, view._fixed, view._plan, view._first_stub = prefix, fixed, None, None
        return view

    @property
    def _plain(self) -> Any:
        """The class without the `__call__` override of `_stub_class`."""
        return type(self)._own_class or type(self)

    def _become_method(self) -> None:
        """Treat the first parameter as `self`, which `wrt` does not count, from now on."""
        if not self._shared.method and not self._prefix:
            self._shared.method = True
            self._shared.specialisers.clear()
            self._shared.calls = ()
            self._plan = self._first_stub = None
            self.__class__ = self._plain

    # ---- Python protocols: signature, repr, copy, pickle

    __signature__ = _Signature()

    def __repr__(self) -> str:
        name = printable(self.__qualname__)
        return f"<s2s.{self._s2s_mode} of {name}{inspect.signature(self)}>"

    def _repr_html_(self) -> str | None:
        """HTML for notebooks: the function beside the source of its latest specialisation."""
        entry = self._specialiser(self._mode).latest
        if entry is None:
            return None
        from ..inspect.notebook import sides_of

        function = self._shared.target.function
        return sides_of(getattr(function, "plain", function), entry.compiled)

    @property
    def _numba_type_(self) -> Any:
        """The Numba type of this object, by which Numba compiles calls in users' `@njit` code."""
        from .numba_overload import type_of

        device_calls.refuse_in_njit(self.__name__, self._shared.options.target)
        return type_of(self)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self._prefix and not self._fixed:
            return self
        import copy

        return self._with(copy.deepcopy(self._prefix, memo), copy.deepcopy(self._fixed, memo))

    @property
    def _wrapped_function(self) -> Any:
        """The function this object was created from; pickling refers to it by name."""
        return self._shared.target.function

    def __reduce__(self) -> Any:
        shared = self._shared
        function = self._wrapped_function
        if _find(function.__module__, function.__qualname__) is not None:
            found = _find(function.__module__, function.__qualname__)
            same = isinstance(found, Function) and found._shared is shared
            if same and not self._prefix and not self._fixed:
                return _find, (function.__module__, function.__qualname__)
            if same:
                return _with_arguments, (found, self._prefix, self._fixed)
            if isinstance(found, Function) and found._wrapped_function is function:
                arguments = (self._plain, found, shared.options, self._prefix, self._fixed)
                return _remake, arguments
        return _remake, (self._plain, function, shared.options, self._prefix, self._fixed)


def _stub_class(cls: type[Function], call: CallStub) -> type[Function]:
    """The subclass of `cls` whose `__call__` is the call stub, which saves one Python frame per
    call; `cls` itself if the call has bytecode."""
    if call.method is None:
        return cls
    if call.cls is None:
        space = {"__call__": call.method(), "__module__": cls.__module__, "__doc__": cls.__doc__}
        call.cls = type(cls.__name__, (cls,), {**space, "_own_class": cls})
    return call.cls


class Gradient(Function):
    """The gradient of a function, compiled; see `grad`."""

    _s2s_mode = "grad"
    _mode = "vjp"

    def _slow_path(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        has_aux = self._shared.options.has_aux
        value, gradients = self._run(args, kwargs, has_aux)
        return (gradients, value[1]) if has_aux else gradients

    def _result_expression(self, entry: Specialization) -> tuple[dict[str, Any], str]:
        out, *grads = (entry.compiled.out, *entry.compiled.grads)
        trees: dict[str, Any] = {f"g{i}": tree for i, tree in enumerate(grads)}
        gradients = "g0" if self._single else f"({''.join(name + ', ' for name in trees)})"
        return self._with_value(out, trees, gradients)

    def _with_value(
        self, out: Any, trees: dict[str, Any], gradients: str
    ) -> tuple[dict[str, Any], str]:
        if not self._shared.options.has_aux:
            return trees, gradients
        return {**trees, "value": out}, f"({gradients}, value[1])"

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], valued: bool) -> tuple[Any, Any]:
        """The value, if `valued`, and the gradients."""
        out = None
        if kwargs and "out" in kwargs and "out" not in self._specialiser("vjp").binder.names:
            kwargs = dict(kwargs)
            out = kwargs.pop("out")
            device_calls.refuse_out(self._shared.options.target)
        specialiser, bound = self._bind("vjp", args, kwargs)
        backend = self._backend()
        entry, params = specialiser.find(bound, backend)
        single = self._single
        given = None
        if out is not None:
            given = out_arguments.match(entry, (out,) if single else out, params, specialiser.wrt)
        changes = entry.compiled.changes
        if debug_flag.active:
            results = debug_nans.run(specialiser, entry, bound, backend, params, given)
        else:
            results = entry.run(backend, params, given, bound)
        gradients = entry.gradients(bound, results)
        value = entry.value(bound, results) if valued else None
        if changes:
            entry.apply_side_effects(bound, results, backend)
        if given is None:
            self._make_call_stub(entry, bound, backend)
        return value, gradients[0] if single else tuple(gradients)

    @property
    def _single(self) -> bool:
        return type(self._shared.options.wrt) is not tuple

    @property
    def _derivation(self) -> Callable[..., Any]:
        specialiser = self._specialiser("vjp")
        derived = derive(
            self._shared.target.function,
            self._s2s_mode,
            wrt=specialiser.wrt,
            single=self._single,
            has_aux=self._shared.options.has_aux,
            skipped=max(len(self._shared.target.prefix), int(self._shared.method)),
        )
        return self._bind_given(derived)

    def __repr__(self) -> str:
        wrt = self._specialiser("vjp").wrt
        text = wrt[0] if len(wrt) == 1 else f"({', '.join(wrt)})"
        return f"{super().__repr__()[:-1]} wrt {text}>"


class ValueAndGradient(Gradient):
    """The value and the gradient of a function, compiled; see `value_and_grad`."""

    _s2s_mode = "value_and_grad"

    def _slow_path(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._run(args, kwargs, True)

    def _with_value(
        self, out: Any, trees: dict[str, Any], gradients: str
    ) -> tuple[dict[str, Any], str]:
        return {**trees, "value": out}, f"(value, {gradients})"


def unwrap(target: Any) -> bind_arguments.Target:
    """The plain function behind a callable to compile, which may be an s2s object itself."""
    if isinstance(target, bind_arguments.Target):
        return target
    if isinstance(target, Function):
        shared = target._shared.target
        function = target._derivation
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        return bind_arguments.Target(
            function, target._prefix, target._fixed, shared.kind, shared.vectorized
        )
    return bind_arguments.unwrap(target)


# ---------------------------------------------------------------- pickling


def _find(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    if found is None:
        try:
            found = __import__(module, fromlist=["_"])
        except ImportError:
            return None
    for part in qualname.split("."):
        # vars() gives the class attribute itself, without __get__ binding it
        holder = vars(found) if hasattr(found, "__dict__") else {}
        found = holder.get(part, getattr(found, part, None))
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
    return found


def _with_arguments(base: Function, prefix: tuple[Any, ...], fixed: dict[str, Any]) -> Function:
    return base._with(prefix, fixed)


def _remake(
    cls: type[Function],
    function: Any,
    options: Options,
    prefix: tuple[Any, ...],
    fixed: dict[str, Any],
) -> Function:
    if isinstance(function, Function):
        function = function._shared.target.function
    target = functools.partial(function, *prefix, **fixed) if prefix or fixed else function
    return cls(target, options)


# ---------------------------------------------------------------- the transforms


def options_of(
    wrt: bind_arguments.Wrt,
    has_aux: bool,
    static_argnames: str | Iterable[str],
    boundscheck: bool,
    backend: str | None,
    parallel: bool | None = None,
    target: str | None = None,
) -> Options:
    if backend is not None and backend not in BACKENDS:
        raise S2SValueError(f"there is no backend {backend!r}", advice=f"choose from {BACKENDS}")
    static = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    wrt = tuple(wrt) if isinstance(wrt, (tuple, list)) else wrt
    threads = None if parallel is None else bool(parallel)
    place = choose_target(target, backend)
    return Options(wrt, bool(has_aux), static, bool(boundscheck), backend, threads, target=place)


def grad(
    function: Any = None,
    /,
    *,
    wrt: bind_arguments.Wrt | None = None,
    has_aux: bool = False,
    static_argnames: str | Iterable[str] = (),
    boundscheck: bool = True,
    backend: str | None = None,
    parallel: bool | None = None,
    target: str | None = None,
    source: str | None = None,
) -> Any:
    """The gradient of a function that returns a scalar.

    Use it as a decorator, bare or with arguments, or on an existing function: a plain or
    `@numba.njit` function, a method, a `functools.partial`.

    wrt: the argument to differentiate with respect to, by name or position, the first by default;
        a tuple of them gives a tuple of gradients.  A gradient has the dtype, shape and container
        of its argument.
    has_aux: the function returns `(value, aux)`; the gradient object returns
        `(gradient, aux)`.
    static_argnames: arguments that are compile-time constants: each new value is compiled anew.
    boundscheck: whether indices are checked where they cannot be proven to be in bounds.
    backend: "numba", "njit", "native", "loops" or "python"; by default `S2S_BACKEND` or "numba".
    parallel: whether loops with independent iterations run on several threads: by default those
        that are long enough to be certainly profitable, with True all that may be profitable.  The
        result is the same to the last bit for any number of threads.
    target: "cpu", "cuda" or "cuda-emulated"; by default `S2S_TARGET` or "cpu".  With "cuda" the
        program becomes GPU kernels; with "cuda-emulated" the same kernels run on the CPU.  If an
        argument is on the device (`s2s.to_device`), all arrays must be, and the results stay there.
    source: the text that was executed, for a function that is in no file: of `exec`, `python -c` or
        the plain prompt.  What else the text defines, such as helpers, is found in it, too.

    The object returned also takes `out=`, buffers for the gradients.

    If the function contains a `GradientTape`, the tape determines what is differentiated, and the
    function is compiled as by `function`.
    """
    options = options_of(
        0 if wrt is None else wrt, has_aux, static_argnames, boundscheck, backend, parallel, target
    )
    if function is None:
        return functools.partial(
            grad, wrt=wrt, has_aux=has_aux, static_argnames=static_argnames,
            boundscheck=boundscheck, backend=backend, parallel=parallel, target=target,
            source=source,
        )  # fmt: skip
    if not _has_tape(function):
        return make(Gradient, function, options, source)
    if wrt is not None or has_aux:
        raise S2STypeError(
            f"{unwrap(function).function.__qualname__} has a tape in it, which says what is "
            f"differentiated: {'wrt=' if wrt is not None else 'has_aux='} has no meaning here",
            advice="leave it out, or write the tape in a function of its own",
        )
    return make(Function, function, options, source)


def _has_tape(function: Any) -> bool:
    code = getattr(unwrap(function).function, "__code__", None)
    return code is not None and "GradientTape" in (*code.co_names, *code.co_freevars)


def value_and_grad(
    function: Any = None,
    /,
    *,
    wrt: bind_arguments.Wrt = 0,
    has_aux: bool = False,
    static_argnames: str | Iterable[str] = (),
    boundscheck: bool = True,
    backend: str | None = None,
    parallel: bool | None = None,
    target: str | None = None,
    source: str | None = None,
) -> Any:
    """The value of a function and its gradient, as `(value, gradient)`; with `has_aux`,
    `((value, aux), gradient)`.  The arguments are those of `grad`."""
    options = options_of(wrt, has_aux, static_argnames, boundscheck, backend, parallel, target)
    return make(ValueAndGradient, function, options, source)


def function(
    function: Any = None,
    /,
    *,
    static_argnames: str | Iterable[str] = (),
    boundscheck: bool = True,
    backend: str | None = None,
    parallel: bool | None = None,
    target: str | None = None,
    source: str | None = None,
) -> Any:
    """A compiled function, not differentiated.  The arguments are those of `grad`."""
    options = options_of(0, False, static_argnames, boundscheck, backend, parallel, target)
    return make(Function, function, options, source)


def make(cls: Any, function: Any, options: Options, source: str | None = None) -> Any:
    if function is None:
        return functools.partial(make, cls, options=options, source=source)
    if source is not None:
        give_source(unwrap(function).function, source)
    return cls(function, options)


for _transform in (function, grad, value_and_grad):
    # The names by which the compiler recognises calls of these transforms.
    _transform._s2s_transform = _transform.__name__  # type: ignore[attr-defined]

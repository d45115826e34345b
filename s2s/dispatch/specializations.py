"""The cache of specialisations: finds the compiled code for a call, or compiles it.

Calls are keyed by the type key of the arguments (types, dtypes, ranks, layout; never
sizes).  Each key maps to a list of specialisations, newest first, each with the guards under which
it is valid.  The first one whose guards hold is run.
"""

from __future__ import annotations

import linecache
import types
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cache import parsed_sources
from ..call import bind_arguments
from ..call.backend_choice import STORED
from ..call.calls_choice import choose_calls
from ..call.guards import PathResolver, changed_object_text
from ..call.type_key import type_key
from ..errors import (
    InternalCompilerError,
    RecompilationWarning,
    S2SError,
    S2STypeError,
    SourceError,
    UnsupportedError,
    internal,
)
from ..runtime import gc_pause, thread_pool
from ..runtime.compile_progress import Progress
from ..runtime.locks import translation_lock
from ..transforms.frontend.pytree import (
    Fixed,
    Path,
    ScalarSpec,
    Spec,
    as_tensors,
    describe,
    path_text,
    spec_leaves,
)
from .recompile_reason import why_compiled
from .specialization import Specialization, seed_of

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled, Request

# Recompilations for arguments of the same types after which a RecompilationWarning is issued.
RECOMPILATION_LIMIT = 8
# Maximal number of type keys in the cache.  Objects are keyed by identity, so the number of
# possible keys is unbounded.
MAX_TYPE_KEYS = 256

parsed_sources.install()


@dataclass(frozen=True)
class Options:
    """The options of a transform, without the function itself."""

    wrt: Any = 0
    has_aux: bool = False
    static: tuple[str, ...] = ()
    boundscheck: bool = True
    backend: str | None = None
    parallel: bool | None = None  # None: where it is profitable
    tensors: bool = False  # array arguments have value semantics, as in the `tf` namespace
    calls: str = "inline"  # whether calls of functions are inlined (`Request.calls`)
    target: str = "cpu"  # or "cuda", "cuda-emulated"


class Specialiser:
    """One function in one mode ("primal" or "vjp"), with its specialisations."""

    def __init__(
        self,
        function: types.FunctionType,
        binder: bind_arguments.Binder,
        mode: str,
        options: Options,
        vectorized: bool,
    ) -> None:
        self.function = function
        self.name = function.__qualname__
        self.mode = mode
        self.options = options
        self.wrt: tuple[str, ...] = options.wrt if mode == "vjp" else ()
        self.vectorized = vectorized
        self.binder = binder
        bind_arguments.check_static(options.static, binder.names, self.name)
        for name in self.wrt:
            if name in options.static:
                raise S2STypeError(f"{name} of {self.name} is static: it has no gradient")
        self.static = tuple(n in options.static for n in self.binder.names)
        self.any_static = any(self.static)
        self.entries: dict[Any, list[Specialization]] = {}
        self.latest: Specialization | None = None
        self.compilations = 0
        # Why each specialisation was compiled.
        self.reasons: deque[str] = deque(maxlen=MAX_TYPE_KEYS)
        self.lifted_ints: frozenset[Path] = frozenset()
        self.warned = False

    # ---- lookup

    def find(self, args: tuple[Any, ...], backend: str) -> tuple[Specialization, tuple[Any, ...]]:
        """The specialisation for bound arguments, and the kernel's parameters."""
        key = self._key(args)
        for entry in self.entries.get(key, ()):
            params = entry.enter(args)
            if params is not None:
                self.latest = entry
                return entry, params
        return self._specialise(key, args, backend)

    def _key(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.options.tensors:
            return tuple([type_key(a, s, True) for a, s in zip(args, self.static)])
        if not self.any_static:
            return tuple(map(type_key, args))
        return tuple([type_key(a, s) for a, s in zip(args, self.static)])

    # ---- specialisation

    def _specialise(
        self, key: tuple[Any, ...], args: tuple[Any, ...], backend: str, sizes: bool = True
    ) -> tuple[Specialization, tuple[Any, ...]]:
        with translation_lock:
            if self.binder.code is not self.binder.plain.__code__:
                self.binder.renew()
            known = self.entries.get(key, [])
            for entry in known:  # another thread may have compiled it meanwhile
                params = entry.enter(args)
                if params is not None:
                    return entry, params
            self._lift_changed_ints(known, args)
            with gc_pause.paused():
                entry = self._recall(args, backend, sizes) or self._compile(args, backend, sizes)
            params = entry.enter(args)
            if params is None:
                entry.reject_aliases(args)
                raise InternalCompilerError(
                    f"the code just compiled for {self.name} does not fit its own arguments: "
                    f"{entry.broken_guard(args)}",
                    advice="this is a bug in s2s; please report it with the function",
                )
            # Copy on write: other threads may be iterating over the old list.
            self.entries[key] = [entry, *known]
            if len(self.entries) > MAX_TYPE_KEYS:
                self.entries = dict(list(self.entries.items())[-MAX_TYPE_KEYS // 2 :])
            self.reasons.append(why_compiled(known, self.latest, entry, args))
            self.latest = entry
            if known:
                self._count(known[0], args)
            return entry, params

    def _lift_changed_ints(self, known: list[Specialization], args: tuple[Any, ...]) -> None:
        """Turn integers whose equality guard failed once from constants into parameters."""
        for entry in known:
            for guard in entry.compiled.object_guards:
                if guard.kind == "equals" and type(guard.expected) is int:
                    try:
                        value = entry.reach.value(args, guard.path)
                    except Exception:  # the path is gone: another guard reports it
                        continue
                    if type(value) is int and value != guard.expected:
                        self.lifted_ints |= {guard.path}

    def prepare(self, args: tuple[Any, ...], backend: str, sizes: bool) -> None:
        """Compile for bound arguments, down to machine code, without running anything."""
        key = self._key(args)
        entry, params = self._specialise(key, args, backend, sizes)
        entry.kernel(backend, params)

    def _recall(self, args: tuple[Any, ...], backend: str, sizes: bool) -> Specialization | None:
        """A specialisation that another process compiled and stored on disk; None if there is
        none."""
        if backend not in STORED or not sizes:
            return None
        from . import persistent

        specs = self.describe(args)
        for found in persistent.load_stored(self, specs, args):
            again = self._request_again(found, specs, args)
            found.write = lambda again=again: _pipeline().write(again())
            found.passes = lambda again=again: _pipeline().compile_request(again()).passes()
            entry = self._entry(found, specs, args)
            if entry.enter(args) is not None:
                return entry
        return None

    def _request_again(
        self, found: Compiled, specs: dict[str, Spec], args: tuple[Any, ...]
    ) -> Callable[[], Request]:
        """Makes the request for a specialisation that was compiled for such arguments: another
        process compiled it, and kept only what calls need.  For its readable source and its passes
        the function is read again, so that what it depends on must be as it was."""
        kept = tuple(map(stand_in, args))
        values, reach = self.named(kept), PathResolver(self.function, tuple(specs))

        def again() -> Request:
            changed = changed_object_text(found, reach, kept)
            if changed is not None:
                raise SourceError(
                    f"the code of {self.name} cannot be shown: it depends on {changed}",
                    advice="call it again, or ask before the change",
                )
            return self.request(specs, values)

        return again

    def _compile(self, args: tuple[Any, ...], backend: str, sizes: bool) -> Specialization:
        """Compile for bound arguments, with their sizes as hints, or for all sizes."""
        specs = self.describe(args)
        compiled = self.translate(specs, self.named(args) if sizes else None)
        if backend in STORED and sizes:
            from . import persistent

            persistent.store_specialization(self, specs, compiled)
        return self._entry(compiled, specs, args)

    def _entry(
        self, compiled: Compiled, specs: dict[str, Spec], args: tuple[Any, ...]
    ) -> Specialization:
        seed = seed_of(compiled, self.options.has_aux) if self.mode == "vjp" else None
        options = self.options
        return Specialization(
            compiled, self.function, specs, args, seed, options.static, options.tensors
        )

    def named(self, args: tuple[Any, ...]) -> dict[str, Any]:
        """Bound arguments by parameter name."""
        return dict(zip(self.binder.names, args))

    def translate(self, specs: dict[str, Spec], values: dict[str, Any] | None) -> Compiled:
        """Run the compiler; `values` is None to compile for types alone."""
        with Progress(self.name) as progress, gc_pause.paused():
            progress.stage("translating")
            with gc_pause.promote_imported():
                from ..transforms import pipeline

            try:
                compiled = pipeline.compile_request(self.request(specs, values))
                self._refuse_device_arrays(compiled)
                return compiled
            except S2SError:
                raise
            except RecursionError as error:
                from ..transforms.frontend.source import too_deep

                code = self.binder.plain.__code__
                lines = linecache.getlines(code.co_filename)
                place = code.co_filename, lines, code.co_firstlineno
                raise too_deep(self.name, *place, "compiled") from error
            except Exception as error:
                if getattr(error, "source_line", None) is not None:
                    raise  # the user's own error, found without running the program
                raise internal(f"translating {self.name}", error) from error
            finally:
                parsed_sources.flush()

    def request(self, specs: dict[str, Spec], values: dict[str, Any] | None) -> Request:
        """The request to the compiler."""
        from ..transforms.pipeline import Request

        return Request(
            function=self.function,
            args=specs,
            values=values,
            mode=self.mode,
            wrt=self.wrt,
            has_aux=self.options.has_aux,
            static=tuple((("arg", n),) for n in self.options.static),
            lifted_ints=self.lifted_ints,
            boundscheck=self.options.boundscheck,
            parallel=self.parallel,
            calls=self.options.calls,
            decorated=self.decorated(),
            target="cpu" if self.options.target == "cpu" else "cuda",
        )

    @property
    def parallel(self) -> bool | None:
        """The `parallel` option; False by default if there is only one thread."""
        option = self.options.parallel
        return False if option is None and thread_pool.thread_count() < 2 else option

    def decorated(self) -> bool:
        """True if the function's own name resolves to an s2s object made from it."""
        return looks_decorated(self.function)

    def describe(self, args: tuple[Any, ...]) -> dict[str, Spec]:
        """The specs of bound arguments; an error names the argument that has none."""
        specs: dict[str, Spec] = {}
        for name, value, static in zip(self.binder.names, args, self.static):
            if static and isinstance(value, np.ndarray):
                raise S2STypeError(
                    f"{name} of {self.name} is static, but an array has no fixed value"
                )
            try:
                specs[name] = describe(value, static)
                if self.options.tensors:
                    specs[name] = as_tensors(specs[name])
            except S2SError as error:
                text = f"{name} of {self.name}: {error.message}"
                raise type(error)(text, advice=error.advice) from None
            except TypeError as error:
                raise S2STypeError(f"{name} of {self.name}: {error}") from None
        for name in self.wrt:
            self._check_wrt(name, specs[name], self.named(args)[name])
        if self.vectorized:
            self._check_scalars(specs)
        return specs

    def _refuse_device_arrays(self, compiled: Compiled) -> None:
        """Raise an error for an array on a device, unless the function runs there."""
        for param in compiled.params:
            if self.options.target == "cpu" and getattr(param.spec, "device", False):
                name = path_text(param.path)
                raise S2STypeError(
                    f"{name} is on a device, and {self.name} runs on the CPU",
                    advice=f'compile it with target="cuda", or pass {name}.numpy()',
                )

    def _check_wrt(self, name: str, spec: Spec, value: Any) -> None:
        """Raise an error unless all leaves are float or complex: an integer is nearly always a
        mistake."""
        if isinstance(spec, Fixed):
            raise S2STypeError(
                f"{name} of {self.name} is a {type(value).__name__}, which holds no numbers",
                advice="pass numbers, arrays, or tuples, lists, dicts or dataclasses of them",
            )
        leaves = list(spec_leaves(spec, (("arg", name),)))
        for path, leaf in leaves:
            dtype = getattr(leaf, "dtype", "record")
            if dtype.startswith(("float", "complex")):
                continue
            text = path_text(path)
            if isinstance(leaf, ScalarSpec):
                kind = "int" if leaf.weak and dtype == "int64" else dtype
                is_int = isinstance(value, (int, np.integer))
                example = f"pass {float(value)!r}" if is_int else "pass a float"
                raise S2STypeError(f"{text} is {kind}; {example}", advice=FLOATS_ONLY)
            raise S2STypeError(
                f"{text} is an array of {dtype}; pass {text}.astype(np.float64)",
                advice=FLOATS_ONLY,
            )
        if not leaves:
            raise S2STypeError(f"{name} of {self.name} holds no numbers: it has no gradient")

    def _check_scalars(self, specs: dict[str, Spec]) -> None:
        for name, spec in specs.items():
            if not isinstance(spec, ScalarSpec):
                raise UnsupportedError(
                    f"{name} of {self.name} is an array, but a @vectorize function is taken "
                    "as the function of scalars it is written as",
                    advice="call it with scalars, or write the same lines as a plain function",
                )

    def _count(self, previous: Specialization, args: tuple[Any, ...]) -> None:
        self.compilations += 1
        if self.compilations >= RECOMPILATION_LIMIT and not self.warned:
            self.warned = True
            warnings.warn(
                f"{self.name} was compiled {self.compilations + 1} times for arguments of the "
                f"same types; what keeps changing is {previous.broken_guard(args)}",
                RecompilationWarning,
                stacklevel=2,
            )


FLOATS_ONLY = "gradients are taken with respect to floats; choose them with wrt="


def stand_in(value: Any) -> Any:
    """A value that specialises as `value` does and does not keep its arrays alive."""
    if type(value) is np.ndarray or hasattr(type(value), "_s2s_device"):
        return np.broadcast_to(np.zeros((), value.dtype), value.shape)
    if type(value) in (list, tuple):
        return type(value)(map(stand_in, value))
    if type(value) is dict:
        return {key: stand_in(part) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(stand_in, value))
    return value


def _pipeline() -> Any:
    """The compiler, which a warm process does not load."""
    from ..transforms import pipeline

    return pipeline


def looks_decorated(function: types.FunctionType) -> bool:
    """True if the function's own name resolves to an s2s object made from it."""
    name = function.__name__
    found = function.__globals__.get(name)
    if name in function.__code__.co_freevars and function.__closure__ is not None:
        cell = function.__closure__[function.__code__.co_freevars.index(name)]
        try:
            found = cell.cell_contents
        except ValueError:  # not assigned yet
            return False
    return hasattr(found, "_s2s_mode") and getattr(found, "__wrapped__", None) is function


def specialiser_for(
    target: bind_arguments.Target, mode: str, options: Options, method: bool
) -> Specialiser:
    """The unique specialiser for a function, mode and options, so that `s2s.grad(f)` evaluated in
    each iteration of a loop compiles only once."""
    function = target.function
    binder = bind_arguments.Binder(function)
    wrt: tuple[str, ...] = ()
    if mode == "vjp":
        names = binder.countable(target, method)
        wrt = bind_arguments.resolve_wrt(options.wrt, names, function.__qualname__)
    has_aux = options.has_aux and mode == "vjp"
    options = replace(options, wrt=wrt, has_aux=has_aux, backend=None, calls=choose_calls())
    # Stored in the function's own dict, so that both have the same lifetime.
    known = vars(function).setdefault("__s2s__", {})
    key = (mode, options, target.vectorized)
    found = known.get(key)
    # functools.wraps copies the dict of a function to another function.
    if found is None or found.function is not function:
        found = Specialiser(function, binder, mode, options, target.vectorized)
        vars(function)["__s2s__"] = {k: v for k, v in known.items() if v.function is function} | {
            key: found
        }
    return found

"""The oracle of the batch pass: a batched function must give the results of each element alone."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from s2s.call import bind_arguments
from s2s.call.guards import PathResolver
from s2s.dispatch.specializations import Options, specialiser_for
from s2s.transforms.batch import batch
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.nodes import Module, is_float
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.pipeline import Request, _specialise
from s2s.transforms.specialise import Specialised
from tests.corpus import Call as maker
from tests.corpus import Case

ELEMENTS = 5  # differs from all sizes in the programs, so that axes cannot be confused


def specialised(case: Case, n: int, dtype: Any = np.float64) -> tuple[Specialised, list[Any]]:
    """A corpus program in value form, and the values of its parameters."""
    args, kwargs = case.arguments(n, dtype)
    target = bind_arguments.unwrap(case.function)
    made = specialiser_for(target, "primal", Options(static=case.static), False)
    bound = made.binder.bind(tuple(args), kwargs)
    static = tuple((("arg", name),) for name in case.static)
    request = Request(case.function, made.describe(bound), made.named(bound), static=static)
    spec = _specialise(request)
    reach = PathResolver(case.function, tuple(made.binder.names))
    return spec, [np.copy(reach.value(bound, p.path))[()] for p in spec.params]


def case_of(function: Any, args: Sequence[Any]) -> Case:
    """A corpus case made from a function."""
    makers = tuple(maker(lambda rng, n, dtype, v=v: v) for v in args)
    return Case(function, makers, {}, (), False, (), (0,), notes={"seed": 0})


def vary(value: Any, k: int) -> Any:
    """A variation of the value for element `k`; element 0 has the value itself."""
    dtype = np.asarray(value).dtype
    if dtype.kind == "f":
        return np.asarray(value * (1 + k / 8) + k / 64, dtype)[()]
    return value - k % 2 if dtype.kind == "i" and np.all(value > 0) else value


def outcome(module: Module, args: Sequence[Any]) -> Any:
    """The results and effects of a run, or the type of the error raised."""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            return evaluate(module, *args)
        except AssertionError:
            raise
        except Exception as error:
            return type(error)


def check_batch(
    module: Module, values: Sequence[Any], mapped: Sequence[str], facts: Facts | None = None
) -> Module:
    main = module.main
    names = [p.name for p in main.params]
    singles = []
    for k in range(ELEMENTS):
        args = [vary(v, k) if n in mapped else v for n, v in zip(names, values, strict=True)]
        singles.append((args, outcome(module, args)))
    made = module.with_main(batch(main, mapped, Dim.of("lanes.0"), facts))
    stacked = [
        np.stack([args[i] for args, _ in singles]) if n in mapped else values[i]
        for i, n in enumerate(names)
    ]
    got = outcome(made, stacked)
    errors = [out for _, out in singles if isinstance(out, type)]
    if errors:
        assert got in errors, f"{got} instead of {errors}"
        return made
    assert not isinstance(got, type), f"raises {got}"
    batched = made.main.notes["batched"]
    for i, value in enumerate(got[0]):
        wants = [out[0][i] for _, out in singles]
        want = np.stack(wants) if i in batched else wants[0]
        same(value, want)
    for name, value in got[1].items():
        wants = [out[1][name] for _, out in singles]
        same(value, np.stack(wants) if name in mapped else wants[0])
    return made


def same(got: Any, want: Any) -> None:
    if isinstance(want, list):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
        return
    assert np.shape(got) == np.shape(want), (np.shape(got), np.shape(want))
    assert np.asarray(got).dtype == np.asarray(want).dtype
    rtol = 1e-9 if np.asarray(want).dtype != np.float32 else 1e-4
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol / 10)


def floats(spec: Specialised) -> list[str]:
    return [p.name for p in spec.params if is_float(p.type)]

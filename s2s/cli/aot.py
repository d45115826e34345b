"""`s2s aot`: compile functions, gradients and training steps into a library for C."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..transforms.frontend.derivative_spec import DIRECTED
from ..transforms.ir.quote import printable_lines
from .argument_syntax import SignatureMaker
from .default_arguments import arguments, sizes
from .exit_codes import OK, CommandError
from .json_output import as_json
from .loaded_function import Subject, add_mode, subject
from .target_path import split

if TYPE_CHECKING:
    from ..aot import Built


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "functions", metavar="FILE.py:FUNC", nargs="+",
        help="functions to compile; NAME=FILE.py:FUNC gives one a name",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="FOLDER/NAME",
        help="folder and name of the library (build/NAME)",
    )  # fmt: skip
    parser.add_argument(
        "--args", metavar="TYPES", action="append", default=[],
        help='"float32[n,784], int64[n]", once per function: named sizes are run-time sizes; '
        "a semicolon separates several signatures",
    )  # fmt: skip
    parser.add_argument(
        "--example", metavar="[FILE.py:]MAKE", action="append", default=[],
        help="a function that returns example arguments, once per function",
    )  # fmt: skip
    parser.add_argument("--wrt", metavar="NAMES", help="differentiate with respect to these")
    parser.add_argument("--size", metavar="NAME=N", action="append", default=[],
                        help="a constant for a named size")  # fmt: skip
    add_mode(parser)
    parser.add_argument("--cpu", metavar="NAME", help="x86-64-v3, cortex-a72, …; this machine's")
    parser.add_argument("--target", metavar="TRIPLE", help="aarch64-linux-gnu, …; this machine")
    parser.add_argument("--blas", metavar="NAME", help="take matrix products from this library")
    parser.add_argument(
        "--max-trips", type=int, metavar="N",
        help="an upper bound for trip counts that are known only at run time",
    )  # fmt: skip
    parser.add_argument("--no-link", action="store_true", help="do not link a shared library")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from ..aot import build

    wanted = dict(_wanted(options))
    if len(wanted) < len(options.functions):
        raise CommandError("two functions have one name", "name them: first=model.py:step")
    out = Path(options.output or Path("build") / next(iter(wanted)))
    if len(wanted) == 1:  # a single function has the name of the library
        wanted = {out.name: next(iter(wanted.values()))}
    built = build(
        wanted, out=out, cpu=options.cpu, target=options.target, blas=options.blas,
        max_trips=options.max_trips,
        link=not options.no_link,
    )  # fmt: skip
    print(as_json(as_data(built)) if options.json else printable_lines(str(built)))
    return OK


def _wanted(options: argparse.Namespace) -> Iterator[tuple[str, tuple[Any, list[Any]]]]:
    """Each function by its name in the library, with its signatures."""
    texts, makers = options.args, options.example
    if max(len(texts), len(makers)) > len(options.functions):
        raise CommandError("there are more arguments than functions", "give --args once for each")
    for k, text in enumerate(options.functions):
        name, sign, function = text.partition("=")
        if not sign or not name.isidentifier():
            name, function = "", text
        one = argparse.Namespace(
            function=function, wrt=options.wrt, mode=options.mode, size=options.size,
            args=None, example=makers[k] if k < len(makers) else None,
        )  # fmt: skip
        given = texts[k].split(";") if k < len(texts) and texts[k] else [None]
        found, compiled = [], None
        for signature in given:
            one.args = signature
            about = subject(one)
            found.append(_signature(one, about))
            compiled = about.compiled
        yield name or _name(function), (compiled, found)


def _name(function: str) -> str:
    """`step` of `model.py:Model().step`, `make_step` of `model.py:make_step(10)`."""
    _, expression = split(function)
    last = expression.split("(")[0] if expression.endswith(")") else expression.rpartition(".")[2]
    name = last.rpartition(".")[2]
    return name if name.isidentifier() else "step"


def _signature(options: argparse.Namespace, about: Subject) -> tuple[Any, ...]:
    """The signature for `aot.build`: types with named sizes, or example values where the arguments
    have no type syntax (objects, --example, directional modes)."""
    args, kwargs = about.args, about.kwargs
    if options.example is None and options.mode not in DIRECTED:
        signer = SignatureMaker(sizes(options.size), about.target.evaluate)
        typed, kwargs = arguments(options, about.target, signer, [])
        args = tuple(t if _is_plain(t) else e for t, e in zip(typed, args))
    if kwargs:
        raise CommandError(
            f"{about.name}: {next(iter(kwargs))} is given by name",
            "give arguments in order, and those before it, too",
        )
    return args


def _is_plain(value: Any) -> bool:
    """True if the type syntax covers a value: not for dataclasses and named tuples."""
    if type(value) in (tuple, list, dict):
        return all(map(_is_plain, value.values() if isinstance(value, dict) else value))
    return not hasattr(value, "__dataclass_fields__") and not isinstance(value, tuple)


def as_data(built: Built) -> dict[str, Any]:
    return {
        "name": built.name,
        "files": {kind: str(path) for kind, path in built.files.items()},
        "functions": built.functions,
        "workspace": built.workspace,
        "state_bytes": built.state_bytes,
    }

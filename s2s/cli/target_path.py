"""Resolve `FILE.py:FUNC`: import the file and evaluate FUNC in its namespace.

FUNC is a name, a dotted name (`Model.step`), or any expression that evaluates to a function, such
as a call of a factory, `make_step(10)`, or an element of its result, `make()[1]`.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..api.functions import Function
from ..call import bind_arguments
from ..transforms.ir.quote import file_name
from .exit_codes import USER_ERROR, CommandError


@dataclass
class Target:
    """A resolved FILE.py:FUNC: the file or module name, the module, the text of FUNC, and its
    value."""

    place: str
    module: types.ModuleType
    expression: str
    value: Any

    @property
    def file(self) -> str:
        return self.module.__file__ or self.module.__name__

    @property
    def label(self) -> str:
        return f"{file_name(self.file)}:{self.expression}"

    def evaluate(self, expression: str) -> Any:
        """Evaluate an expression in the namespace of the file."""
        return evaluate(self.module, self.place, expression)


def find(text: str) -> Target:
    """Resolve `FILE.py:FUNC` or `package.module:FUNC`."""
    place, expression = split(text)
    module = load(place)
    if not expression:
        names = functions_in(module.__file__)
        raise CommandError(
            f"{place}: which function?", f"write {place}:NAME{_listed(names, ', where NAME is ')}"
        )
    return Target(place, module, expression, _function(module, place, expression))


def split(text: str) -> tuple[str, str]:
    """Split into the file or module, and the expression."""
    before, dot, after = text.partition(".py:")
    if dot:
        return f"{before}.py", after.strip()
    if text.endswith(".py"):
        return text, ""
    place, _, expression = text.rpartition(":")
    return (place, expression.strip()) if place else (text, "")


# ---------------------------------------------------------------- module


def load(place: str) -> types.ModuleType:
    """Import a file under its dotted module name, as part of its package if it has one; or import a
    module by name."""
    if not place.endswith(".py"):
        with user_code(place):
            try:
                return importlib.import_module(place)
            except ModuleNotFoundError as error:
                if error.name is None or not place.startswith(error.name):
                    raise
        raise CommandError(
            f"{place}: there is no such file or module", "write FILE.py:FUNC or package.module:FUNC"
        )
    path = Path(place).expanduser().resolve()
    if not path.is_file():
        near = difflib.get_close_matches(path.name, _python_files(path.parent))
        raise CommandError(f"{place}: there is no such file", _listed(near, "did you mean "))
    root, name = _module_name(path)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    if known is not None or name in sys.stdlib_module_names:
        name = f"_{name}_of_the_command_line"  # avoids a clash with an existing module
    with user_code(place):
        if "." in name:
            return importlib.import_module(name)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module


def _python_files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob("*.py")) if folder.is_dir() else []


def _module_name(path: Path) -> tuple[Path, str]:
    """The import root of a file, and its dotted module name there."""
    root, parts = path.parent, [] if path.stem == "__init__" else [path.stem]
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


@contextlib.contextmanager
def user_code(what: str) -> Iterator[None]:
    """Context for running user code.  Its output goes to stderr, because stdout is reserved for the
    command.  An exception becomes a CommandError with the user's traceback."""
    argv, sys.argv = sys.argv, [what]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (CommandError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if isinstance(error, Exception) and getattr(error, "advice", None) is not None:
            raise  # an s2s error, which has a source location already
        raise CommandError(_trace(error) + f"\n{what} raised an error", code=USER_ERROR) from error
    finally:
        sys.argv = argv


def _trace(error: BaseException) -> str:
    """The traceback without the frames of this package and of importlib."""
    ours = (os.path.dirname(__file__), "<frozen importlib")
    frames = list(traceback.extract_tb(error.__traceback__))
    while frames and frames[0].filename.startswith((*ours, importlib.__file__)):
        frames = frames[1:]
    text = traceback.format_list(frames) + traceback.format_exception_only(error)
    return "".join(["Traceback (most recent call last):\n", *text]).rstrip()


# ---------------------------------------------------------------- function


def _function(module: types.ModuleType, place: str, expression: str) -> Any:
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise CommandError(
            f"{expression}: not a name or expression ({error.msg})", "write FILE.py:FUNC"
        ) from None
    value = evaluate(module, place, expression)
    if isinstance(tree, ast.Attribute) and _needs_self(value):
        value = _of_instance(module, place, tree, value)
    if isinstance(value, type) or not callable(value):
        kind = "a class" if isinstance(value, type) else f"a {type(value).__name__}"
        advice = "name a function"
        if isinstance(value, type):
            methods = [n for n, m in vars(value).items() if _is_function(m) and n[0] != "_"]
            advice = f"name a method{_listed([f'{expression}.{m}' for m in methods], ': ')}"
        raise CommandError(f"{place}: {expression} is {kind}, not a function", advice)
    return value


def evaluate(module: types.ModuleType, place: str, expression: str) -> Any:
    """Evaluate an expression in the namespace of a module.  An undefined name is reported with
    similar names."""
    with user_code(f"{place}:{expression}"):
        try:
            return eval(compile(expression, f"<{expression}>", "eval"), vars(module))
        except NameError as error:
            if error.name is None or error.name not in expression:
                raise
            names = functions_in(module.__file__)
            near = difflib.get_close_matches(error.name, names) or names
            raise CommandError(
                f"{place}: there is no {error.name}", _listed(near, "did you mean ")
            ) from None
        except AttributeError as error:
            holder, name = error.obj, error.name or ""
            if holder is None or not expression.endswith(f".{name}"):
                raise
            near = difflib.get_close_matches(name, [n for n in dir(holder) if n[0] != "_"])
            raise CommandError(
                f"{place}: {expression.removesuffix('.' + name)} has no {name}",
                _listed(near, "did you mean "),
            ) from None


def _of_instance(module: types.ModuleType, place: str, tree: ast.Attribute, value: Any) -> Any:
    """`Model.step` bound to a new instance, if the class needs no arguments."""
    owner = evaluate(module, place, ast.unparse(tree.value))
    if not isinstance(owner, type):
        return value
    name = ast.unparse(tree)
    if any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
           for p in _parameters(owner)):  # fmt: skip
        raise CommandError(
            f"{place}: {name} is a method, and {owner.__name__} needs arguments",
            f"name an object: {place}:{ast.unparse(tree.value)}(...).{tree.attr}",
        )
    return evaluate(module, place, f"{ast.unparse(tree.value)}().{tree.attr}")


def _parameters(owner: type) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(owner).parameters.values())
    except (TypeError, ValueError):
        return []


def _needs_self(value: Any) -> bool:
    if isinstance(value, Function):
        return value._shared.method and not value._prefix
    return isinstance(value, types.FunctionType) and bind_arguments.is_method(value)


def _is_function(value: Any) -> bool:
    return isinstance(value, (types.FunctionType, Function, staticmethod, classmethod))


def functions_in(file: str | None) -> list[str]:
    """The dotted names of the public functions and methods that a file defines.  The file is
    parsed, not executed."""
    try:
        tree = ast.parse(Path(file or "").read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
            found.append(node.name)
        elif isinstance(node, ast.ClassDef) and node.name[0] != "_":
            methods = (n for n in node.body if isinstance(n, ast.FunctionDef))
            found += [f"{node.name}.{m.name}" for m in methods if m.name[0] != "_"]
    return found


def _listed(names: list[str], before: str) -> str:
    return before + ", ".join(names[:8]) + (", …" if len(names) > 8 else "") if names else ""

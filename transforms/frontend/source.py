"""Find and parse the text of one function.

The file as it is now is compiled, and the code object of the function is looked up in it: a file
that was edited since it was loaded is refused unless it still contains the same code.  The text of
code that is in no file is looked up among those that users gave (`given_texts`).  Then the lines of
this function alone are parsed, by libcst.
"""

from __future__ import annotations
import __future__

import functools
import hashlib
import inspect
import io
import itertools
import re
import types
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..ir.errors import SourceError, UnsupportedError
from ..ir.nodes import Span
from ..ir.quote import printable
from ..ir.record import field, record
from ..syntax import core as c
from ..syntax.cst_parser import parse_module
from ..syntax.traverse import walk
from . import given_texts, parse_cache

if TYPE_CHECKING:
    from .cst_to_core import Translator

NOT_AVAILABLE = "source not available"
HOW_TO_GIVE = "save it to a file, use IPython, or give its text: s2s.grad(f, source=text)"


@record
class Source:
    """The text of one function.  `first` and `last` are its lines in `file`, whose lines are
    `lines`.  `node` is the function as it was written, without any desugaring."""

    file: str
    lines: list[str]
    node: c.Func
    first: int
    last: int
    comments: dict[int, tuple[int, str]] = field(default_factory=dict)  # line -> column, text
    checked: c.Func | None = None  # `node` after `check_subset`
    _spans: dict[c.At, Span] = field(default_factory=dict)

    def line(self, number: int) -> str:
        return self.lines[number - 1].rstrip("\n") if 0 < number <= len(self.lines) else ""

    def span(self, node: c.Node) -> Span:
        found = self._spans.get(node.at)
        if found is None:
            found = self._spans[node.at] = Span(self.file, *node.at)
        return found

    def text(self, span: Span) -> str:
        """The user's own text of a span; its later lines keep their indentation."""
        if span.line == span.end_line:
            return self.line(span.line)[span.col : span.end_col]
        middle = [self.line(n) for n in range(span.line + 1, span.end_line)]
        return "\n".join(
            [self.line(span.line)[span.col :], *middle, self.line(span.end_line)[: span.end_col]]
        )

    def without_comments(self, span: Span) -> str:
        """The text of a span on one line."""
        parts = self.text(span).split("\n")
        for k in range(len(parts)):
            column, comment = self.comments.get(span.line + k, (0, ""))
            if comment and k < len(parts) - 1:  # none follows within the last line of a span
                parts[k] = parts[k][: column - (span.col if k == 0 else 0)]
        return " ".join(filter(None, (part.strip() for part in parts)))

    def tree(self) -> Translator | None:
        """The statement that the function is, parsed again for printing; None for a lambda."""
        if self.node.is_lambda:
            return None
        # The whole file if the last line ends in a backslash.
        return _first_parsed(self.lines, [(self.first, self.last), (1, len(self.lines))], None)


def read(function: Any) -> Source:
    """The source of a Python function, or a SourceError that says why there is none."""
    given = getattr(function, "_s2s_source", None)  # of a function made from part of another
    if given is not None:
        return given
    name = getattr(function, "__qualname__", repr(function))
    lines, file = text_of(function, name)
    code: types.CodeType = function.__code__
    text = "".join(lines)
    try:
        key = cache_key(code)
        kept = parse_cache.get(text, key)
        if kept is not None:
            return Source(file, lines, *kept)
        now = code_now(code, file, text)
        found = _found(function, code, now, file, lines)
    except RecursionError as error:
        raise too_deep(name, file, lines, code.co_firstlineno) from error
    if found is None and file.startswith("<"):
        # From Python 3.13 on `<string>` is what `python -c` was given, whatever was executed since.
        raise SourceError(f"{name}: {NOT_AVAILABLE}", advice=HOW_TO_GIVE)
    if found is None and now is not None:
        span, line = _line(file, lines, now.co_firstlineno)
        raise SourceError(
            f"{name} cannot be parsed",
            span=span,
            source_line=line,
            advice="write its statements in their usual form, and each lambda on a line of its own",
        )
    if found is None:
        raise SourceError(
            f"{name}: its source in {file} has changed since it was loaded",
            advice="reload the module, or restart Python",
        )
    parse_cache.put(text, key, (found.node, found.first, found.last, found.comments))
    return found


def _found(
    function: Any,
    code: types.CodeType,
    now: types.CodeType | None,
    file: str,
    lines: list[str],
) -> Source | None:
    """The source of a function whose code in the file as it is now is `now`; None if it is not
    there."""
    if now is not None:
        return _parsed(now, file, lines)
    nearby = _parsed(code, file, lines)
    if nearby is None or not any(isinstance(n, c.Assert) for n in walk(nearby.node)):
        return None
    return nearby if is_rewritten(function.__globals__) else None


def too_deep(
    name: str, file: str, lines: list[str], line: int, done: str = "read"
) -> UnsupportedError:
    """The error for a text that nests more deeply than Python's stack allows to read or compile."""
    span, text = _line(file, lines, line)
    return UnsupportedError(
        f"{name} nests expressions, blocks or calls too deeply to be {done}",
        span=span,
        source_line=text,
        advice="split long expressions into several statements, and write repeated ones as a loop",
    )


def _line(file: str, lines: list[str], line: int) -> tuple[Span, str]:
    """The place and the text of a line."""
    text = lines[line - 1].rstrip() if 0 < line <= len(lines) else ""
    return Span(file, line, len(text) - len(text.lstrip()), line, len(text)), text


def cache_key(code: types.CodeType, *more: Any) -> str:
    """The key of what is parsed for a code, in the text of its file."""
    parts = repr((code.co_firstlineno, _key(code), *more))
    return hashlib.sha256(parts.encode(errors="surrogatepass")).hexdigest()[:32]


def function_at(file: str, lines: list[str], line: int) -> Source | None:
    """The innermost function of a file that contains a line."""
    found = [code for several in codes(file, "".join(lines)).values() for code in several]
    found = [k for k in found if k.co_firstlineno <= line and k.co_name != "<module>"]
    for code in sorted(found, key=lambda k: -k.co_firstlineno):
        source = _parsed(code, file, lines)
        if source is not None and line <= source.last:
            return source
    return None


def text_of(thing: Any, name: str) -> tuple[list[str], str]:
    """The lines and the name of the file that a function or a code object stands in."""
    code = getattr(thing, "__code__", thing)
    if isinstance(code, types.CodeType):
        for file, lines in given_texts.given(code.co_filename):
            if code_now(code, file, "".join(lines)) is not None:
                return lines, file
    try:
        lines, _ = inspect.findsource(thing)
        return lines, inspect.getsourcefile(thing) or code.co_filename
    except (OSError, TypeError, IndexError):
        raise SourceError(f"{name}: {NOT_AVAILABLE}", advice=HOW_TO_GIVE) from None


def give_text(code: types.CodeType, text: str, name: str) -> tuple[str, list[str]]:
    """Remember the text that a code was compiled from, for itself and for what else was: the name
    by which places refer to the text, and its lines.  A text without this code is refused."""
    lines = io.StringIO(text, newline=None).readlines()
    own = given_texts.own_name(code.co_filename, text)
    if code_now(code, own, text) is None:
        raise SourceError(
            f"{name}: the given source does not contain this function",
            advice="give the text that was executed, unchanged",
        )
    given_texts.add(code.co_filename, own, lines)
    return own, lines


# ---- the code as the file has it now


def code_now(code: types.CodeType, file: str, text: str) -> types.CodeType | None:
    """The code in the text as it is now that equals the given one, the nearest if there are
    several; None if there is none, because the text was changed since."""
    future = code.co_flags & _FUTURE
    same = [
        now for now in codes(file, text, future).get(code.co_name, ()) if _key(now) == _key(code)
    ]
    return min(same, key=lambda now: abs(now.co_firstlineno - code.co_firstlineno), default=None)


def is_rewritten(module: dict[str, Any]) -> bool:
    """Whether the module with these globals was loaded by something that may rewrite `assert`
    (pytest does), so that the code of a function that has one is not what Python makes of it."""
    loader = type(module.get("__loader__")).__module__
    # `builtins`: there is no loader, or it is a class of Python's own.
    plain = ("importlib.", "_frozen_importlib", "zipimport", "builtins")
    return not loader.startswith(plain)


@functools.lru_cache(maxsize=32)
def codes(file: str, text: str, future: int = 0) -> dict[str, list[types.CodeType]]:
    """The code of all functions in a text, by name.  `future` are flags of `from __future__ import`
    that executed text takes over from the module that executes it."""
    found: dict[str, list[types.CodeType]] = {}
    for code, _ in _codes_in_classes(file, text, future):
        found.setdefault(code.co_name, []).append(code)
    return found


@functools.lru_cache(maxsize=32)
def _codes_in_classes(file: str, text: str, future: int = 0) -> list[tuple[types.CodeType, str]]:
    """All code in a text, each with the name of the innermost class around it."""
    try:
        flags = _TOP_LEVEL_AWAIT | future
        whole = compile(text, printable(file), "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = error.msg if isinstance(error, SyntaxError) else error
        raise SourceError(f"{file}: {NOT_AVAILABLE} ({message})") from None
    found: list[tuple[types.CodeType, str]] = []
    todo = [(whole, "")]
    while todo:
        code, around = todo.pop()
        found.append((code, around))
        if not code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<"):
            around = code.co_name  # it is the body of a class
        todo += [(k, around) for k in code.co_consts if isinstance(k, types.CodeType)]
    return found


_TOP_LEVEL_AWAIT = 0x2000  # `ast.PyCF_ALLOW_TOP_LEVEL_AWAIT`, which IPython's cells may use

_FUTURE = __future__.annotations.compiler_flag  # other features are always on

# Of a code's flags those that its text decides: `*args`, `**kwargs`, generators and coroutines.
_FLAGS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE


def _key(code: types.CodeType) -> Any:
    """What a code does, wherever it stands."""
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    constants = tuple(map(_constant_key, code.co_consts))
    return code.co_name, code.co_code, names, counts, code.co_flags & _FLAGS, constants


def _constant_key(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return _key(value)
    if isinstance(value, tuple):
        return tuple(map(_constant_key, value))
    if isinstance(value, frozenset):
        # Sorted: the order of a set differs between processes, and keys are kept on disk.
        return frozenset, *sorted(repr(_constant_key(part)) for part in value)
    return type(value), repr(value)  # which tells 1 from True, and 0.0 from -0.0


# ---- parsing one function's own lines


def _parsed(now: types.CodeType, file: str, lines: list[str]) -> Source | None:
    """The source of the function whose code, in these lines, is `now`."""
    import libcst as cst

    translator = parse_around(now, file, lines, now.co_firstlineno)
    if translator is None:
        return None
    found = translator.recorder.found
    if now.co_name == "<lambda>":
        node = _lambda(found[cst.Lambda], translator, now, lines)
    else:
        node = _definition(found[cst.FunctionDef], translator, now)
    if node is None:
        return None
    func = translator.function(node)
    first = func.line if func.is_lambda else now.co_firstlineno
    return Source(
        file, lines, func, first, func.end_line, translator.comments(first, func.end_line)
    )


def parse_around(code: types.CodeType, file: str, lines: list[str], line: int) -> Translator | None:
    """The statement around a line of the function with a code (or of a module), parsed."""
    own = not code.co_name.startswith("<")
    tries = _definition_lines(lines, code.co_firstlineno) if own else _enclosing_lines(lines, line)
    # The whole file, for statements that `tries` does not delimit.
    everywhere = itertools.chain(tries, [(1, len(lines))])
    return _first_parsed(lines, everywhere, lambda: mangler(code, file, lines))


def _first_parsed(
    lines: list[str], tries: Iterable[tuple[int, int]], mangle: Callable[[], Any] | None
) -> Translator | None:
    """The first of some ranges of lines that can be parsed."""
    import libcst as cst

    from .cst_to_core import Translator

    for first, last in tries:
        # Indentation counts from the last form feed, which libcst accepts between lines only.
        text = _FORM_FEED.sub("", "".join(lines[first - 1 : last]))
        indented = text[:1] in " \t\f"
        try:
            module = parse_module(f"if 1:\n{text}" if indented else text)
        except cst.ParserSyntaxError:
            continue
        return Translator(module, first - indented, mangle and mangle())
    return None


def parsed(text: str) -> c.Block:
    """Statements that have no file."""
    from .cst_to_core import Translator

    module = parse_module(text)
    return Translator(module).block(module)


_FORM_FEED = re.compile(r"\A[ \t\f]*\f")
MOST_TRIES = 200  # candidates for the last line of a definition
MOST_STARTS, MOST_ENDS = 20, 8  # candidates for the first and last line of a statement


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _definition_lines(lines: list[str], first: int) -> Iterator[tuple[int, int]]:
    """Candidates for the lines of the definition that begins (with its decorators) at a line: it
    ends before a line that is indented no more.  Such a line may also stand inside of brackets or
    of a string; then the candidate cannot be parsed."""
    if not 0 < first <= len(lines):
        return
    indent, tries = _indent(lines[first - 1]), 0
    last = first
    for number in range(first + 1, len(lines) + 1):
        line = lines[number - 1]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if _indent(line) <= indent:
            yield first, last
            tries += 1
            if tries == MOST_TRIES:
                break
        last = number
    yield first, len(lines)


def _enclosing_lines(lines: list[str], line: int) -> Iterator[tuple[int, int]]:
    """Candidates for the lines of the outermost statement around a line."""
    starts = [
        number
        for number, text in enumerate(lines, 1)
        if text.strip() and text[0] not in " \t\f#)]}\n"
    ]
    before = [n for n in starts if n <= line] or [1]
    after = [*(n - 1 for n in starts if n > line), len(lines)]
    # A decorated definition begins above its `def`, a statement may contain lines without indent.
    for first in before[: -MOST_STARTS - 1 : -1]:
        for last in after[:MOST_ENDS]:
            yield first, last


def _definition(nodes: list[Any], translator: Translator, code: types.CodeType) -> Any:
    """The definition that a code object was compiled from.  Its first line is that of its first
    decorator."""
    for node in nodes:
        first = translator.at(node.decorators[0] if node.decorators else node)[0]
        name = unicodedata.normalize("NFKC", node.name.value)
        if name == code.co_name and first <= code.co_firstlineno <= translator.at(node)[0]:
            return node
    return None


def _lambda(
    nodes: list[Any], translator: Translator, code: types.CodeType, lines: list[str]
) -> Any:
    """The lambda that a code object was compiled from."""
    found = [n for n in nodes if translator.at(n)[0] == code.co_firstlineno]
    if len(found) > 1:
        exact = _around(found, translator, code, lines)
        exact = exact or [n for n in found if _same_key(n, code)]
        found = exact or [n for n in found if _same_code(n, code)]
    return found[0] if found else None


def character_column(line: str, offset: int) -> int:
    """The column in characters for an offset in UTF-8 bytes, which code objects count."""
    return offset if line.isascii() else len(line.encode()[:offset].decode(errors="replace"))


def _around(
    nodes: list[Any], translator: Translator, code: types.CodeType, lines: list[str]
) -> list[Any]:
    """The lambda whose body a code object was compiled from: the smallest that spans all of
    its instructions.  Python before 3.11 does not tell where they are."""
    positions: Callable[[], Any] = getattr(code, "co_positions", tuple)
    # Instructions that stand for the lambda as a whole have no columns.
    places = [p for p in positions() if None not in p and p[3]]

    def place(line: int, offset: int) -> tuple[int, int]:
        return line, character_column(lines[line - 1], offset)

    starts = [place(line, column) for line, _, column, _ in places]
    ends = [place(line, column) for _, line, _, column in places]

    def spans(node: Any) -> bool:
        line, column, end_line, end_column = translator.at(node.body)
        return (line, column) <= min(starts) and max(ends) <= (end_line, end_column)

    def size(node: Any) -> tuple[int, int]:
        line, column, end_line, end_column = translator.at(node)
        return end_line - line, end_column - column if end_line == line else 0

    fitting = [n for n in nodes if starts and spans(n)]
    return [min(fitting, key=size)] if fitting else []


def _same_key(node: Any, code: types.CodeType) -> bool:
    """Whether the text of a lambda, compiled where its free variables are known, gives a code that
    does the same."""
    import libcst as cst

    text = cst.Module([]).code_for_node(node)
    try:
        made = compile(f"lambda {', '.join(code.co_freevars)}: (\n{text})", "<lambda>", "eval")
    except SyntaxError:
        return False
    for _ in range(2):
        made = next(k for k in made.co_consts if isinstance(k, types.CodeType))
    return _key(made) == _key(code)


def _same_code(node: Any, code: types.CodeType) -> bool:
    """Whether the text of a lambda, compiled on its own, gives this code."""
    import libcst as cst

    try:
        made = compile(f"({cst.Module([]).code_for_node(node)})", "<lambda>", "eval")
    except SyntaxError:
        return False
    inner = next(k for k in made.co_consts if isinstance(k, types.CodeType))
    return (
        inner.co_varnames == code.co_varnames
        and _same_constants(inner, code)
        and len(inner.co_code) == len(code.co_code)
        and set(inner.co_names) <= set(code.co_names) | set(code.co_freevars)
    )


def _same_constants(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether the constants of two codes are equal, wherever the functions among them stand."""

    def key(value: Any) -> Any:
        if isinstance(value, types.CodeType):
            return value.co_name, value.co_varnames, tuple(map(key, value.co_consts))
        # The qualified name of an inner function says what is around it.
        return "" if isinstance(value, str) and "<lambda>" in value else _constant_key(value)

    return [*map(key, a.co_consts)] == [*map(key, b.co_consts)]


# ---- private names


def mangler(code: types.CodeType, file: str, lines: list[str]) -> Callable[[str], str] | None:
    """How the private names in the text of a code are mangled: in a class, `__name` stands for
    `_Class__name`.  None if the code has no such names."""
    names: set[str] = set()
    todo = [code]
    while todo:
        inner = todo.pop()
        names.update(inner.co_names, inner.co_varnames, inner.co_freevars, inner.co_cellvars)
        todo += [k for k in inner.co_consts if isinstance(k, types.CodeType)]
    if not any(map(_MANGLED.match, names)):
        return None
    place = code.co_name, code.co_firstlineno
    found = _codes_in_classes(file, "".join(lines))
    around = next((c for k, c in found if (k.co_name, k.co_firstlineno) == place), "").lstrip("_")
    return (lambda name: f"_{around}{name}") if around else None


_MANGLED = re.compile("_[^_].*__")

"""Names and file names are arbitrary strings and must not inject code into generated text.

Each hostile name goes into each kind of output.  The output is parsed by the language's own
parser and compared with the output for a harmless name.
"""

from __future__ import annotations

import ast
import html.parser
import io
import keyword
import linecache
import re
import shutil
import subprocess
import tokenize
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import s2s
from s2s import aot
from s2s.aot import c_names, header, python_loader, status_codes
from s2s.aot.build import _origin, _wanted
from s2s.aot.export_spec import describe
from s2s.aot.library_state import State
from s2s.cli import report_page, side_by_side_columns
from s2s.cli.report_data import ReportData
from s2s.inspect.notebook import coloured, highlighted, sides_of
from s2s.inspect.side_by_side import sides
from tests.scale import sample

HOSTILE = [
    '"""\nimport os\nos.abort()\n"""',
    "'''\nraise SystemExit\n'''",
    "*/ int injected; /*",
    "/* nested",
    "line\nbreak()",
    "carriage\rreturn()",
    "back\\",
    "back\\\n#define step hidden",
    "??/\n#error trigraph",
    '#line 7 "other"\n#error here',
    "//continued \\",
    'quote"; system("id"); "',
    "it's",
    "percent %s %n %%",
    "brace {0} {name}",
    "nul\0byte",
    "surrogate \udc80",
    "\u202egnirts\u202c rtl",
    "\x1b[31mred\x1b[0m\x07\x1b]0;title\x07",
    "line\u2028separator\u2029x\x85y\x0bz\x0c",
    "<script>alert(1)</script>",
    "</style></script><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "&lt;entity&amp;",
    "coding: utf-7",
    "coding=utf_16",
    "[bold red]markup[/]",
    "[link=file:///etc/passwd]x[/link]",
    "ünïcødé μ",
    "model (copy).py",
    "",
]
HARMLESS = "model"

TEXT: str = """
import numpy as np

def helper(a):
    return np.sin(a) * 2.0

def f(x, i):
    # a comment of the user's
    y = np.exp(x) * helper(x)
    if i > 3:
        raise ValueError("too many")
    return np.sum(y) * x[i]
"""


def function(name: str, folder: str = "") -> Any:
    """A function with the file name and qualified name `name`."""
    file = f"{folder}{name}.py"
    lines: list[str] = TEXT.splitlines(True)
    linecache.cache[file] = (len(TEXT), None, lines, file)
    space: dict[str, Any] = {"__name__": "hostile"}
    exec(compile(TEXT, file.replace("\0", "0"), "exec"), space)
    made = space["f"]
    for one in (made, space["helper"]):
        one.__code__ = one.__code__.replace(co_filename=file)
        one.__qualname__ = name
    made.__name__ = name
    return made


def gradient(name: str) -> Any:
    made = s2s.value_and_grad(function(name), backend="loops")
    made(np.ones(4), 1)
    return made


def tree(text: str) -> str:
    """The syntax tree of a module, with all error messages replaced by one text."""
    parsed = ast.parse(text)
    for node in ast.walk(parsed):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = "text"
    return ast.dump(parsed)


def is_clean(text: str) -> bool:
    """No control characters besides line breaks and tabs, no surrogates."""
    return all(c.isprintable() or c in "\n\t" for c in text)


# ---------------------------------------------------------------- Python


@pytest.mark.parametrize("name", sample(HOSTILE, 12), ids=ascii)
def test_emitted_python_is_the_same_program(name: str) -> None:
    good, bad = gradient(HARMLESS), gradient(name)
    for text, other in ((bad.source, good.source), (bad.lowered, good.lowered)):
        assert tree(text) == tree(other)
        assert is_clean(text)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(text.encode()).readline)
        assert encoding == "utf-8"
        assert len(text.splitlines()) == len(other.splitlines())


@pytest.mark.parametrize("name", sample(HOSTILE, 8, 1), ids=ascii)
def test_derived_functions_have_comments_only(name: str) -> None:
    texts = []
    for n in (HARMLESS, name):
        made = s2s.hvp(function(n), backend="loops")
        made(np.ones(4), np.ones(4), 1)
        texts.append(made.source)
        assert is_clean(texts[-1])
    good, bad = (tree(re.sub(r"def \w+", "def f", t)) for t in texts)
    assert good == bad


def test_a_function_not_yet_called_is_described_by_comments() -> None:
    for name in HOSTILE:
        text = s2s.grad(function(name)).source
        assert ast.parse(text).body == []
        assert is_clean(text)


@pytest.mark.parametrize("name", sample(HOSTILE, 8, 2), ids=ascii)
def test_error_messages_are_printable_and_have_a_place(name: str) -> None:
    made = gradient(name)
    with pytest.raises(IndexError) as caught:
        made(np.ones(2), 3)
    assert is_clean(str(caught.value))
    assert caught.value.line == 12  # type: ignore[attr-defined]
    with pytest.raises(s2s.S2SError) as refused:
        made(np.ones(2, np.int64), 1)
    assert is_clean(str(refused.value))
    assert is_clean(str(made.explain()))


# ---------------------------------------------------------------- HTML and terminals


class Tags(html.parser.HTMLParser):
    """The elements of a page, with the names of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[Any] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "i":  # highlighting depends on the text
            self.found.append((tag, [k for k, _ in attrs]))

    def handle_endtag(self, tag: str) -> None:
        if tag != "i":
            self.found.append(tag)


def page(name: str) -> str:
    made = gradient(name)
    compiled = _compiled(made)
    about: Any = SimpleNamespace(
        name=name, written=made.__wrapped__, compiled=made, wrt=("x",),
        target=SimpleNamespace(file=f"{name}.py"), given=lambda: {"x": name},
    )  # fmt: skip
    told = ReportData(
        about, compiled, sides(made.__wrapped__, compiled), made.explain(),
        [("first", name + "\n"), ("second", name + "!\n" + compiled.lowered)],
    )  # fmt: skip
    return report_page.page(told)


def _compiled(made: Any) -> Any:
    return made._entry_for((np.ones(4), 1), {}).compiled


@pytest.mark.parametrize("name", sample(HOSTILE, 8, 3), ids=ascii)
def test_pages_have_the_same_elements(name: str) -> None:
    def texts(n: str) -> list[str]:
        made = gradient(n)
        return [sides_of(made.__wrapped__, _compiled(made)), highlighted(made.source)]

    for good, bad in zip(texts(HARMLESS), texts(name)):
        assert Tags(bad).found == Tags(good).found
        assert is_clean(bad)
        bad.encode()
    whole = page(name)
    assert is_clean(whole)
    whole.encode()
    known = {str(t) for t in Tags(page(HARMLESS)).found}
    assert {str(t) for t in Tags(whole).found} <= known
    assert whole.count("<script") == 1


@pytest.mark.parametrize("name", sample(HOSTILE, 8, 4), ids=ascii)
def test_terminals_get_no_escapes(name: str, capsys: Any) -> None:
    from s2s.cli.terminal import Page

    made = gradient(name)
    both = sides(made.__wrapped__, _compiled(made))
    for out in (Page(200, True, False), Page(80, True, False)):
        out.title(name)
        out.code(name, "python")
        out.sides(both)
    assert is_clean(capsys.readouterr().out)
    assert is_clean(coloured(made.source))
    assert all(
        is_clean(side_by_side_columns.plain(row, 80)) for row in side_by_side_columns.paired(both)
    )


@pytest.mark.parametrize("name", sample(HOSTILE, 6, 5), ids=ascii)
def test_coloured_terminals_get_only_the_escapes_of_colours(name: str, capsys: Any) -> None:
    pytest.importorskip("rich")
    from s2s.cli.terminal import Page

    made = gradient(name)
    out = Page(200, True, True)
    out.title(name)
    out.code(name, "python")
    out.sides(sides(function(name, "/a folder/"), _compiled(made)))
    text = capsys.readouterr().out
    # Rich emits colours and links with percent-encoded targets.
    text = re.sub(r"\x1b\[[\d;]*m|\x1b\]8;[\w=;.-]*(?:file://[\w/.%#-]*)?\x1b\\", "", text)
    assert is_clean(text)


def test_the_command_reports_errors_without_escapes(tmp_path: Path, capsys: Any) -> None:
    from s2s.cli.main import main

    file = tmp_path / "\x1b[31mred.py"
    file.write_text("def f(x):\n    return undefined \x1b[0m\n")
    assert main(["show", f"{file}:f"]) != 0
    assert main(["show", "\x1b[31m.py:f"]) != 0
    assert is_clean(capsys.readouterr().err)


# ---------------------------------------------------------------- C


def interface(name: str, library: str = "step") -> dict[str, str]:
    """The text files of a library."""
    scale = s2s.Variable(np.ones(3), name=name)
    twin = s2s.Variable(np.ones(3), name=name + "_")
    made = function(name)

    def step(x: Any, table: Any) -> Any:
        return np.sum(x * scale.value * twin.value) * table[name]

    step.__qualname__ = name
    step.__code__ = step.__code__.replace(co_name="step")
    compiled = s2s.function(step)
    state = State()
    wanted = _wanted({library: (compiled, ("float64[n]", {name: "float64"}))}, None, library)
    one, [given] = wanted[library]
    export = describe(library, one, given, state)
    origin = f"{name}.py:1 {_origin(export)} {made.__qualname__}"
    messages = dict(status_codes.MESSAGES) | {16: f"ValueError: {name}", 17: f"{name}\\"}
    export.guards.append(("x", name))
    return {
        "h": header.text(library, origin, [export], state, messages, {library: 64}),
        "py": python_loader.text(library, origin, {library: [export]}, state, set()),
        "adjoint": export.entry.compiled.source,
    }


def syntax(text: str, folder: Path, *, before: str = "", after: str = "") -> None:
    """Compile a header as C and as C++, with all warnings as errors."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    (folder / "it.h").write_text(text)
    program = f'{before}#include "it.h"\n#include "it.h"\n{after}int used;\n'
    for language, standard in (("c", "c99"), ("c", "c17"), ("c++", "c++17")):
        file = folder / ("it.c" if language == "c" else "it.cpp")
        file.write_text(program)
        done = subprocess.run(
            ["cc", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic",
             "-fsyntax-only", str(file)],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[:2000]


def tokens(text: str) -> list[str]:
    """A header without comments and without the macro names of state slots."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"STEP_AT_\w+", "STEP_AT_X", text)
    text = re.sub(r"\btable_\w*", "table", text)
    return re.sub(r"INT64_C\(-?\d+\)", "LAYOUT", text).split()


@pytest.mark.parametrize("name", sample(HOSTILE, 8, 6), ids=ascii)
def test_headers_and_loaders_hold_nothing_else(name: str, tmp_path: Path) -> None:
    good, bad = interface(HARMLESS), interface(name)
    assert tokens(bad["h"]) == tokens(good["h"])
    assert is_clean(bad["h"]) and is_clean(bad["py"])
    syntax(bad["h"], tmp_path)

    def shape(text: str) -> list[Any]:
        """The syntax tree of a module, with all strings replaced by one text."""
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, (str, int)):
                node.value = "text"
            if isinstance(node, (ast.arg, ast.Name)) and node.__class__:
                name_ = "arg" if isinstance(node, ast.arg) else "id"
                if getattr(node, name_).startswith("table_"):
                    setattr(node, name_, "table")
        return [ast.dump(s) for s in tree.body]

    assert shape(bad["py"]) == shape(good["py"])


def test_a_library_with_a_hostile_origin_runs(tmp_path: Path) -> None:
    name = '"""\nraise SystemExit\n"""*/ int injected; /*'
    made = s2s.function(function(name))
    built = aot.build(made, "float64[n], int64", tmp_path / "step", link=bool(shutil.which("cc")))
    syntax((tmp_path / "step.h").read_text(), tmp_path)
    if shutil.which("cc"):
        x = np.arange(4.0)
        assert np.isclose(built.load().step(x, 2), made(x, 2))


# ---------------------------------------------------------------- identifiers

WORDS = ["int", "class", "template", "NULL", "linux", "unix", "i386", "errno", "and_eq", "_Bool",
         "__LINE__", "restrict", "nullptr", "offsetof", "I", "complex", "INT64_MAX", "stdin",
         "requires", "typeof", "bool", "state", "workspace", "workspace_bytes", "size_t", "near",
         "far", "min", "EOF", "lambda_", "char8_t", "asm", "fortran", "constinit"]  # fmt: skip


def _taking(parameters: list[str]) -> Any:
    text = f"def f({', '.join(parameters)}):\n    return {' + '.join(parameters)}\n"
    file = f"<taking {' '.join(parameters)[:200]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    return s2s.function(space["f"])


HEADERS = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg
stdbool stddef stdint stdio stdlib string tgmath time wchar wctype unistd fcntl sys/types sys/stat
""".split()


def macros() -> list[str]:
    """The object-like macros that a C compiler defines, or its headers do."""
    text = "".join(f"#include <{h}.h>\n" for h in HEADERS)
    done = subprocess.run(
        ["cc", "-std=gnu17", "-dM", "-E", "-"], input=text, capture_output=True, text=True
    )
    found = re.findall(r"^#define ([A-Za-z_]\w*) ", done.stdout, re.MULTILINE)
    return sorted(found)


def test_parameters_named_like_macros_and_keywords(tmp_path: Path) -> None:
    """The header compiles although all of them are defined as macros."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    every = sorted(n for n in {*sample(macros(), 300), *WORDS} if not keyword.iskeyword(n))
    parts = []
    for k in range(0, len(every), 50):
        state, library = State(), f"step{k}"
        given = _wanted(_taking(every[k : k + 50]), ", ".join(["float64"] * len(every[k : k + 50])),
                        library)[library][1][0]  # fmt: skip
        export = describe(library, _taking(every[k : k + 50]), given, state)
        parts.append(header.text(library, "x", [export], state, dict(status_codes.MESSAGES),
                                 {library: 64}))  # fmt: skip
    before = "".join(f"#include <{h}.h>\n" for h in HEADERS if h not in ("complex", "tgmath"))
    gnu = "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n"
    more = "#define near\n#define far\n#define min(a, b) 1\n#undef assert\n"
    syntax(
        "".join(parts),
        tmp_path,
        before=gnu + before + more,
    )


@pytest.mark.parametrize(
    "name", ["main", "NULL", "int", "class", "printf", "malloc", "read", "linux", "template",
             "errno", "_Exit", "__x", "lambda", "None", "exit", "memcpy", "sin", "μ", "a-b", "a b",
             "os", "np", "", "1x", "x\n", 'x");', "assert", "stdout"],
    ids=ascii,
)  # fmt: skip
def test_names_of_libraries_that_mean_something_else_are_refused(name: str, tmp_path: Path) -> None:
    made = s2s.function(lambda x: x * 2.0)
    with pytest.raises((ValueError, TypeError)):
        aot.build(made, "float64", tmp_path / name if name else "", link=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "key",
    ["x);", "a b", "", "μ", "class", "message", "init", "workspace", "None", "x\n"],
    ids=ascii,
)
def test_names_of_functions_are_identifiers_and_do_not_collide(key: str, tmp_path: Path) -> None:
    weight = s2s.Variable(1.0)
    made = s2s.function(lambda x: x * weight.value)
    functions = {key: (made, "float64"), "step": (made, "float64")}
    with pytest.raises((ValueError, TypeError)):
        aot.build(functions, out=tmp_path / "step", link=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", ["int", "lambda", "state", "NULL", "workspace", "class", "linux"])
def test_sizes_that_mean_something_else_are_refused(size: str, tmp_path: Path) -> None:
    made = s2s.function(lambda x: np.sum(x))
    with pytest.raises(TypeError):
        aot.build(made, f"float64[{size}]", tmp_path / "step", link=False)


def _places(variables: list[str]) -> dict[str, str]:
    """The macros for the offsets of state slots."""
    held = [s2s.Variable(np.full(3, float(k)), name=n) for k, n in enumerate(variables)]

    def step(x: Any) -> Any:
        total = x
        for v in held:
            total = total + np.sum(v.value)
        return total

    state = State()
    given = _wanted(step, "float64", "step")["step"][1][0]
    export = describe("step", s2s.function(step), given, state)
    text = header.text("step", "x", [export], state, dict(status_codes.MESSAGES), {"step": 64})
    pairs = re.findall(r"^#define (\w+) (\d+)", text, re.MULTILINE)
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


@pytest.mark.parametrize(
    "variables",
    [["dense/kernel", "dense_kernel"], ["a b", "a_b", "a-b", "A_B"], ["ﬁ", "fi"],
     ["e\u0301", "\u00e9"], ["", "_", "/"], ["x", "x_2", "X"], ["state_bytes", "ok"],
     ["x_workspace_bytes", "a\nb"]],
    ids=ascii,
)  # fmt: skip
def test_places_that_are_spelt_alike_stay_apart(variables: list[str]) -> None:
    found = {k: v for k, v in _places(variables).items() if "_AT_" in k}
    assert len(found) == len(variables)
    assert len(set(found.values())) == len(variables)


def test_arguments_that_are_spelt_alike_stay_apart() -> None:
    state = State()
    keys = ["a b", "a_b", "a-b", "é", "e\u0301", "int", "x"]
    given = _wanted(lambda t: 0, (dict.fromkeys(keys, "float64"),), "step")["step"][1][0]

    def step(t: Any) -> Any:
        return t["a b"] + 2 * t["a_b"] + t["a-b"] + t["é"] + t["e\u0301"] + t["int"] + t["x"]

    export = describe("step", s2s.function(step), given, state)
    assert len({i.name for i in export.arguments}) == len(keys)
    assert all(re.fullmatch(r"[A-Za-z_]\w*", i.name, re.ASCII) for i in export.arguments)


@pytest.mark.parametrize("parameter", ["values", "found", "value", "self_", "state"])
def test_parameters_named_like_the_loaders_own(parameter: str, tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    made = s2s.value_and_grad(_taking([parameter, "other"]).__wrapped__)
    built = aot.build(made, "float64, float64", tmp_path / "step")
    assert built.load().step(2.0, 3.0) == made(2.0, 3.0)


class Shouting(str):
    def __repr__(self) -> str:
        return "__import__('os').abort()"


@pytest.mark.parametrize("default", [float("inf"), float("nan"), -float("inf"), Shouting("x")])
def test_defaults_in_loaders_are_literals(default: Any) -> None:
    def step(x, scale=default):  # type: ignore[no-untyped-def]
        return x * 2.0

    state = State()
    given = _wanted(step, "float64", "step")["step"][1][0]
    export = describe("step", s2s.function(step), given, state)
    text = python_loader.text("step", "x", {"step": [export]}, state, set())
    assert "abort" not in text
    compiled = ast.parse(text).body[-1]
    assert isinstance(compiled, ast.FunctionDef)
    space: dict[str, Any] = {}
    exec(compile(ast.Module([compiled], []), "<loader>", "exec"), space)


# ---------------------------------------------------------------- the linker


@pytest.mark.parametrize(
    "library", ["-o/tmp/x", "-o", "--wrap=malloc", "-Wl,-x", "@/etc/passwd", "a b", "a;b", "$(id)",
                "a\nb", "", "lib'x", 'lib"x', "/no/such/library.so", "-/x.so", "a\0b", "`id`"],
    ids=ascii,
)  # fmt: skip
def test_names_of_libraries_are_no_options(library: str, tmp_path: Path) -> None:
    made = s2s.function(lambda x: x @ x)
    with pytest.raises(ValueError):
        aot.build(made, "float64[n,n]", tmp_path / "step", blas=library, link=False)


def test_folders_that_look_like_options(tmp_path: Path, monkeypatch: Any) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    monkeypatch.chdir(tmp_path)
    made = s2s.function(lambda x: x * 2.0)
    for folder in ("-oops", "@file", "a b", "quote'"):
        built = aot.build(made, "float64", f"{folder}/step")
        assert built.load().step(2.0) == 4.0


# ---------------------------------------------------------------- paths in guards


class Holder:
    pass


@pytest.mark.parametrize("name", ["a-b", "class", "x; y", "not an identifier", "a.b", "λ"])
def test_attributes_with_any_name_are_read_as_such(name: str) -> None:
    held = Holder()
    setattr(held, name, 2.0)
    held.a = 5.0  # type: ignore[attr-defined]

    def f(x: float) -> float:
        return x * getattr(held, name)

    for backend in ("loops", "numba"):
        made = s2s.function(f, backend=backend)
        setattr(held, name, 2.0)
        for k in (2.0, 3.0, 4.0, 5.0):
            setattr(held, name, k)
            assert made(1.5) == 1.5 * k


# ---------------------------------------------------------------- templates

ROOT = Path(s2s.__file__).parent.parent
QUOTES = {
    "c_comment", "html_text", "python_comment", "python_docstring", "marked", "file_name",
    "_code", "_line", "_size", "_loop", "sides_html", "code_html", "themed", "memory_plot", "_diff",
    "identifier", "literal", "_key", "tree_text", "_hover", "path_source",
}  # fmt: skip
# Expressions in templates that are numbers, fixed words, validated names, or results of one of
# QUOTES.
FIXED = {
    "c": {"upper", "short", "status", "kind", "extent", "pairs", "slot.offset",
          "', '.join(map(str, item.axes))", "unique(f'{upper}_AT_{identifier(slot.name)}')"},
    "python": {"name", "file", "source.node.line", "what", "', '.join(kept) or 'nothing'",
               "origin.stmt.line", "self.user.header(node)", "number", "' > '.join(origin.frame)",
               "text", "fits", "stmt.line", "site.owner", "self.place_text(site)",
               "origin.requested.line"},
}  # fmt: skip


def templates(folder: Path, sign: str) -> set[str]:
    """The expressions that are inserted unquoted into f-strings that contain `sign`."""
    found = set()
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.JoinedStr):
                continue
            fixed = "".join(str(v.value) for v in node.values if isinstance(v, ast.Constant))
            if not re.search(sign, fixed):
                continue
            for value in node.values:
                if isinstance(value, ast.FormattedValue):
                    called = getattr(getattr(value.value, "func", None), "id", None)
                    if called not in QUOTES:
                        found.add(ast.unparse(value.value))
    return found


def test_every_comment_in_c_is_quoted() -> None:
    assert templates(ROOT / "s2s" / "aot", r"/\*") <= FIXED["c"]


def test_every_comment_in_python_is_quoted() -> None:
    """All pass through `page.comment` or `Context.emit_source_comment`, which quote them."""
    found = templates(ROOT / "transforms", r"^\s*# ") | templates(ROOT / "s2s", r"^\s*# ")
    assert found - FIXED["python"] <= {"name", "pad", "s.label", "needed.replace(' ', ';')"}, found


def test_html_is_escaped_in_one_way() -> None:
    for folder in ("s2s", "transforms"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            if file.name != "quote.py":
                assert not re.search(r"html\.escape|from html import|cgi\.escape", file.read_text())


def test_file_names_are_shown_in_one_way() -> None:
    for folder in ("s2s", "transforms"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.FormattedValue):
                    assert "basename(" not in ast.unparse(node), (file, ast.unparse(node))


def test_the_words_that_c_reserves_are_listed_once() -> None:
    assert {"int", "class", "NULL", "linux"} <= c_names.RESERVED

"""Regressions of the front end: names and their scopes, syntax that is refused where it is reached,
finding a function's lines.  CPython says what is right."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest

import s2s
from s2s.call.bind_arguments import unwrap
from s2s.dispatch.specializations import Options, specialiser_for
from s2s.errors import SourceError, UnsupportedError
from s2s.transforms import pipeline
from s2s.transforms.emit.definite_assignment import _stores
from s2s.transforms.frontend import source
from tests.attack.beside import judge_source, load

ROOT = Path(__file__).parents[2]

# ---------------------------------------------------------------- as in CPython

RIGHT = {
    # Flags of `desugar` have names that no global and no enclosing variable has.
    "global_named_as_a_flag": """
returned, out, broke_L8 = 5.0, 7.0, 3.0
def f(x):
    for i in range(3):
        if i > x + 10.0:
            return x * out
    return x * returned + out * broke_L8
""",
    "global_named_as_the_flag_of_a_break": """
broke_L9 = 3.0
def f(x):
    y = x

    for i in range(3):
        if i > 1.5:
            break
        y = y * broke_L9
    return y * broke_L9
""",
    "enclosing_variable_named_as_a_flag": """
def f(x):
    returned = x * 2.0
    out = x * 3.0
    def inside(a):
        for i in range(3):
            if i > a:
                return a * returned + out
        return a + returned
    return inside(x) + inside(9.0)
""",
    # Names that unsupported syntax would bind are local.
    **{
        f"bound_in_{name}": f"""
G = 2.0
def f(x):
    if x is None:
        {textwrap.indent(text, "        ").strip()}
    return x * G
"""
        for name, text in {
            "the_rest_of_a_mapping": "match x:\n    case {'a': 1, **G}: pass",
            "a_default_of_a_lambda": "h = lambda a=(G := 3.0): a",
            "a_default_of_a_function": "def h(a=(G := 3.0)): return a",
            "a_default_in_a_try": "try:\n    h = lambda a=(G := 3): a\nfinally: pass",
            "a_base_of_a_class": "class A((G := object)): pass",
            "a_set": "h = {(G := 3)}",
            "a_set_comprehension": "h = {(G := i) for i in (1, 2)}",
        }.items()
    },
    "bound_in_a_lambda_in_a_comprehension": """
G = 2.0
def f(x):
    h = [(lambda: (G := 3.0))() for i in range(2)]
    return x * G + h[0]
""",
    # Private names have the class around the function in front.
    "private_name_of_a_base_class": """
class Base:
    def __init__(self):
        self.__w = 5.0
class _C(Base):
    def __init__(self):
        super().__init__()
        self.__w = 7.0
        self.__b__w = 100.0
    def loss(self, x):
        return self._Base__w * x + 10.0 * self.__w + self.__b__w
c = _C()
def f(x):
    return c.loss(x)
""",
    "a_backslash_before_a_field": r"""
def f(x):
    return x * len(f'\{2}') * len(f'a\\{2}\\') * len(f'"\{3}\n')
""",
}


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", RIGHT)
def test_as_in_python(name: str) -> None:
    found = judge_source(RIGHT[name], (1.5,))
    assert found.kind == "right", found.text


# ---------------------------------------------------------------- refused

# `global` and `nonlocal` hold for the whole function, wherever they stand.
REFUSED = {
    "global_in_a_dead_branch": """
G = 2.0
def f(x):
    if x is None:
        global G
    G = x * 3.0
    return x * G
""",
    "global_in_a_dead_try": """
G = 2.0
def f(x):
    if x is None:
        try:
            global G
        finally:
            pass
    G = 3.0
    return x * G
""",
    "global_below_a_local_of_the_same_name": """
G = 2.0
def f(x):
    G = 5.0
    def h():
        if x is None:
            global G
        return G
    return x * h()
""",
    "generator_by_a_yield_in_a_dead_set": """
def f(x):
    if x is None:
        y = {(yield)}
    return x
""",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    function = s2s.function(load(REFUSED[name])["f"], backend="loops")
    with pytest.raises(UnsupportedError) as caught:
        function(1.5)
    assert caught.value.source_line is not None


def test_a_nonlocal_in_a_dead_branch() -> None:
    """It holds for the whole function, wherever it stands."""
    text = """
def f(x):
    k = 2.0
    def h():
        if x is None:
            nonlocal k
        k = 3.0
        return 1.0
    y = x * h()
    return y * k
"""
    assert judge_source(text, (1.5,)).kind == "right"


def test_a_global_that_is_only_read() -> None:
    """In a branch that is not taken, and in a function that is never called."""
    text = "G = 2.0\ndef f(x):\n    if x is None:\n        global G\n    return x * G\n"
    assert judge_source(text, (1.5,)).kind == "right"
    text = "G = 2.0\ndef f(x):\n    def h():\n        global G\n        G = 3.0\n    return x * G\n"
    assert judge_source(text, (1.5,)).kind == "right"


def test_a_relative_import_outside_of_a_package() -> None:
    function = s2s.function(load("def f(x):\n    from . import q\n    return x\n")["f"])
    with pytest.raises(ImportError, match="no known parent package"):
        function(1.5)


# ---------------------------------------------------------------- finding the lines

UNINDENTED = "\n".join(f"line {i}" for i in range(300))
FOUND = {
    "lambda_above_an_unindented_string": (
        f"def outer():\n    h = lambda x: x * 2.0\n    s = '''\n{UNINDENTED}\n'''\n    return h\n"
        "f = outer()\n"
    ),
    "lambda_below_an_unindented_list": "F = [\n"
    + "1.0,\n" * 300
    + "lambda x: x * 2.0]\nf = F[-1]\n",
    "function_with_an_unindented_string": (
        f"if True:\n    if True:\n        def f(x):\n            '''\n{UNINDENTED}\n"
        "            '''\n"
        "            return x * 2.0\n    def g(): pass\n"
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_lines_without_indentation(name: str, tmp_path: Path) -> None:
    function = s2s.function(module(FOUND[name], tmp_path).f, backend="loops")
    assert function(3.0) == 6.0


def module(text: str, folder: Path, name: str = "read") -> types.ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_text_that_libcst_does_not_parse(tmp_path: Path) -> None:
    """The error does not say that the file has changed."""
    function = module("def f(x):\n    (y): float = x * 2\n    return y\n", tmp_path).f
    with pytest.raises(SourceError, match="cannot be parsed") as caught:
        s2s.function(function, backend="loops")(1.0)
    assert "usual form" in str(caught.value)


def test_lambdas_of_one_line_without_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.10 records no columns: the code of each lambda, compiled on its own, tells."""
    monkeypatch.setattr(source, "_around", lambda *_: [])
    text = "F = [lambda x: sum([i * x for i in range(3)]), lambda x: (lambda y: y + x)(x), abs]\n"
    for k, expected in enumerate((6.0, 4.0)):
        function = load(text)["F"][k]
        assert s2s.function(function, backend="loops")(2.0) == expected


def test_keys_of_the_parse_cache_are_the_same_in_every_process() -> None:
    """They are hashes of the code, in which sets of strings have no order."""
    program = (
        "from s2s.transforms.frontend.source import cache_key\n"
        "def f(x): return x in {'a', 'b', 'c', 'd', 'e'}\n"
        "print(cache_key(f.__code__))\n"
    )
    keys = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        made = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        keys.add(made.stdout)
    assert len(keys) == 1


# ---------------------------------------------------------------- shown later


def test_no_source_of_what_has_changed() -> None:
    """A specialisation from the disk has no readable source.  It is made when it is asked for, of
    the function as it is then: not if a value that was compiled in is another one by then."""
    names = load("POWER = 2\ndef f(x):\n    return x ** POWER\n")
    made = specialiser_for(unwrap(names["f"]), "vjp", Options(), False)
    compiled = made.find((3.0,), "loops")[0].compiled
    again = made._request_again(compiled, made.describe((3.0,)), (3.0,))

    names["POWER"] = 3
    with pytest.raises(SourceError, match=r"POWER \(2 before, 3 now\)"):
        again()
    names["POWER"] = 2
    assert pipeline.compile_request(again()).source == compiled.source
    del names["POWER"]
    with pytest.raises(SourceError, match="no longer there"):
        again()


# ---------------------------------------------------------------- what is bound in any case


@pytest.mark.parametrize(
    "text, names",
    [
        ("(b or (q := 1)) and c", set()),
        ("((q := a) and (r := 1)) or (s := 2)", {"q"}),
        ("((p := a) if (q := b) else c) < (r := d) < (s := e)", {"q", "r"}),
        ("(a if (a and (q := 1)) else b) if (r := c) else d", {"r"}),
        ("[(q := i) for i in (r := [1]) if (s := i)]", {"r"}),
    ],
)
def test_names_bound_in_any_case(text: str, names: set[str]) -> None:
    (stmt,) = source.parsed(f"{text}\n")
    assert _stores(stmt) == names


# ---------------------------------------------------------------- tapes


def test_refused_syntax_in_the_block_of_a_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parts are not compared with the bytecode, since they are not translated."""
    monkeypatch.setenv("S2S_BACKEND", "loops")
    x = s2s.Variable(3.0)
    with s2s.GradientTape() as tape:
        y = x * x
        if y is None:
            try:
                y = y + x
            finally:
                y = {y, x}
    assert tape.gradient(y, x) == 6.0
    with s2s.GradientTape() as tape:
        _ = {1, 2}
        y = x * x
    with pytest.raises(UnsupportedError, match="sets are not supported"):
        tape.gradient(y, x)

"""`dir` of a public module lists its `__all__`, which is what users may rely on."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import s2s
from s2s.public_names import lazy_names, listing

ROOT = Path(__file__).resolve().parents[2]


def public_modules() -> dict[str, types.ModuleType]:
    """Every module that is reachable from `s2s` by public names."""
    found: dict[str, types.ModuleType] = {}
    remaining: list[types.ModuleType] = [s2s]
    while remaining:
        module = remaining.pop()
        if module.__name__ not in found:
            found[module.__name__] = module
            values = (getattr(module, name) for name in module.__all__)
            remaining += [v for v in values if isinstance(v, types.ModuleType)]
    return found


MODULES = public_modules()


def test_which_modules_are_public() -> None:
    below = {name.removeprefix("s2s.") for name in MODULES} - {"s2s"}
    assert {name for name in below if "." not in name} == {
        "aot", "data", "errors", "layers", "losses", "metrics", "mixed_precision", "models",
        "optimizers", "saving", "testing", "tf", "training",
    }  # fmt: skip
    assert {name.removeprefix("tf.") for name in below if re.fullmatch(r"tf\.\w+", name)} == {
        "data", "keras", "linalg", "math", "nn", "random",
    }  # fmt: skip
    assert {"layers.activations", "layers.initializers", "optimizers.schedules"} <= below


@pytest.mark.parametrize("name", MODULES)
def test_dir_lists_the_public_names(name: str) -> None:
    module = MODULES[name]
    assert dir(module) == sorted(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    private = {n for n in dir(module) if n.startswith("_")}
    assert private == ({"__version__"} if module is s2s else set())
    for value in (getattr(module, n) for n in dir(module)):
        if isinstance(value, types.ModuleType):
            assert value.__name__ in MODULES and value.__name__.startswith("s2s.")


@pytest.mark.parametrize("name", MODULES)
def test_import_star(name: str) -> None:
    space: dict[str, object] = {}
    exec(f"from {name} import *", space)
    del space["__builtins__"]
    assert space == {n: getattr(MODULES[name], n) for n in dir(MODULES[name])}


def test_dir_imports_nothing() -> None:
    """Listing the names in a fresh process loads none of the modules they come from."""
    program = (
        "import sys, s2s; before = set(sys.modules); dir(s2s); dir(s2s.training); "
        "print(sorted(set(sys.modules) - before), 'numba' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert told.stdout == "[] False\n", told.stderr


def test_names_in_the_docs_are_public() -> None:
    """A dotted name of a public module in the docs, such as `s2s.layers.Dense`, is listed."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.py")]
    hidden = set()
    for page in pages:
        for path in re.findall(r"(?<![\w.\[(/-])s2s(?:\.[A-Za-z]\w*)+", page.read_text("utf-8")):
            module, *names = path.split(".")
            value = MODULES[module]
            for at, name in enumerate(names):
                if at == 0 and name in ("py", "transforms", "objects"):  # for authors of rules
                    break
                if path == "s2s.cuda_selftest":  # run with `python -m`
                    break
                if name not in dir(value):
                    hidden.add(f"{page.name}: {path}")
                    break
                value = getattr(value, name)
                if not isinstance(value, types.ModuleType):
                    break
    assert hidden == set()


@pytest.mark.parametrize("jedi", [True, False])
def test_tab_completion_in_ipython(jedi: bool) -> None:
    from IPython.core.completer import provisionalcompleter
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.user_ns["s2s"] = s2s
    shell.Completer.use_jedi = jedi

    def completed(text: str) -> set[str]:
        with provisionalcompleter():
            found = list(shell.Completer.completions(text, len(text)))
        return {completion.text.lstrip(".") for completion in found}

    assert completed("s2s.") == {n for n in dir(s2s) if not n.startswith("_")}
    assert completed("s2s.check") == {"check_grads", "checkpoint"}
    assert completed("s2s.losses.Mean") == {"MeanAbsoluteError", "MeanSquaredError"}


def test_completion_in_the_plain_interpreter() -> None:
    import rlcompleter

    completer = rlcompleter.Completer({"s2s": s2s})
    assert [completer.complete("s2s.Seq", n) for n in (0, 1)] == ["s2s.Sequential(", None]


# ---------------------------------------------------------------- the functions themselves


def module_of(name: str, **space: object) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(space)
    return module


def test_listing_follows_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of("s2s_listed", __all__=["b", "a"], helper=1, __dir__=listing("s2s_listed"))
    monkeypatch.setitem(sys.modules, "s2s_listed", module)
    assert dir(module) == ["a", "b"]
    module.__all__.append("aa")
    assert dir(module) == ["a", "aa", "b"]


def test_lazy_names() -> None:
    get = lazy_names("s2s", {"Adam": ".optimizers"}, ("losses",))
    assert get("Adam") is s2s.optimizers.Adam and get("losses") is s2s.losses
    with pytest.raises(AttributeError, match="module 's2s' has no attribute 'Adams'"):
        get("Adams")

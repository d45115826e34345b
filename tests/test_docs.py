"""Every block of the documentation runs, and prints the output that the page shows.

In README.md, CONTRIBUTING.md and docs/, a fenced block that opens with

    ```python             runs, together with the other blocks of its page, in order
    ```python raises      runs, and ends in an error, which is its output
    ```sh                 runs in the page's folder, which has the files named so far
    ```sh fails           likewise; its exit status is not 0, and its error output is shown
    ```python excerpt     consists of functions of the compiler, without annotations
    ```sh no-run          is only shown
    ```text output        is exactly what the block before it printed (`python output` too)

Each block is a file, named by a first line like `# model.py` (in other languages `// main.c`).
After a change of the emitted code, `make golden` rewrites the output blocks.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from tests.pages import FENCE, PAGES, ROOT, Fenced, fenced

# Packages that pages use and the tests do not require otherwise.
NEEDED = {"cuda.md": ("numba_cuda",), "training.md": ("matplotlib",)}
NAME = re.compile(r"(?:#|//) (\w+\.\w+)\n")


def run_page(page: str, folder: Path) -> tuple[str, list[tuple[str, str]]]:
    """The page with actual output in its output blocks, and the (shown, printed) pairs."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    pieces, pairs, done, printed = [], [], 0, ""
    for number, block in enumerate(fenced(page)):
        if block.kind == "output":
            pieces += [page[done : block.start], printed]
            pairs.append((block.text, printed))
            done = block.end
            continue
        if name := NAME.match(block.text):
            (folder / name[1]).write_text(block.text, encoding="utf-8")
        if block.language == "python" and block.kind in ("", "raises"):
            path = folder / str(number) / (name[1] if name else "example.py")
            printed = run_python(block, path, namespace)
        elif block.language == "sh" and block.kind in ("", "fails"):
            printed = run_shell(block, folder)
        elif block.language == "python":
            assert block.kind == "excerpt", block.kind
            for function in functions_of(block.text):
                assert is_in_the_compiler(function), function
        else:
            assert block.kind in ("", "no-run"), block.kind
    return "".join(pieces) + page[done:], pairs


def functions_of(text: str) -> list[str]:
    """The functions in a text, without annotations and docstrings."""
    found = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    for function in found:
        function.returns = None
        for arg in (*function.args.args, *function.args.kwonlyargs):
            arg.annotation = None
        if ast.get_docstring(function):
            del function.body[0]
    return [ast.unparse(function) for function in found]


def is_in_the_compiler(function: str) -> bool:
    start = re.search(r"^def \w+\(", function, re.MULTILINE)
    assert start
    texts = (p.read_text(encoding="utf-8") for p in (ROOT / "transforms").rglob("*.py"))
    return any(start[0] in text and function in functions_of(text) for text in texts)


def run_python(block: Fenced, path: Path, namespace: dict[str, object]) -> str:
    path.parent.mkdir()
    path.write_text(block.text, encoding="utf-8")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if block.kind == "raises":
            with pytest.raises(Exception) as caught:
                exec(compile(block.text, str(path), "exec"), namespace)
            print(*traceback.format_exception_only(caught.value), sep="")
        else:
            exec(compile(block.text, str(path), "exec"), namespace)
    return tidy(out.getvalue().replace(f"{path.parent}/", ""))


def run_shell(block: Fenced, folder: Path) -> str:
    """Run a shell block with `python` and `s2s` bound to this interpreter and this checkout."""
    commands = f'''python() {{ "{sys.executable}" "$@"; }}; s2s() {{ python -m s2s "$@"; }}
set -e
{block.text}'''
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-c", commands],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    fails = block.kind == "fails"
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return tidy((done.stdout + done.stderr * fails).replace(f"{folder}/", ""))


def tidy(printed: str) -> str:
    """The text without trailing spaces and without blank lines at the end."""
    return "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_page(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    for module in NEEDED.get(path.name, ()):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    page = path.read_text(encoding="utf-8")
    true_page, pairs = run_page(page, tmp_path)
    if update_golden:
        path.write_text(true_page, encoding="utf-8")
        return
    for shown, printed in pairs:
        assert shown == printed


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links(path: Path) -> None:
    """Links between the pages have existing targets."""
    prose = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"(?:^|[^`])`[^`\n]+`|\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        if target and "://" not in target:
            assert (path.parent / target).exists(), target


# The sentence that describes the default back end, which must be the same on all pages.
RUNS = (
    "What runs is a Numba dispatcher whose loop nests s2s writes; "
    '`backend="native"` enters the same nests without Numba'
)
TOLD = (
    "README.md",
    *(f"docs/{p}.md" for p in ("index", "backends", "how-it-works", "for-numba-users")),
)


@pytest.mark.parametrize("page", TOLD)
def test_what_runs_is_told_in_the_same_words(page: str) -> None:
    assert RUNS in " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_commands_exist() -> None:
    """The `make` targets and examples that blocks mention without running them exist."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in PAGES:
        for block in fenced(path.read_text(encoding="utf-8")):
            if block.language == "sh" and block.kind == "no-run":
                for target in re.findall(r"^make (?:\w+=\S+ )*([\w-]+)", block.text, re.MULTILINE):
                    assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
                for file in re.findall(r"\b(?:examples|benchmarks)/[\w/.]+", block.text):
                    assert (ROOT / file).exists(), file


def test_page_runner(tmp_path: Path) -> None:
    page = "```python\n# a.py\nx = 1\nprint(x)\n```\n```text output\nold\n```\n"
    page += "```sh no-run\nexit 1\n```\n"
    page += "```python raises\nraise ValueError('no')\n```\n```text output\nnone\n```\n"
    page += "```sh\ncat a.py\n```\n```python output\n```\n"
    page += "```sh fails\npython -c 'exit(3)'\n```\n"
    true_page, pairs = run_page(page, tmp_path)
    a = "# a.py\nx = 1\nprint(x)\n"
    assert pairs == [("old\n", "1\n"), ("none\n", "ValueError: no\n"), ("", a)]
    expected = page.replace("old", "1").replace("none", "ValueError: no")
    assert true_page == expected.replace("output\n```\n```sh f", f"output\n{a}```\n```sh f")


def test_page_runner_wants_the_error_it_shows(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception):
        run_page("```python raises\nx = 1\n```\n", tmp_path)

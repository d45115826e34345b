"""`s2s show`: code at every level, alone and side by side."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.s2s.cli.files import LOSS


def test_the_source_as_a_file_to_keep(run, model):
    shown = run("show", f"{model}:loss", "--args", LOSS)
    assert shown.code == 0 and not shown.err
    assert shown.out.startswith("import numpy as np\n")
    assert "def loss_vjp(W, b, x, y, out_bar=1.0):" in shown.out
    compile(shown.out, "shown", "exec")


def test_code_that_another_process_compiled(run, write):
    """Only the final result is cached on disk, so the passes run again."""
    file = write("import s2s\n\n\n@s2s.grad\ndef f(x):\n    return x**3 * 0.7\n\n\nf(2.0)\n")
    for _ in range(2):
        assert "# ---- reverse" in run("show", f"{file}:f", "--after", "all").out
        del sys.modules["program"]


def test_wrt(run, model):
    assert "wrt (x, y)" in run("show", f"{model}:loss", "--args", LOSS, "--wrt", "x,y").out
    assert ", wrt x." in run("show", f"{model}:plain", "--args", "float64[3]").out
    assert ", wrt k." in run("show", f"{model}:plain", "--args", "float64[3]", "--wrt", "1").out
    refused = run("show", f"{model}:plain", "--args", "float64[3]", "--wrt", "z")
    assert refused.code == 4 and "no parameter of that name" in refused.err


def test_two_sides(run, model):
    shown = run("show", f"{model}:loss", "--args", LOSS, "--view", "sides", "--width", "150")
    lines = [line.rstrip() for line in shown.out.splitlines()]
    beside = {tuple(part.strip() for part in line.split("│")) for line in lines}
    assert ("13     s = 0.0", "11   L13     s = 0.0") in beside
    assert any(a == "19     return s / h.shape[0]" and "# L19" in b for a, b in beside)
    assert any(a == "" and "s_bar = out_bar / h.shape[0]" in b for a, b in beside)
    assert max(map(len, lines)) <= 150
    # the left column has every line of the function, in order
    left = [line.split("│")[0][5:].rstrip() for line in lines]
    function = open(model).read().split("@s2s.grad(wrt")[1].split("\n\n\n")[0].splitlines()[1:]
    positions = [left.index(line) for line in function]
    assert positions == sorted(positions)


def test_a_narrow_terminal_has_one_column(run, model):
    shown = run("show", f"{model}:loss", "--args", LOSS, "--view", "sides", "--width", "80")
    assert "│" not in shown.out
    assert "  21   L19     s_bar = out_bar / h.shape[0]" in shown.out.splitlines()


def test_colours_and_links(run, model):
    pytest.importorskip("rich")
    shown = run("show", f"{model}:loss", "--args", LOSS, "--color", "always", "--width", "150")
    assert "\x1b[" in shown.out and f"file://{model}#L19" in shown.out


def test_without_rich(run, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr("s2s.cli.terminal._has_rich", lambda: False)
    shown = run("show", f"{model}:loss", "--args", LOSS, "--color", "always", "--width", "150")
    assert shown.code == 0 and "\x1b[" not in shown.out and "│" in shown.out


def test_levels(run, model):
    lowered = run("show", f"{model}:plain", "--args", "float64[3]", "--level", "lowered").out
    assert "from s2s import kernels as rt" in lowered
    llvm = run("show", f"{model}:plain", "--args", "float64[3]", "--level", "llvm").out
    assert llvm.startswith("define") and "@plain_vjp(" in llvm and "cpython" not in llvm
    asm = run("show", f"{model}:plain", "--args", "float64[3]", "--level", "asm").out
    assert asm.startswith("plain_vjp:\n") and ".cfi" not in asm


def test_passes(run, model):
    one = run("show", f"{model}:plain", "--args", "float64[3]", "--after", "specialise").out
    assert one.startswith("def plain(x: f8[x.0]")
    every = run("show", f"{model}:plain", "--args", "float64[3]", "--after", "all").out
    names = [line[7:] for line in every.splitlines() if line.startswith("# ---- ")]
    assert [n for n in names if "adjoint" not in n] == [
        "desugar", "specialise", "reverse", "simplify", "save", "storage", "write", "lower"
    ]  # fmt: skip
    unknown = run("show", f"{model}:plain", "--args", "float64[3]", "--after", "fuse")
    assert unknown.code == 2 and "specialise, reverse" in unknown.err


def test_diffs(run, model):
    common = ("show", f"{model}:plain", "--args", "float64[3]", "--diff")
    assert "--- specialise\n+++ reverse\n" in run(*common, "--after", "reverse").out
    own = run(*common).out
    assert "-def plain(x, k=2.0):" in own and "+def plain_vjp(x, k=2.0, out_bar=1.0):" in own
    assert "+from s2s import kernels as rt" in run(*common, "--level", "lowered").out


@pytest.mark.parametrize("mode", ["function", "jvp", "vjp", "hvp", "jacobian", "hessian"])
def test_modes(run, model, mode):
    shown = run("show", f"{model}:plain", "--args", "float64[3]", "--mode", mode)
    assert shown.code == 0, shown.err
    assert shown.out.count("def plain") >= 1
    decorated = run("show", f"{model}:loss", "--args", LOSS, "--mode", mode)
    assert decorated.code == 0, decorated.err


def test_methods_and_factories(run, model):
    assert "def energy_vjp(" in run("show", f"{model}:Spring.energy", "--args", "float64[3]").out
    assert "def inner_vjp(" in run("show", f"{model}:make(3)", "--args", "float64[3]").out


def test_json(run, model):
    data = json.loads(run("show", f"{model}:loss", "--args", LOSS, "--json").out)
    assert data["wrt"] == ["W", "b"]
    line = next(line for line in data["lines"] if line["text"].startswith("    t_bar"))
    assert line["sweep"] == 1
    assert [o["line"] for o in line["origins"]] == [6, 12]  # in `act`, called in `loss`


def test_what_is_refused(run, write):
    file = write("def f(x):\n    yield x\n")
    shown = run("show", f"{file}:f", "--args", "float")
    assert shown.code == 4 and "program.py:2" in shown.err


def test_a_reader_that_leaves(model):
    command = f"{sys.executable} -m s2s show {model}:loss --example make_args --after all | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "# ---- desugar\n" and not done.stderr

"""`s2s aot`: the effect of options and arguments on the library."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from s2s.cli.aot import _name
from tests.s2s.aot.programs import needs_compiler
from tests.s2s.cli.files import SPRING

SIGNATURE = "float64[d,2], float64[2], float64[n,d], float64[n]"


def test_named_sizes_stay_open(run, model, tmp_path):
    out = tmp_path / "loss"
    done = run("aot", f"{model}:loss", "--args", SIGNATURE, "-o", str(out), "--no-link")
    assert done.code == 0, done.err
    assert f"h       {out}.h" in done.out and "libloss.so" not in done.out
    header = Path(f"{out}.h").read_text()
    assert "int64_t d,\n    int64_t n,\n    const double *W /* [d, 2] */" in header
    assert "def loss_vjp(W, b, x, y" in Path(f"{out}_adjoint.py").read_text()


def test_annotations_defaults_and_fixed_sizes(run, write, tmp_path):
    words = ("aot", f"{write(SPRING)}:energy", "-o", str(tmp_path / "e"), "--no-link", "--json")
    data = json.loads(run(*words).out)
    assert data["functions"] == ["e"] and data["files"]["h"] == str(tmp_path / "e.h")
    assert "const double *x /* [n] */" in (tmp_path / "e.h").read_text()
    run(*words, "--size", "n=16")
    assert "const double *x /* [16] */" in (tmp_path / "e.h").read_text()


def test_several_functions_and_signatures(run, model, tmp_path):
    words = ("aot", f"{model}:plain", f"cube={model}:make(3)", "--mode", "function")
    words += ("--args", "float64[n], float; float32[n], float32", "--args", "float64[:]")
    data = json.loads(run(*words, "-o", str(tmp_path / "two"), "--no-link", "--json").out)
    assert data["functions"] == ["two_plain", "two_plain_2", "two_cube"]


@needs_compiler
def test_the_library_runs(run, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("aot", f"{model}:plain", "--args", "float64[n], float").code == 0
    monkeypatch.syspath_prepend(str(tmp_path / "build"))
    import plain

    x = np.linspace(0.0, 1.0, 5)
    np.testing.assert_allclose(plain.plain(x, 3.0), 3.0 * np.cos(x))


def test_what_is_wrong_is_told(run, model, tmp_path):
    out = ("-o", str(tmp_path / "x"), "--no-link")
    assert "what are the arguments W" in run("aot", f"{model}:loss", *out).err
    twice = run(
        "aot", f"{model}:plain", f"{model}:plain", "--args", "float", "--args", "float", *out
    )
    assert twice.code == 2 and "two functions have one name" in twice.err
    many = run("aot", f"{model}:plain", "--args", "float", "--args", "float", *out)
    assert many.code == 2 and "more arguments than functions" in many.err
    cpu = run("aot", f"{model}:plain", "--args", "float", "--target", "nowhere", *out)
    assert cpu.code == 4 and "nowhere" in cpu.err


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("m.py:step", "step"), ("m.py:Model.step", "step"), ("m.py:make_step(10)", "make_step"),
        ("m.py:Model(3).step", "step"), ("m.py:steps[0]", "step"),
    ],
)  # fmt: skip
def test_names(text, name):
    assert _name(text) == name

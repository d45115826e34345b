"""`s2s report`: its options, its figures, and what it refuses."""

from __future__ import annotations

import json

from tests.s2s.cli.files import LOSS


def test_nothing_is_run_if_asked(run, write, tmp_path):
    text = 'def f(x: "float"):\n    if x < 1e9:\n        raise ValueError("no")\n    return x\n'
    file, out = write(text), tmp_path / "page.html"
    failed = run("report", f"{file}:f", "-o", str(out), "--backend", "python")
    assert failed.code == 3 and "ValueError: no" in failed.err and "--no-run" in failed.err
    assert run("report", f"{file}:f", "-o", str(out), "--no-run").code == 0
    assert "Memory over the step" not in out.read_text()


def test_another_mode(run, write, tmp_path):
    file, out = write("def f(x: 'float64[3]'):\n    return x * x\n"), tmp_path / "page.html"
    assert run("report", f"{file}:f", "-o", str(out), "--no-run").code == 4
    words = ("--mode", "vjp", "--backend", "python", "--seconds", "0.01")
    assert run("report", f"{file}:f", "-o", str(out), *words).code == 0
    assert "f_vjp" in out.read_text()


def test_json_and_a_folder_that_is_not_there(run, model, tmp_path):
    words = ("report", f"{model}:loss", "--args", LOSS, "--no-run", "--json")
    data = json.loads(run(*words, "-o", str(tmp_path / "a.html")).out)
    assert data["saved_bytes"] == 0 and data["active"] and data["times"] is None
    missing = run(*words, "-o", str(tmp_path / "none" / "a.html"))
    assert missing.code == 2 and "no such folder" in missing.err

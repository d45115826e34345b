"""The values that the adjoint of a call needs are one value in the text."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from tests.transforms.emit.programs_with_helpers import over_time, parts_and_rows, twice


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_CALLS", "keep+inline")
    monkeypatch.setenv("S2S_BACKEND", "loops")


def test_a_tuple() -> None:
    parts, x, _ = parts_and_rows()
    text = str(s2s.grad(twice).source_for(parts, x))
    assert "def gate_fwd(parts, x):" in text
    assert "def gate_rev(out_bar, parts, x, saved):" in text
    assert "    z, kept, kept_saved, tanh = saved\n" in text
    assert "gate_out_1, saved = gate_fwd(parts, joined)" in text
    assert 'z = x @ parts["w"] + parts["b"]' in text


def test_a_list_of_tuples() -> None:
    parts, _, xs = parts_and_rows()
    text = str(s2s.grad(over_time).source_for(parts, xs))
    assert "= []\n" in text and ".append(" in text and ".pop()" in text


@pytest.mark.parametrize("program", [twice, over_time])
def test_the_text_computes_what_the_kernel_does(program, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, x, xs = parts_and_rows()
    given = xs if program is over_time else x
    value, bars = s2s.value_and_grad(program)(parts, given)
    space: dict = {}
    exec(str(s2s.value_and_grad(program).source_for(parts, given)), space)
    out, found = space[f"{program.__name__}_vjp"](parts, given)
    np.testing.assert_allclose(out, value, rtol=1e-10)
    monkeypatch.setenv("S2S_CALLS", "inline")
    _, inlined = s2s.value_and_grad(program)(parts, given)
    for name in parts:
        np.testing.assert_allclose(found[name], bars[name], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(inlined[name], bars[name], rtol=1e-10, atol=1e-12)


def test_what_the_caller_writes_into_is_not_what_was_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def half(x):
        y = np.exp(x)
        return y, y * np.tanh(y)

    def program(x):
        a, b = half(x)
        a *= 0.0
        b += a
        return np.sum(b * b)

    x = np.array([0.3, -0.2])
    bars = s2s.grad(program)(x)
    space: dict = {}
    exec(str(s2s.grad(program).source_for(x)), space)
    np.testing.assert_allclose(space["program_vjp"](x)[1], bars, rtol=1e-10)
    monkeypatch.setenv("S2S_CALLS", "inline")
    np.testing.assert_allclose(s2s.grad(program)(x), bars, rtol=1e-10)

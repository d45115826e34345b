"""Every registered rule, on every sample: value, reverse, forward and second order.

A rule without samples fails the test, so every rule is tested."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from s2s.transforms.rules import RULES, Accumulate
from s2s.transforms.rules.internal.log_domain_rules import LOG_DOMAIN_RULES

from . import samples_structures  # noqa: F401  (adds its samples)
from .judge import check
from .samples import SAMPLES

# Not operations on values: placeholders for saved and for undefined values.
ELSEWHERE = {
    "restore": "tests/transforms/checkpoint/test_plan_tape.py",
    "undef": "tests/transforms/diagnostics/test_interpreter.py",
    "field": "tests/transforms/rules/numpy/test_shape.py",
    "tuple": "tests/transforms/emit/test_saved_tuples.py",
    "tuple_part": "tests/transforms/emit/test_saved_tuples.py",
    **dict.fromkeys(LOG_DOMAIN_RULES, "tests/transforms/autodiff/test_log_domain.py"),
}


@pytest.mark.parametrize("name", sorted(RULES))
def test_rule(name: str) -> None:
    assert name in SAMPLES or name in ELSEWHERE, (
        f"the rule {name} has no samples: add some to tests/transforms/rules/samples.py"
    )
    for sample in SAMPLES.get(name, ()):
        try:
            check(sample)
        except Exception as error:
            raise AssertionError(f"{sample.id}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize("part", ["pullback", "pushforward"])
@pytest.mark.parametrize("name", ["tanh", "mean", "index", "matmul"])
def test_a_wrong_rule_is_found(name: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge detects a rule that is wrong by one percent in one mode."""
    right = getattr(RULES[name], part)

    def wrong(b: Any, *rest: Any) -> Any:
        found = right(b, *rest)
        if isinstance(found, dict):
            return {k: _off(b, v) for k, v in found.items()}
        return None if found is None else b.sym(found) * 1.01

    monkeypatch.setattr(RULES[name], part, wrong)
    with pytest.raises(AssertionError):
        for sample in SAMPLES[name]:
            check(sample)


def _off(b: Any, part: Any) -> Any:
    if isinstance(part, Accumulate):
        return replace(part, value=b.sym(part.value) * 1.01)
    return b.sym(part) * 1.01


def test_samples_are_of_rules() -> None:
    assert set(SAMPLES) <= set(RULES)


def test_every_derivative_has_both_modes() -> None:
    for rule in RULES.values():
        carries = rule.differentiable is None or bool(rule.differentiable)
        assert not carries or (rule.pullback and rule.pushforward), rule.name

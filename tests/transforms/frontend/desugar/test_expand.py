"""The rewrites together: what one leaves, another may still have to rewrite."""

from __future__ import annotations

from s2s.transforms.frontend.desugar.expand import expand
from tests.transforms.frontend.core_text import check, parse


def test_a_pattern_binds_a_variable_of_the_function_around() -> None:
    check(
        expand,
        """
        def f(s):
            def g(v):
                nonlocal s
                with nullcontext():
                    match s:
                        case [s]:
                            return s
            return s
        """,
        """
        def f(s):
            s_box = [s]
            def g(v):
                pass
                if nullcontext is nullcontext:
                    None
                    subject_L5 = s_box[0]
                    if (isinstance(subject_L5, (list, tuple, range)) or \
isinstance(subject_L5, Sequence) and not isinstance(subject_L5, (str, bytes, bytearray)) and \
__refused__('a sequence pattern for this class is not supported')) and len(subject_L5) == 1:
                        s_box[0] = subject_L5[0]
                        return s_box[0]
                else:
                    __refused__('nullcontext is not the one of the standard library, \
and is not supported here')
            return s_box[0]
        """,
    )


def test_a_function_without_such_syntax_stays_the_same_object() -> None:
    func = parse("def f(x):\n    def g(v):\n        return v\n    return g(x)\n")
    assert expand(func) is func

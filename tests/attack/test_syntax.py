"""Regressions: syntax that caused an internal error, or an error that Python does not raise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.attack.beside import judge_source

X = np.array([1.0, -2.0, 3.0])
EXAMPLES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "lambda_comp": (
        """
def f(a):
    fs = [lambda z: z * k for k in (1.0, 2.0)]
    return fs[0](a) + 10 * fs[1](a)
""",
        (1.0,),
    ),
    "lambda_comp_default": (
        """
def f(a):
    fs = [lambda z, k=k: z * k for k in (1.0, 2.0)]
    return fs[0](a) + 10 * fs[1](a)
""",
        (1.0,),
    ),
    "lambda_comp_inside": (
        """
def f(a):
    return sum([(lambda z: z * k)(a) for k in (1.0, 2.0)])
""",
        (1.0,),
    ),
    "lambda_gen": (
        """
def f(a):
    fs = list((lambda z: z * k) for k in (1.0, 2.0))
    return fs[0](a) + 10 * fs[1](a)
""",
        (1.0,),
    ),
    "lambda_loop": (
        """
def f(a):
    fs = []
    for k in (1.0, 2.0):
        fs.append(lambda z: z * k)
    return fs[0](a) + 10 * fs[1](a)
""",
        (1.0,),
    ),
    "lambda_dictcomp": (
        """
def f(a):
    fs = {k: (lambda z: z * k) for k in (1, 2)}
    return fs[1](a) + 10 * fs[2](a)
""",
        (1.0,),
    ),
    "lambda_nested_comp": (
        """
def f(a):
    fs = [[lambda z: z * k * j for k in (1.0, 2.0)] for j in (3.0, 4.0)]
    return fs[0][0](a) + 10 * fs[1][1](a)
""",
        (1.0,),
    ),
    "lambda_shadow": (
        """
def f(a):
    k = 100.0
    fs = [lambda z: z * k for k in (1.0, 2.0)]
    return fs[0](a) + k
""",
        (1.0,),
    ),
    "lambda_rt_comp": (
        """
def f(x):
    return sum([(lambda z: z * v)(2.0) for v in x])
""",
        (X,),
    ),
    "comp_in_lambda": (
        """
def f(a):
    g = lambda n: [n * k for k in (1.0, 2.0)]
    return sum(g(a))
""",
        (1.0,),
    ),
    "mangle": (
        """
class C:
    def __init__(self, v):
        self.__x = v
    def get(self):
        return self.__x
def f(a):
    return C(a).get() * 2
""",
        (1.0,),
    ),
    "mangle_arg": (
        """
class C:
    def __init__(self, v):
        self.__x = v
    def get(self, a):
        return self.__x * a
c = C(3.0)
def f(a):
    return c.get(a) * 2
""",
        (1.0,),
    ),
    "mangle_method": (
        """
class C:
    def __h(self, v):
        return v * 3
    def get(self, a):
        return self.__h(a)
c = C()
def f(a):
    return c.get(a) * 2
""",
        (1.0,),
    ),
    "mangle_local": (
        """
class C:
    def get(self, a):
        __t = a * 2
        return __t
c = C()
def f(a):
    return c.get(a)
""",
        (1.0,),
    ),
    "mangle_inherit": (
        """
class C:
    def __init__(self):
        self.__x = 1.0
    def one(self):
        return self.__x
class D(C):
    def __init__(self):
        super().__init__()
        self.__x = 2.0
    def two(self):
        return self.__x
d = D()
def f(a):
    return d.one() * 10 + d.two() + a
""",
        (1.0,),
    ),
    "mangle_classattr": (
        """
class C:
    __k = 3.0
    def get(self, a):
        return C.__k * a
c = C()
def f(a):
    return c.get(a)
""",
        (1.0,),
    ),
    "mangle_under": (
        """
class _C:
    def __init__(self):
        self.__x = 3.0
    def get(self, a):
        return self.__x * a
c = _C()
def f(a):
    return c.get(a)
""",
        (1.0,),
    ),
    "mangle_kw": (
        """
class C:
    def h(self, __x=1.0):
        return __x
    def get(self, a):
        return self.h(__x=a)
c = C()
def f(a):
    return c.get(a)
""",
        (1.0,),
    ),
    "mangle_set": (
        """
class C:
    def __init__(self):
        self.__n = 0.0
    def up(self, a):
        self.__n += a
        return self.__n
def f(a):
    c = C()
    c.up(a)
    return c.up(a)
""",
        (1.0,),
    ),
    "mangle_lambda": (
        """
class C:
    def __init__(self):
        self.__n = 3.0
    def up(self, a):
        g = lambda v: v * self.__n
        return g(a)
c = C()
def f(a):
    return c.up(a)
""",
        (1.0,),
    ),
    "print_r": (
        """
def f(a):
    print(f'{a!r}')
    return a
""",
        (1.5,),
    ),
    "print_r_known": (
        """
def f(a):
    k = 3
    print(f'{k!r} {"s"!r} {2.0!r}')
    return a
""",
        (1.5,),
    ),
    "print_r_int": (
        """
def f(a, n):
    print(f'{n!r} {n!s} {n:3d}')
    return a
""",
        (1.5, 4),
    ),
    "print_eq": (
        """
def f(a, n):
    print(f'{n=}')
    return a
""",
        (1.5, 4),
    ),
    "print_bool": (
        """
def f(a):
    print(f'{a > 0!r}', a > 0)
    return a
""",
        (1.5,),
    ),
    "print_tuple": (
        """
def f(a):
    print(f'{(a, 1)}')
    return a
""",
        (1.5,),
    ),
    "print_nested_spec": (
        """
def f(a):
    w = 10
    print(f'{a:{w}.2f}')
    return a
""",
        (1.5,),
    ),
    "print_r_raise": (
        """
def f(a):
    if a > 0:
        raise ValueError(f'bad {a!r}')
    return a
""",
        (1.5,),
    ),
    "len_bytes": (
        """
def f(a):
    return len(b'abc') + a
""",
        (1.5,),
    ),
    "bytes_index": (
        """
def f(a):
    return b'abc'[1] + a
""",
        (1.5,),
    ),
    "bytes_slice": (
        """
def f(a):
    return len(b'abc'[1:]) + a
""",
        (1.5,),
    ),
    "bytes_iter": (
        """
def f(a):
    s = a
    for c in b'abc':
        s += c
    return s
""",
        (1.5,),
    ),
    "bytes_list": (
        """
def f(a):
    return sum(list(b'abc')) + a
""",
        (1.5,),
    ),
    "bytes_add": (
        """
def f(a):
    return len(b'abc' + b'de') + a
""",
        (1.5,),
    ),
    "bytes_mul": (
        """
def f(a):
    return len(b'abc' * 2) + a
""",
        (1.5,),
    ),
    "bytes_in": (
        """
def f(a):
    return 97 in b'abc', b'b' in b'abc', a
""",
        (1.5,),
    ),
    "bytes_eq": (
        """
def f(a):
    return b'a' == b'a', b'a' == 'a', a
""",
        (1.5,),
    ),
    "bytes_meth": (
        """
def f(a):
    return len(b'abc'.upper()) + a
""",
        (1.5,),
    ),
    "bytes_enum": (
        """
def f(a):
    s = a
    for i, c in enumerate(b'abc'):
        s += i * c
    return s
""",
        (1.5,),
    ),
    "str_mul": (
        """
def f(a):
    return len('abc' * 2) + a
""",
        (1.5,),
    ),
    "str_mod": (
        """
def f(a):
    return len('%d' % 3) + a
""",
        (1.5,),
    ),
    "str_cmp": (
        """
def f(a):
    return 'a' < 'b', a
""",
        (1.5,),
    ),
}


@pytest.mark.parametrize("backend", ["loops", "python"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, backend: str) -> None:
    source, args = EXAMPLES[name]
    found = judge_source(source, args, backend=backend)
    assert found.kind == "right", found.text


REFUSED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "print_r_arr": (
        """
def f(x):
    print(f'{x!r}')
    return x.sum()
""",
        (X,),
    ),
    "print_s": (
        """
def f(a):
    print(f'{a!s}', f'{a!s:>10}', f'{a!a}')
    return a
""",
        (1.5,),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_printed_is_refused(name: str) -> None:
    source, args = REFUSED[name]
    assert judge_source(source, args).kind == "refused"

"""`dtype=` and `casting=` of functions, and arrays given as `out=`.

The dtype of the result is NumPy's, a conversion to another kind raises NumPy's TypeError, or the
call is refused.
"""

from __future__ import annotations

import itertools

import numpy as np

from tests.attack.beside import Verdict, judge_source
from tests.scale import sample

# D is replaced by the keyword.
CALLS = """
    np.concatenate([a,a],D) np.concatenate([a,A[0]],axis=0,D) np.stack([a,a],D) np.stack([a,b],1,D)
    np.hstack([a,b],D) np.vstack([a,b],D) np.stack([a[0],b[0]],D) np.concatenate([A,A],axis=1,D)
    np.sum(a,D) np.prod(a,D) np.mean(a,D) np.var(a,D) np.cumsum(a,D) np.cumprod(a,D)
    np.trace(A,D) a.sum(D) a.mean(D) a.cumsum(D) A.trace(D) np.sum(A,axis=0,D) np.add.reduce(a,D)
    np.add(a,b,D) np.multiply(a,2,D) np.exp(a,D) np.sqrt(a,D) np.maximum(a,b,D) np.subtract(a,1.5,D)
    np.divide(a,b,D) np.floor_divide(a,b,D) np.negative(a,D) np.equal(a,b,D) np.power(a,2,D)
    np.zeros_like(a,D) np.ones_like(a,D) np.full_like(a,1.5,D) np.full(2,1.5,D) np.full(2,a[0],D)
    np.arange(3,D) np.arange(0.5,3.5,D) np.linspace(0,3,4,D) np.array(a,D) np.asarray(a,D)
    np.array([a[0],1.5],D) np.array([a,b],D) np.array(1.5,D) np.eye(2,D) np.identity(2,D)
    np.tri(2,D) np.zeros(2,D) np.ones(2,D) np.einsum('i,i',a,b,D) np.logspace(0,1,3,D)
    np.geomspace(1,2,3,D) a.astype(D) np.nansum(a,D) np.average(a,D) np.indices((2,2),D)
    np.fromiter([1.5,2.5],D) np.ascontiguousarray(a,D) np.asfortranarray(a,D) np.matmul(A,A,D)
    np.cumulative_sum(a,D) np.vecdot(a,b,D) np.linalg.trace(A,D) np.clip(a,0,1,D)
    """.split()
KEYWORDS = (
    "dtype=int", "dtype=np.float32", "dtype=float", "dtype=bool", "dtype=np.int8", "dtype=complex",
    "dtype=None", "dtype='float32'", "dtype='nosuch'", "dtype=5", "dtype=int,casting='unsafe'",
    "dtype=np.float32,casting='safe'", "dtype=float,casting='no'", "casting='same_kind'",
    "out=None", "out=np.zeros(3)", "out=np.zeros(3,int)",
)  # fmt: skip
PROGRAMS = list(itertools.product(CALLS, KEYWORDS, ("float64", "float32", "int64", "bool")))


def verdict(call: str, keyword: str, dtype: str) -> Verdict:
    given = np.array([1.5, 0.0, 2.5]).astype(dtype)
    matrix = np.array([[1.0, 0.0, 2.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]).astype(dtype)
    source = f"def f(a, b, A):\n    return {call.replace('D', keyword)}\n"
    return judge_source(source, (given, given[::-1].copy(), matrix))


def test_dtype_arguments() -> None:
    cases = sample(PROGRAMS, 500, seed=5)
    found = {case: verdict(*case) for case in cases}
    wrong = [f"{' '.join(case)}: {v.text}" for case, v in found.items() if not v.allowed]
    assert not wrong, "\n".join(wrong)
    assert sum(v.kind == "right" for v in found.values()) > len(cases) // 3

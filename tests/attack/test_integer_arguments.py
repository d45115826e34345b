"""Non-integers for arguments that must be integers (sizes, axes, counts, offsets, positions).

Each call is made with each kind of number: the result or the error is that of NumPy or CPython, or
it is refused.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np

from tests.attack.beside import Verdict, judge_source
from tests.scale import sample

# K is replaced by a size, count or position, X by an axis.
CALLS = """
    np.zeros(K) np.zeros((K,2)) np.zeros([K,2]) np.ones(K) np.full(K,1.5) np.full((2,K),1.5)
    np.zeros_like(a,shape=K) np.full_like(a,1.0,shape=(K,)) np.eye(K) np.eye(3,K) np.eye(3,3,K)
    np.identity(K) np.tri(K) np.tri(3,K) np.tri(3,3,K) np.diag(a,K) np.diag(A,K) np.diagonal(A,K)
    A.diagonal(K) np.diagflat(a,K) np.trace(A,K) A.trace(K) np.tril(A,K) np.triu(A,K)
    np.linspace(0,1,K) np.logspace(0,1,K) np.geomspace(1,2,K) np.fft.fft(a,K) np.fft.ifft(a,K)
    np.fft.rfft(a,K) np.fft.irfft(a,K) np.fft.hfft(a,K) np.fft.ihfft(a,K) np.fft.fftfreq(K)
    np.fft.rfftfreq(K) np.fft.fft2(A,(K,2)) np.fft.fftn(A,(K,K)) np.fft.irfftn(A,(2,K))
    np.fft.fft(A,axis=X) np.fft.fftshift(A,X) np.fft.fftn(A,axes=(X,)) np.repeat(a,K)
    np.repeat(a,[1,K,1]) a.repeat(K) np.repeat(A,2,axis=X) np.tile(a,K) np.tile(a,(K,2))
    np.roll(a,K) np.roll(A,1,X) np.roll(A,(K,1),(0,1)) a.reshape(K,-1) a[:2].reshape(K)
    np.reshape(a[:2],(K,1)) np.reshape(a[:2],K) np.broadcast_to(a[:1],K)
    np.broadcast_to(a[:2],(2,K)) np.resize(a,K) np.resize(a,(2,K)) np.diff(a,K) np.diff(A,axis=X)
    np.rot90(A,K) np.vander(a,K) np.linalg.matrix_power(A,K) np.take(a,K) np.take(A,1,axis=X)
    a.take(K) np.take(a,[0,K]) a[K] a[[0,K]] a[:K] a[K:] a[::K] A[K,0] np.sum(A,axis=X)
    np.mean(A,axis=X) np.max(A,X) np.argmax(A,X) np.cumsum(A,X) np.prod(A,X) np.std(A,X)
    np.any(A,X) np.median(A,X) np.sum(A,axis=(X,)) A.sum(X) A.mean(X) A.max(X) np.sort(A,X)
    np.argsort(A,X) np.flip(A,X) np.stack([a,a],X) np.concatenate([A,A],X) np.expand_dims(a,X)
    np.squeeze(A[:,:1],X) np.swapaxes(A,0,X) np.moveaxis(A,0,X) np.transpose(A,(0,X))
    A.transpose(0,X) np.round(a,K) np.around(a,K) a.round(K) round(a[0],K) round(1.2345,K)
    np.var(a,ddof=K) np.delete(a,K) np.split(A,1,X) np.split(a[:2],K) np.array_split(a,K)
    np.hsplit(A[:,:2],K) np.bincount([0,1],minlength=K) np.partition(a,K) np.argpartition(a,K)
    np.unravel_index(K,(2,2)) np.ravel_multi_index((0,K),(3,3)) np.append(A,A,X)
    np.trapezoid(A,axis=X) np.gradient(A,axis=X) np.take_along_axis(A,np.array([[0]]),X)
    np.linalg.norm(A,axis=X) np.cross(A,A,axis=X) np.tensordot(A,A,K)[()] np.indices((K,2))
    np.tril_indices(K) np.triu_indices(3,K) np.diag_indices(K) np.hanning(K) np.hamming(K)
    np.bartlett(K) np.blackman(K) np.kaiser(K,1.0) np.histogram(a,K) np.size(A,X)
    np.unstack(A,axis=X) np.compress([True,False,True],A,X) np.apply_along_axis(np.sum,X,A)
    np.nansum(A,X) np.cumprod(A,X) np.count_nonzero(A,X) np.ndarray((K,2)).shape range(K)[-1]
    [0.5]*K (0.5,)*K [1.0,2.0,3.0][K] (1.0,2.0,3.0)[K] [1.0,2.0,3.0][:K] math.comb(4,K)
    math.factorial(K) math.perm(4,K) math.isqrt(K) math.gcd(4,K) np.ldexp(a,K) 1<<K K&3
    a[np.array([0,K])] a.item(K) a.item((K,)) A.item(0,K) np.left_shift(1,K) np.arange(3)[K]
    np.moveaxis(A,X,0) np.lib.stride_tricks.sliding_window_view(a,K) np.array_split(A,2,X)
    np.nanmean(A,X) np.argmin(A,X) a.argmax(X) np.percentile(A,50,X) np.quantile(A,0.5,X)
    np.logaddexp.reduce(A,X) np.add.reduce(A,X) np.add.accumulate(A,X) np.cov(A,ddof=K)
    np.average(A,X) np.ptp(A,X) np.unwrap(A,axis=X) np.einsum('ij->i',A)[K] np.rollaxis(A,X)
    np.fromiter([1.0,2.0],float,K) pow(2,3,K) int('12',K) sum([1.0,2.0],K)
    np.linalg.tensorinv(np.eye(2).reshape(2,1,2),ind=K) np.choose(K,[a,a,a]) np.array(1.0,ndmin=K)
    divmod(7,K) np.linspace(0.0,1.0,3,axis=X) np.matrix_transpose(A)[K] hex(K) bin(K) chr(K)
    list(range(0,6,K)) np.arange(6)[K:5:K] a.swapaxes(0,X) np.tile(A,(1,K))
    np.repeat(a,np.array([1,K,1])) np.linalg.vector_norm(A,axis=X) np.vecdot(A,A,axis=X)
    np.broadcast_shapes((K,),(1,)) np.triu_indices_from(A,K) A.cumsum(X) A.argsort(X) A.any(X)
    A.squeeze(X)
""".split()

# The text of an argument, and the value of `c`, which is known at run time only.
NUMBERS: tuple[tuple[str, Any], ...] = (
    ("2.0", None), ("c", 2.0), ("np.float32(2)", None), ("c", np.float32(2)), ("True", None),
    ("c", True), ("c", 2), ("np.int8(2)", None), ("c", np.uint8(2)), ("1j", None), ("'a'", None),
)  # fmt: skip
PROGRAMS = list(itertools.product(CALLS, range(len(NUMBERS))))


def verdict(call: str, number: int) -> Verdict:
    text, value = NUMBERS[number]
    if re.search(r"\bX\b", call):
        text, value = text.replace("2", "1"), None if value is None else type(value)(1)
    call = re.sub(r"\b[KX]\b", text, call)
    source = f"def f(a, A, c):\n    return {call}\n"
    matrix = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
    c = 0 if value is None else value
    return judge_source(source, (np.array([0.3, 1.2, 2.4]), matrix, c))


def test_integer_arguments() -> None:
    cases = sample(PROGRAMS, 400, seed=4)
    found = {case: verdict(*case) for case in cases}
    wrong = [f"{call} of {NUMBERS[n]}: {v.text}" for (call, n), v in found.items() if not v.allowed]
    assert not wrong, "\n".join(wrong)
    assert sum(v.kind == "right" for v in found.values()) > len(cases) // 2

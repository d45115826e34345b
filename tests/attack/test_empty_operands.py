"""Empty operands: the value, shape and dtype of NumPy and SciPy, or their error."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import s2s

VECTOR, NO_ROWS, NO_COLUMNS = np.zeros(0), np.zeros((0, 3)), np.zeros((3, 0))
NOTHING, SINGULAR = np.zeros((0, 0)), np.ones((2, 2))
ON_VECTOR = [
    "np.linalg.norm(x)",
    "np.linalg.norm(x,1)",
    "np.linalg.norm(x,np.inf)",
    "np.linalg.norm(x,-np.inf)",
    "np.linalg.norm(x,0)",
    "np.linalg.norm(x,3)",
    "np.linalg.matrix_rank(x)",
    "np.histogram(x)[0]",
    "np.histogram(x)[1]",
    "np.histogram(x,bins=3)[0]",
    "np.histogram(x,bins=np.array([0.,1.,2.]))[0]",
    "np.histogram(x,bins=4,range=(0.,1.))[0]",
    "np.digitize(x,np.array([0.,1.]))",
    "np.digitize(np.array([.5,2.]),x)",
    "np.searchsorted(x,np.array([.5]))",
    "np.searchsorted(np.array([.5]),x)",
    "np.nanmedian(x)",
    "np.median(x)",
    "np.nanmean(x)",
    "np.nansum(x)",
    "np.nanmax(x)",
    "scipy.special.logsumexp(x)",
    "scipy.special.softmax(x)",
    "np.percentile(x,50)",
    "np.quantile(x,.5)",
    "np.average(x)",
    "np.trapezoid(x)",
    "np.interp(x,np.array([0.,1.]),np.array([0.,1.]))",
    "np.convolve(x,np.ones(2))",
    "np.diff(x)",
    "np.unique(x)",
    "np.argsort(x)",
    "np.sort(x)",
    "np.cumsum(x)",
    "np.prod(x)",
    "np.ptp(x)",
    "np.max(x)",
    "np.argmax(x)",
    "np.var(x)",
    "np.bincount(x.astype(np.int64))",
    "np.einsum('i,i->',x,x)",
    "np.fft.fft(x)",
    "np.gradient(x)",
    "np.kron(x,x)",
    "np.outer(x,x)",
    "np.roll(x,2)",
    "np.tile(x,3)",
    "np.repeat(x,2)",
    "np.pad(x,1)",
    "np.stack([x,x])",
    "np.concatenate([x,x])",
    "np.take(x,np.zeros(0,np.int64))",
    "np.count_nonzero(x)",
    "np.vander(x)",
    "np.nanvar(x)",
    "np.histogram(x,weights=x)[0]",
]
ON_NO_ROWS = [
    "np.linalg.norm(x)",
    "np.linalg.norm(x,1)",
    "np.linalg.norm(x,2)",
    "np.linalg.norm(x,'nuc')",
    "np.linalg.norm(x,np.inf)",
    "np.linalg.norm(x,-1)",
    "np.linalg.norm(x,-2)",
    "np.linalg.norm(x,axis=0)",
    "np.linalg.norm(x,axis=1)",
    "np.linalg.norm(x,axis=0,ord=1)",
    "np.linalg.matrix_rank(x)",
    "np.linalg.lstsq(x,np.zeros(0))[0]",
    "np.linalg.lstsq(x,np.zeros(0))[1]",
    "np.linalg.lstsq(x,np.zeros(0))[2]",
    "np.linalg.lstsq(x,np.zeros(0))[3]",
    "np.linalg.lstsq(x,np.zeros((0,2)))[0]",
    "np.nanmedian(x,axis=0)",
    "np.nanmedian(x,axis=1)",
    "scipy.special.logsumexp(x,axis=0)",
    "scipy.special.logsumexp(x,axis=1)",
    "np.linalg.svd(x,full_matrices=False)[1]",
    "np.linalg.qr(x)[0]",
    "np.linalg.pinv(x)",
    "np.einsum('ij,jk->ik',x,x.T)",
    "np.cross(x,x)",
    "np.median(x,axis=0)",
    "np.median(x,axis=1)",
    "np.corrcoef(x)",
    "np.mean(x,axis=0)",
    "np.nanmax(x,axis=0)",
    "np.linalg.multi_dot([x,x.T,x])",
]
ON_NO_COLUMNS = [
    "np.linalg.norm(x,1)",
    "np.linalg.norm(x,np.inf)",
    "np.linalg.norm(x,axis=1,ord=np.inf)",
    "np.linalg.norm(x,axis=0,ord=np.inf)",
    "np.linalg.matrix_rank(x)",
    "np.linalg.lstsq(x,np.ones(3))[0]",
    "np.linalg.lstsq(x,np.ones(3))[1]",
    "np.linalg.lstsq(x,np.ones((3,2)))[1]",
    "scipy.special.logsumexp(x,axis=1)",
    "np.max(x,axis=0)",
    "np.mean(x,axis=1)",
]
ON_NOTHING = [
    "np.linalg.norm(x,'fro')",
    "np.linalg.matrix_rank(x)",
    "np.linalg.lstsq(x,np.zeros((0,2)))[0]",
    "np.linalg.inv(x)",
    "np.linalg.det(x)",
    "np.linalg.slogdet(x)[1]",
    "np.linalg.solve(x,np.zeros((0,2)))",
    "np.linalg.eigh(x)[0]",
    "np.linalg.cholesky(x)",
    "np.linalg.matrix_power(x,3)",
    "np.trace(x)",
]
ON_SINGULAR = [
    "np.linalg.cond(x,1)",
    "np.linalg.cond(x,np.inf)",
    "np.linalg.cond(x)",
    "np.linalg.cond(x,'fro')",
    "np.linalg.cond(x,-1)",
]
CASES = [
    *((t, VECTOR) for t in ON_VECTOR),
    *((t, NO_ROWS) for t in ON_NO_ROWS),
    *((t, NO_COLUMNS) for t in ON_NO_COLUMNS),
    *((t, NOTHING) for t in ON_NOTHING),
    *((t, SINGULAR) for t in ON_SINGULAR),
    ("np.linalg.cond(x, 1)", np.stack([SINGULAR, np.eye(2)])),
    ("np.linalg.cond(x, 1)", np.full((2, 2), np.nan)),
    ("np.linalg.cond(x, 2)", np.zeros((2, 2))),
]


def _function(text: str) -> Any:
    source = f"import numpy as np, scipy, scipy.special\ndef f(x): return {text}\n"
    name, space = f"<empty {text}>", {}
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), space)
    return space["f"]


def _outcome(function: Any, x: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return np.asarray(function(x))
        except Exception as error:  # noqa: BLE001
            return type(error)


@pytest.mark.parametrize(("text", "x"), CASES, ids=[f"{t}-{x.shape}" for t, x in CASES])
@pytest.mark.filterwarnings("ignore")
def test_empty_operands_as_in_numpy(text, x):
    function = _function(text)
    wanted, found = _outcome(function, x), _outcome(s2s.function(function, backend="loops"), x)
    if isinstance(wanted, type):
        assert issubclass(found, (wanted, s2s.UnsupportedError))
    else:
        assert not isinstance(found, type), found
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        if "cond" in text:  # above 1 / eps it is the rounding of a singular value that is zero
            found, wanted = (np.where(v > 1e15, np.inf, v) for v in (found, wanted))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_gradients_where_operands_may_be_empty():
    """Of norms, condition numbers and logsumexp, with and without elements."""
    a = np.array([[2.0, 0.5], [-1.0, 3.0]])
    for text in (
        "np.linalg.norm(x, np.inf)",
        "np.linalg.norm(x, 1)",
        "np.linalg.norm(x[0], np.inf)",
        "np.linalg.norm(x, 2)",
        "np.linalg.cond(x, 1)",
        "np.linalg.cond(x, 'fro')",
        "scipy.special.logsumexp(x)",
        "np.sum(scipy.special.logsumexp(x, axis=1) ** 2)",
    ):
        function = _function(text)
        gradient = s2s.grad(function, backend="loops")(a)
        for i in np.ndindex(2, 2):
            step = np.zeros((2, 2))
            step[i] = 1e-6
            slope = (function(a + step) - function(a - step)) / 2e-6
            np.testing.assert_allclose(gradient[i], slope, rtol=1e-5, atol=1e-8)
    assert s2s.grad(_function("np.linalg.norm(x, np.inf)"), backend="loops")(VECTOR).shape == (0,)
    assert s2s.grad(_function("scipy.special.logsumexp(x)"), backend="loops")(VECTOR).shape == (0,)

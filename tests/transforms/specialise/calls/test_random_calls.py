"""Every method of generators and every function of np.random that is supported, as users write
it: NumPy's numbers, NumPy's type, and a generator left as NumPy leaves it."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.rules import SURFACES

# What both have, as arguments; the functions of np.random that generators lack; and the reverse.
BOTH = """
    normal() normal(x[0],2.0,(2,3)) normal(x) normal(loc=x,scale=0.5) normal(size=())
    uniform() uniform(-1,x[0],3) uniform(low=x,high=x+1) uniform(size=(n,2))
    laplace() laplace(x[0],2.0,3) gumbel(x) gumbel(0.0,2.0,n) logistic(scale=x+2) exponential()
    exponential(x+2) exponential(2.0,(n,n)) rayleigh() rayleigh(2.0,3) lognormal(x,0.5) lognormal()
    gamma(2.0) gamma(x+3,2.0) gamma(2.0,x+3) gamma(2.0,size=n) standard_gamma(1.5)
    standard_gamma(x+3) standard_gamma(1.5,3) standard_normal() standard_normal(3)
    standard_exponential() standard_exponential((n,2)) standard_cauchy() standard_cauchy(3)
    beta(2.0,x+3) beta(1.5,2.5,3) chisquare(2.0) chisquare(df=x+3) noncentral_chisquare(2.0,1.5,3)
    f(2.0,3.0) f(2.0,3.0,size=3) standard_t(3.0) standard_t(3.0,3) vonmises(0.5,2.0)
    vonmises(0.5,2.0,3) wald(1.0,2.0) wald(1.0,2.0,3) triangular(0.0,1.0,2.0)
    triangular(0.0,1.0,2.0,3) weibull(1.5) weibull(1.5,3) power(2.0) power(2.0,3) pareto(2.0)
    pareto(2.0,3) poisson() poisson(x+3) poisson(4.0,3) binomial(9,0.4) binomial(9,0.4,3)
    binomial(n,p=x*0+0.4) geometric(0.4) geometric(0.4,3) negative_binomial(4,0.4)
    negative_binomial(4,0.4,3) zipf(2.5) zipf(2.5,3) logseries(0.4) logseries(0.4,3)
    hypergeometric(9,7,5) hypergeometric(9,7,5,3) permutation(n) permutation(x) choice(n)
    choice(x) choice(x,(2,2)) choice(5,3,replace=False) choice(x,2,p=np.array([0.2,0.3,0.5]))
""".split()
GENERATOR = """
    random() random(3) random((n,2),dtype=np.float32) random(dtype=np.float32)
    standard_normal(n,dtype=np.float32) standard_exponential(n,dtype=np.float32)
    standard_gamma(2.0,n,dtype=np.float32) integers(5) integers(2,9) integers(2,9,3)
    integers(0,np.array([3,9])) integers(9,size=(n,2),endpoint=True) permutation(x.reshape(3,1))
    permutation(np.outer(x,x),axis=1) choice(np.outer(x,x),2,axis=1)
""".split()
LEGACY = """
    random() random(3) random_sample() random_sample((n,2)) ranf() sample(3) rand() rand(n,2)
    randn() randn(n) randint(5) randint(2,9) randint(2,9,(n,2))
""".split()
# Tested as programs, in the corpus and in test_random.py.
STATEMENTS = {"numpy.random.default_rng", "numpy.random.seed"}
CALLS = [
    *(f"rng.{c}" for c in (*BOTH, *GENERATOR)),
    *(f"np.random.{c}" for c in (*BOTH, *LEGACY)),
]


def test_every_call_is_listed() -> None:
    known = {p for p in SURFACES if p.startswith("numpy.random.")} - STATEMENTS
    told = {
        call.partition("(")[0].replace("rng.", "Generator.").replace("np.random.", "")
        for call in CALLS
    }
    assert {f"numpy.random.{name}" for name in told} == known


@pytest.fixture(scope="module")
def programs() -> Any:
    file = Path(tempfile.mkdtemp()) / "calls_of_generators.py"
    lines = [f"def call_{k}(x, n, rng):\n    return {c}\n" for k, c in enumerate(CALLS)]
    file.write_text("import numpy as np\n\n\n" + "\n\n".join(lines))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("backend", ["loops", "python"])
@pytest.mark.parametrize("k", range(len(CALLS)), ids=CALLS)
def test_call(programs: Any, k: int, backend: str) -> None:
    f = getattr(programs, f"call_{k}")
    results, states = [], []
    for run in (f, s2s.function(f, backend=backend)):
        rng = np.random.default_rng(k)
        np.random.seed(k)
        results.append(run(np.array([0.3, 0.5, 0.9]), 3, rng))
        states.append((rng.bit_generator.state, np.random.get_state()[2:]))  # type: ignore[index]
    want, got = results
    np.testing.assert_allclose(got, want, rtol=1e-14)
    assert np.asarray(got).dtype == np.asarray(want).dtype
    assert states[0] == states[1]

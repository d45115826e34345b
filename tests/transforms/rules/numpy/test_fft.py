"""Every function of np.fft, and of scipy.fft under the same name, in user code."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.rules import SURFACES

# Expressions of a real matrix m and a complex matrix z, of shape (3, 4); n is 5.
CALLS = """
    fft(m) fft(z,axis=0) fft(m,n) fft(z,2,norm="ortho") fft(m[0],norm="forward") fft(m>0.2)
    ifft(m) ifft(z,n,0) ifft(z,norm="forward") rfft(m) rfft(m,n,axis=0,norm="ortho") rfft(m[0],2)
    irfft(z) irfft(z,n) irfft(m,n,0,"forward") irfft(z,axis=0,norm="ortho") hfft(z) hfft(z,n)
    ihfft(m) ihfft(m,n,norm="ortho") fft2(m) fft2(z,s=(2,n)) ifft2(z,norm="ortho")
    rfft2(m) rfft2(m,axes=(1,0)) irfft2(z) irfft2(z,s=(3,n)) fftn(m) fftn(z,axes=(0,))
    ifftn(z,s=(n,),axes=(1,)) rfftn(m) rfftn(m,s=(2,n),axes=(0,1),norm="forward") irfftn(z)
    irfftn(z,s=(n,),axes=(0,)) fftshift(m) fftshift(z,axes=1) ifftshift(m) ifftshift(z,axes=(0,))
    fftfreq(n) fftfreq(n,0.5) fftfreq(4,d=m[0,0]) rfftfreq(n) rfftfreq(6,m[0,0])
""".split()


def test_every_function_is_listed() -> None:
    told = {call.partition("(")[0] for call in CALLS}
    for module in ("numpy.fft.", "scipy.fft."):
        assert {p.removeprefix(module) for p in SURFACES if p.startswith(module)} == told


@pytest.fixture(scope="module")
def programs() -> Any:
    file = Path(tempfile.mkdtemp()) / "calls_of_fft.py"
    text = "import numpy as np\nimport scipy.fft\n"
    for k, call in enumerate(CALLS):
        text += f"\n\ndef value_{k}(m, z, n):\n    return np.fft.{call}\n"
        text += f"\n\ndef scipy_{k}(m, z, n):\n    return scipy.fft.{call}\n"
        text += f"\n\ndef loss_{k}(m, z, n):\n    y = np.fft.{call}\n"
        text += "    return np.sum(np.abs(y + 0.5) ** 2 * 0.5) + np.sum(y.real * y.imag)\n"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(single: bool = False) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    m = rng.uniform(-1.0, 1.0, (3, 4))
    z = m + 1j * rng.uniform(-1.0, 1.0, (3, 4))
    return (m.astype(np.float32), z.astype(np.complex64), 5) if single else (m, z, 5)


@pytest.mark.parametrize("k", range(len(CALLS)), ids=CALLS)
def test_value(programs: Any, k: int) -> None:
    f = getattr(programs, f"value_{k}")
    for single in (False, True):
        given = arguments(single)
        want = f(*given)
        for backend in ("loops", "python"):
            got = s2s.function(f, backend=backend)(*given)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, atol=1e-5 if single else 1e-14)
    same = s2s.function(getattr(programs, f"scipy_{k}"), backend="loops")(*arguments())
    np.testing.assert_allclose(same, f(*arguments()), atol=1e-14)


@pytest.mark.parametrize("k", range(len(CALLS)), ids=CALLS)
def test_gradient(programs: Any, k: int) -> None:
    m, z, n = arguments()
    if "m>" in CALLS[k] or CALLS[k] in ("fftfreq(n)", "fftfreq(n,0.5)", "rfftfreq(n)"):
        return
    wrt = "m" if "m" in CALLS[k].partition("(")[2].replace("norm", "") else "z"
    loss = getattr(programs, f"loss_{k}")
    order = 2 if CALLS[k] in ("fft(m,n)", "rfft(m)", "irfft(z,n)", "ifftn(z)") else 1
    s2s.check_grads(loss, m, z, n, wrt=wrt, order=order, backend="loops")

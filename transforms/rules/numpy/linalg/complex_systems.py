"""Complex linear systems, solved as real systems of twice the size."""

from __future__ import annotations

from ....ir.builder import Builder, Sym
from ....ir.nodes import is_complex
from ...axes_and_sizes import size_of
from .matrix_rules import slice_range


def solve_complex_as_real(b: Builder, a: Sym, rhs: Sym) -> Sym:
    """The x with a @ x == rhs, from the equivalent real block system.

    With a = p + iq it is (p -q; q p) @ (real x; imag x) == (real rhs; imag rhs)."""
    if not is_complex(a.type):
        return _joined(*(b.emit("solve", a, y) for y in _parts(b, rhs)))
    p, q = _parts(b, a)
    across, down = a.ndim - 1, max(rhs.ndim - 2, 0)
    above = b.emit("concatenate", p, -q, axis=across)
    below = b.emit("concatenate", q, p, axis=across)
    both = b.emit("concatenate", above, below, axis=a.ndim - 2)
    x = b.emit("solve", both, b.emit("concatenate", *_parts(b, rhs), axis=down))
    n, axis = size_of(b, a, across), x.ndim - (1 if rhs.ndim == 1 else 2)
    return _joined(slice_range(x, axis, None, n), slice_range(x, axis, n, None))


def _parts(b: Builder, z: Sym) -> tuple[Sym, Sym]:
    """Real and imaginary part."""
    if not is_complex(z.type):
        return z, b.emit("zeros_like", z, dtype=z.dtype)
    return b.emit("real", z), b.emit("imag", z)


def _joined(real: Sym, imag: Sym) -> Sym:
    return real + imag * 1j

"""Complex numbers inside, real ones outside: spectra, waves, phases."""

import numpy as np

from . import N, arr, case, num


@case(arr(8), tags="fft jax")
def spectral_derivative(u):
    k = 2j * np.pi * np.fft.fftfreq(u.shape[0], 1.0 / u.shape[0])
    du = np.fft.ifft(k * np.fft.fft(u)).real
    return np.sum(u * du**2)


@case(arr(7), arr(4), tags="fft jax", wrt=(0, 1), rtol32=1e-3)
def power_spectrum_loss(x, target):
    power = np.abs(np.fft.rfft(x)) ** 2 / x.shape[0]
    return np.mean((power - target) ** 2)


@case(arr(6), arr(3), tags="fft jax", wrt=(0, 1))
def convolution_by_fft(x, h):
    n = x.shape[0] + h.shape[0] - 1
    y = np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(h, n), n)
    return np.sum(y**3)


@case(arr(2, 6, low=0.5), arr(2, 6, low=0.5), tags="fft jax", wrt=(0, 1))
def phase_retrieval(image, measured):
    field = image * np.exp(1j * image**2)
    seen = np.abs(np.fft.fft2(field, norm="ortho"))
    return np.sum((seen - measured) ** 2)


@case(arr(8), num(0.01, 0.1), tags="fft loops", wrt=(0, 1), trips=(0, 1, 3))
def burgers_spectral_steps(u, nu):
    k = np.fft.rfftfreq(u.shape[0], 1.0 / u.shape[0])
    for _ in range(3):
        spectrum = np.fft.rfft(u)
        du = np.fft.irfft(1j * k * spectrum, u.shape[0])
        d2u = np.fft.irfft(-(k**2) * spectrum, u.shape[0])
        u = u + 0.01 * (nu * d2u - u * du)
    return np.sum(u**2)


@case(arr(2, low=-0.3, high=0.3), tags="complex loops")
def mandelbrot_orbit(c):
    z = 0.0 + 0.0j
    total = 0.0
    point = complex(c[0], c[1])
    for _ in range(4):
        z = z * z + point
        total = total + abs(z)
    return total


@case(arr(N + 2), tags="complex loops")
def complex_array_written_in_a_loop(x):
    z = np.zeros(x.shape[0], dtype=np.complex128)
    z[0] = 1.0
    for i in range(1, x.shape[0]):
        z[i] = z[i - 1] * np.exp(1j * x[i]) + x[i - 1]
        z[i - 1] += 0.5j * x[i]
    return np.sum(np.abs(z) ** 2) + np.sum(np.angle(z + 3.0))


@case(arr(3), arr(3), tags="complex jax", wrt=(0, 1))
def complex_functions(x, y):
    z = x + 1j * y + (2.0 + 0.5j)
    out = np.sum(np.log(z).imag * np.sqrt(z).real) + np.sum((np.exp(z) / z**2).imag)
    out += np.sum((np.sin(z) * np.conj(np.tanh(z))).real) + np.sum(np.abs(z**1.5))
    return out + np.sum(np.where(x > 0.0, z, 1.0 / z).imag) + np.real(np.mean(np.cos(z)))


@case(arr(3, 3), arr(3), tags="complex linalg jax", wrt=(0, 1))
def complex_products(a, b):
    u = a + 1j * a.T
    v = u @ (b * (1.0 - 2.0j))
    energy = np.vdot(v, u @ v).real
    return (
        energy + np.einsum("ij,jk->ik", u, np.conj(u)).real.sum() + np.sum(np.imag(np.outer(v, v)))
    )


@case(arr(3, 4, 2), tags="fft jax", rtol32=1e-3)
def transforms_along_axes(a):
    one = np.fft.fft(a, axis=1, norm="forward")
    two = np.fft.rfftn(a, axes=(0, 1), norm="ortho")
    three = np.fft.irfft(two, n=5, axis=1)
    four = np.fft.fftn(a, s=(2, 3), axes=(0, 1))
    back = np.fft.irfftn(np.fft.rfftn(a) * 2.0, s=(3, 4, 2), axes=(0, 1, 2))
    out = np.sum(np.abs(one) ** 2) + np.sum(three**2) + np.sum(np.abs(four) ** 3) + np.sum(back**3)
    return out + np.sum(np.fft.fftshift(np.fft.ifft2(a).imag, axes=0)[0] ** 2)


@case(arr(6), tags="fft")
def hermitian_transforms(x):
    y = np.fft.hfft(x * (1.0 + 1j), 9)
    z = np.fft.ihfft(np.fft.ifftshift(x), norm="ortho")
    return np.sum(y**2) + np.sum(np.abs(z) ** 3) + np.sum(np.fft.rfftfreq(6) * np.fft.rfft(x).real)


@case(arr(4), tags="complex")
def parts_of_real_numbers(x):
    return (
        np.sum(np.real(x) * np.conj(x)) + np.sum(np.imag(x)) + np.sum(x.real * x.imag) + x[0].real
    )


@case(arr(3), arr(3), tags="complex", wrt=(0, 1))
def one_adjoint_flows_into_a_real_and_a_complex_value(x, y):
    # The real part of an adjoint is read before further contributions are added to the adjoint.
    z = np.exp(1j * y)
    w = np.fft.ifft(z + x)
    return np.sum(np.abs(w * z * z + 1.0)) + np.sum(np.fft.fft(z + x).imag ** 2)


@case(arr(3, 3), arr(3, 3), arr(3, 2), tags="complex linalg")
def complex_systems(p, q, y):
    z = p + 3.0 * np.eye(3, dtype=p.dtype) + 1j * q
    x = np.linalg.solve(z, y)
    u = np.linalg.solve(np.conj(z), x[:, 0] * 1j)
    v = np.linalg.solve(p + 3.0 * np.eye(3, dtype=p.dtype), u)
    return np.sum(np.abs(x) ** 2) + np.sum(np.linalg.inv(z).imag * p) + np.sum(v.real)

"""Bodies that attract each other, by leapfrog; the energy of the last state."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient

SOFT, DT = 0.1, 0.01


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "mass": rng.uniform(0.5, 1.0, 40) / 40,
        "pos": rng.normal(size=(40, 3)),
        "vel": rng.normal(size=(40, 3)),
        "steps": 20,
    }


def pull(mass, pos):
    dx = pos[None, :, 0] - pos[:, None, 0]
    dy = pos[None, :, 1] - pos[:, None, 1]
    dz = pos[None, :, 2] - pos[:, None, 2]
    strength = (dx**2 + dy**2 + dz**2 + SOFT**2) ** -1.5
    acc = np.empty_like(pos)
    acc[:, 0] = (dx * strength) @ mass
    acc[:, 1] = (dy * strength) @ mass
    acc[:, 2] = (dz * strength) @ mass
    return acc


def nbody(mass, pos, vel, steps):
    acc = pull(mass, pos)
    for _ in range(steps):
        vel = vel + 0.5 * DT * acc
        pos = pos + DT * vel
        acc = pull(mass, pos)
        vel = vel + 0.5 * DT * acc
    kinetic = 0.5 * np.sum(mass * np.sum(vel**2, axis=1))
    potential = 0.0
    for i in range(len(mass)):
        for j in range(i):
            d = pos[i] - pos[j]
            potential -= mass[i] * mass[j] / np.sqrt(d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + SOFT**2)
    return kinetic + potential


def vectorised(xp, loop):
    """For JAX, PyTorch and autograd: all pairs at once."""

    def forces(mass, pos):
        d = pos[None] - pos[:, None]
        strength = (xp.sum(d**2, axis=2) + SOFT**2) ** -1.5
        return xp.einsum("ijc,ij,j->ic", d, strength, mass)

    def program(mass, pos, vel, steps):
        def step(state):
            pos, vel, acc = state
            vel = vel + 0.5 * DT * acc
            pos = pos + DT * vel
            acc = forces(mass, pos)
            return pos, vel + 0.5 * DT * acc, acc

        pos, vel, _ = loop(steps, step, (pos, vel, forces(mass, pos)))
        kinetic = 0.5 * xp.sum(mass * xp.sum(vel**2, axis=1))
        d = pos[None] - pos[:, None]
        pairs = mass[None] * mass[:, None] / xp.sqrt(xp.sum(d**2, axis=2) + SOFT**2)
        # Each pair twice, and each body with itself.
        return kinetic - 0.5 * (xp.sum(pairs) - xp.sum(mass**2) / SOFT)

    return program


def repeated(steps, step, state):
    for _ in range(steps):
        state = step(state)
    return state


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def loop(steps, step, state):
        return lax.fori_loop(0, steps, lambda _, s: step(s), state)

    return vectorised(jnp, loop)


def in_torch():
    import torch

    return vectorised(torch, repeated)


def in_autograd():
    import autograd.numpy as anp

    return vectorised(anp, repeated)


def by_hand():
    from numba import njit

    @njit(**FAST)
    def forces(mass, pos, acc):
        n = len(mass)
        for i in range(n):
            ax = ay = az = 0.0
            for j in range(n):
                dx = pos[0, j] - pos[0, i]
                dy = pos[1, j] - pos[1, i]
                dz = pos[2, j] - pos[2, i]
                r2 = dx * dx + dy * dy + dz * dz + SOFT * SOFT
                s = mass[j] / (r2 * np.sqrt(r2))
                ax += dx * s
                ay += dy * s
                az += dz * s
            acc[0, i], acc[1, i], acc[2, i] = ax, ay, az

    @njit(**FAST)
    def pull_back(mass, pos, acc_bar, mass_bar, pos_bar):
        n = len(mass)
        for i in range(n):
            gx, gy, gz = acc_bar[0, i], acc_bar[1, i], acc_bar[2, i]
            ix = iy = iz = 0.0
            for j in range(n):
                dx = pos[0, j] - pos[0, i]
                dy = pos[1, j] - pos[1, i]
                dz = pos[2, j] - pos[2, i]
                inverse = 1.0 / (dx * dx + dy * dy + dz * dz + SOFT * SOFT)
                s = inverse * np.sqrt(inverse)
                along = dx * gx + dy * gy + dz * gz
                mass_bar[j] += along * s
                s *= mass[j]
                turn = 3.0 * along * inverse
                x = s * (gx - turn * dx)
                y = s * (gy - turn * dy)
                z = s * (gz - turn * dz)
                pos_bar[0, j] += x
                pos_bar[1, j] += y
                pos_bar[2, j] += z
                ix += x
                iy += y
                iz += z
            pos_bar[0, i] -= ix
            pos_bar[1, i] -= iy
            pos_bar[2, i] -= iz

    @njit(**FAST)
    def adjoint(mass, pos, vel, steps):
        n = len(mass)
        places = np.empty((steps + 1, 3, n))
        v, acc = np.empty((3, n)), np.empty((3, n))
        for i in range(n):
            for c in range(3):
                places[0, c, i] = pos[i, c]
                v[c, i] = vel[i, c]
        forces(mass, places[0], acc)
        for t in range(steps):
            for c in range(3):
                for i in range(n):
                    v[c, i] += 0.5 * DT * acc[c, i]
                    places[t + 1, c, i] = places[t, c, i] + DT * v[c, i]
            forces(mass, places[t + 1], acc)
            for c in range(3):
                for i in range(n):
                    v[c, i] += 0.5 * DT * acc[c, i]
        last = places[steps]
        mass_bar = np.zeros(n)
        x_bar, v_bar, acc_bar = np.zeros((3, n)), np.empty((3, n)), np.zeros((3, n))
        value = 0.0
        for i in range(n):
            square = v[0, i] ** 2 + v[1, i] ** 2 + v[2, i] ** 2
            value += 0.5 * mass[i] * square
            mass_bar[i] += 0.5 * square
            for c in range(3):
                v_bar[c, i] = mass[i] * v[c, i]
            for j in range(i):
                dx, dy, dz = (
                    last[0, i] - last[0, j],
                    last[1, i] - last[1, j],
                    last[2, i] - last[2, j],
                )
                near = 1.0 / np.sqrt(dx * dx + dy * dy + dz * dz + SOFT * SOFT)
                both = mass[i] * mass[j]
                value -= both * near
                mass_bar[i] -= mass[j] * near
                mass_bar[j] -= mass[i] * near
                s = both * near * near * near
                x_bar[0, i] += s * dx
                x_bar[1, i] += s * dy
                x_bar[2, i] += s * dz
                x_bar[0, j] -= s * dx
                x_bar[1, j] -= s * dy
                x_bar[2, j] -= s * dz
        for t in range(steps - 1, -1, -1):
            for c in range(3):
                for i in range(n):
                    acc_bar[c, i] += 0.5 * DT * v_bar[c, i]
            pull_back(mass, places[t + 1], acc_bar, mass_bar, x_bar)
            for c in range(3):
                for i in range(n):
                    v_bar[c, i] += DT * x_bar[c, i]
                    acc_bar[c, i] = 0.5 * DT * v_bar[c, i]
        pull_back(mass, places[0], acc_bar, mass_bar, x_bar)
        return value, mass_bar, x_bar.T.copy(), v_bar.T.copy()

    return adjoint


ROWS = [
    gradient(
        nbody,
        ("mass", "pos", "vel"),
        inputs,
        title="nbody, 40 bodies, 20 steps",
        jax=in_jax,
        torch=in_torch,
        autograd=in_autograd,
        by_hand=by_hand,
    )
]

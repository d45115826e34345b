"""Fixtures of all tests: options, a private cache, reproducible random numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest

os.environ.setdefault("S2S_CHECK_LOCKS", "1")  # read when s2s is imported

from tests import scale  # noqa: E402
from tests.switches import SWITCHES, switched_off, threads_everywhere  # noqa: E402


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("s2s")
    group.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the files of tests/golden instead of comparing with them",
    )
    group.addoption(
        "--fuzz-programs",
        type=int,
        default=None,
        metavar="N",
        help="how many random programs the fuzzer runs (default: a small sample)",
    )
    group.addoption(
        "--without",
        default="",
        metavar="NAME,…",
        help="optimisations to switch off: names of tests/switches.py, or all",
    )

    group.addoption(
        "--threads-everywhere",
        action="store_true",
        help="run every loop on threads whose iterations are independent, however short",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sample the families in `tests/scale.py`, unless tests are selected by name."""
    if config.option.keyword or any("::" in argument for argument in config.args):
        return
    chosen = scale.sampled([item.nodeid for item in items])
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


@pytest.fixture(scope="session")
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A test run does not use the user's cache.  The processes of a parallel run share one, because
    code that Numba compiles for all programs, such as the Fourier transforms, takes seconds."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("S2S_CACHE_DIR", str(shared / "s2s-cache"))
        yield


@pytest.fixture(scope="session", autouse=True)
def optimisations(request: pytest.FixtureRequest) -> Iterator[None]:
    chosen = str(request.config.getoption("--without")).split(",")
    names = SWITCHES if chosen == ["all"] else [name for name in chosen if name]
    with switched_off(*names), ExitStack() as stack:
        if request.config.getoption("--threads-everywhere"):
            stack.enter_context(threads_everywhere())
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def same_draws(request: pytest.FixtureRequest) -> None:
    """Reset the random generator of a test's module, so that its draws do not depend on earlier
    tests."""
    drawn = getattr(request.module, "RNG", None)
    if isinstance(drawn, np.random.Generator):
        drawn.bit_generator.state = np.random.default_rng(1).bit_generator.state

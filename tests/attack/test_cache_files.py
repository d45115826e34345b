"""The cache deletes and uses only files that it wrote, and s2s works without it."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from s2s.backends import build_kernel
from s2s.cache import store
from s2s.cli.main import main
from s2s.errors import CacheError
from tests.scale import count, sample

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are those of POSIX")
ROOT = Path(__file__).parents[2]
STRANGER = 12345  # a user id without an account
KEY = "0123456789abcdef" * 2
needs_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can become someone else"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "cache"))
    return store.directory()


# ---------------------------------------------------------------- which directory


def test_a_directory_with_other_files_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "kernel_main.c").write_text("int main(void) { return 0; }")
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    assert store.directory() == tmp_path / "s2s-cache"
    store.write_entry(store.directory() / f"kernel_{KEY}", 1)
    assert main(["cache", "clear"]) == 0
    assert store.directory() == tmp_path / "s2s-cache"
    assert {p.name for p in tmp_path.iterdir()} == {"kernel_main.c", "s2s-cache"}
    assert {p.name for p in store.directory().iterdir()} == {store.MARKER}


def test_an_empty_directory_is_marked(tmp_path, monkeypatch):
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    assert store.directory() == tmp_path
    (tmp_path / "mine.txt").write_text("later")
    assert store.directory() == tmp_path


def test_the_default_directory_may_be_that_of_another_program(tmp_path, monkeypatch):
    monkeypatch.delenv("S2S_CACHE_DIR")
    monkeypatch.setattr(store, "user_directory", lambda: tmp_path / "s2s")
    (tmp_path / "s2s").mkdir()
    (tmp_path / "s2s" / "other").write_text("of another program")
    assert store.directory() == tmp_path / "s2s" / "s2s-cache"


def test_a_relative_xdg_directory_is_ignored(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert store.user_directory() == Path.home() / ".cache" / "s2s"


# ---------------------------------------------------------------- what is cleared


def named_files() -> Iterator[tuple[str, bytes]]:
    """Files of a user whose names and contents resemble those of cache entries."""
    bodies = {
        "": b"", "text": b"int main(void) { return 0; }", "hash": KEY.encode(),
        "seal of another": store._seal(f"kernel_{KEY}") + b"rest",
        "seal of content": store._seal("mine", b"data") + b"data",
    }  # fmt: skip
    stems = [
        "kernel_main.c", "kernel_", "kernel_main", "kernel_ABCDEF", f"kernel_{KEY}x",
        f"_kernel_{KEY}", f"kernel_{KEY}.c", f"xkernel_{KEY}", "runtime_config", "runtime_.py",
        "specialisation_a.txt", "numba_notes", "_s2s_notes.py", ".new-", ".new-draft",
        f".new-kernel_{KEY}", f"kernel_{KEY[:-1]}", "kernel_main.nbi", "a.seal",
        f".new-kernel_main.c-{KEY}", f"runtime_{KEY.upper()}",
    ]  # fmt: skip
    for k, (stem, body) in enumerate(itertools.product(stems, bodies)):
        yield f"{k}/{stem}", bodies[body]


def test_clear_removes_nothing_of_the_user(tmp_path, monkeypatch):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    for name, content in named_files():
        folder = tmp_path / name.split("/")[0]
        monkeypatch.setenv("S2S_CACHE_DIR", str(folder))
        store.write_entry(store.directory() / f"specialisation_{KEY}", "ours")
        (tmp_path / name).write_bytes(content)
        os.symlink(outside, folder / f"numba_{KEY}")
        (folder / f"kernel_{KEY}_folder").mkdir()
        (folder / f"kernel_{KEY}_folder" / f"kernel_{KEY}").write_bytes(b"")
        before = set(folder.rglob("*")) - {folder / f"specialisation_{KEY}"}
        assert main(["cache", "clear"]) == 0
        assert set(folder.rglob("*")) == before, name
        assert (tmp_path / name).read_bytes() == content
    assert outside.read_text() == "mine"


def test_clear_removes_a_copy_of_an_entry_only_under_its_own_name(home, capsys):
    entry = home / f"kernel_{KEY}"
    store.write_entry(entry, [1, 2])
    other = home / f"kernel_{KEY[::-1]}"
    shutil.copy(entry, other)
    entry.write_bytes(entry.read_bytes()[:-1])  # damaged, but still recognised as written by s2s
    unfinished = home / f".new-kernel_{KEY}-abc123"
    unfinished.write_bytes(b"")
    half = home / f".new-kernel_{KEY}-abc124"
    half.write_bytes(store._seal(entry.name) + b"ha")
    assert main(["cache", "clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kinds"]["machine code"]["files"] == 3
    assert {p.name for p in home.iterdir()} == {store.MARKER, other.name}


# ---------------------------------------------------------------- what is used


def test_an_entry_under_another_name_is_not_used(home):
    entry, other = home / f"kernel_{KEY}", home / f"kernel_{KEY[::-1]}"
    store.write_entry(entry, "code")
    assert store.read_entry(entry) == "code"
    shutil.copy(entry, other)
    assert store.read_entry(other) is None
    os.replace(entry, home / f"runtime_{KEY}")
    assert store.read_entry(home / f"runtime_{KEY}") is None


def test_an_entry_with_any_byte_changed_is_not_used(home):
    entry = home / f"kernel_{KEY}"
    store.write_entry(entry, list(range(20)))
    good = entry.read_bytes()
    for k in range(len(good)):
        entry.write_bytes(good[:k] + bytes([good[k] ^ 1]) + good[k + 1 :])
        assert store.read_entry(entry) is None
        entry.write_bytes(good[:k])
        assert store.read_entry(entry) is None
    entry.write_bytes(good + b"\0")
    assert store.read_entry(entry) is None
    entry.write_bytes(good)
    assert store.read_entry(entry) == list(range(20))


@posix
def test_links_pipes_and_files_that_others_can_write_are_not_used(home, tmp_path):
    entry = home / f"kernel_{KEY}"
    store.write_entry(entry, "code")
    entry.chmod(0o666)
    assert store.read_entry(entry) is None
    entry.chmod(0o620)
    assert store.read_entry(entry) is None
    entry.chmod(0o644)
    assert store.read_entry(entry) == "code"
    os.replace(entry, tmp_path / entry.name)
    os.symlink(tmp_path / entry.name, entry)
    assert store.read_entry(entry) is None
    entry.unlink()
    os.mkfifo(entry)
    assert store.read_entry(entry) is None  # and does not wait for a writer
    assert not store.is_ours(entry)


@needs_root
def test_files_and_directories_of_others_are_not_used(home, monkeypatch):
    entry = home / f"kernel_{KEY}"
    store.write_entry(entry, "code")
    os.chown(entry, STRANGER, STRANGER)
    assert store.read_entry(entry) is None
    assert not store.is_ours(entry)
    os.chown(entry, 0, 0)
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    assert store.read_entry(entry) == "code"  # of root, who can do anything
    monkeypatch.undo()
    monkeypatch.setenv("S2S_CACHE_DIR", str(home))
    os.chown(home, STRANGER, STRANGER)
    with pytest.raises(CacheError, match="belongs to another user"):
        store.directory()


# ---------------------------------------------------------------- without a cache

# Compiles a gradient, and a function of s2s that Numba compiles; prints the number of kernels that
# were compiled because they were not in the cache.
CHILD = """
import contextlib, os, sys, tempfile, warnings
warnings.simplefilter("always")
{before}
import numpy as np
import s2s
from s2s.backends.native import object_code
from s2s.cache import store
from s2s.codegen.numba_bridge import numba_cache
from numba.core.compiler import CompileResult

made = []
native, reduce = object_code._compiled, CompileResult._reduce
object_code._compiled = lambda *args: made.append("kernel") or native(*args)
load = numba_cache.EntryCache.load_overload

def load_overload(self, *args):
    found = load(self, *args)
    if found is None:
        made.append(self.function.__name__)
    return found

numba_cache.EntryCache.load_overload = load_overload

def f(x):
    return np.sum(x * x * {factor})

for backend in ("numba", "native"):
    gradient = s2s.grad(f, backend=backend)(np.arange(3.0))
    assert np.allclose(gradient, 2 * {factor} * np.arange(3.0))
from s2s.kernels_numba.lapack import _transposed
assert np.array_equal(_transposed(np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(2, 3).T)
print("made", *sorted(set(made)))
print("in", store.directory())
"""
# A user that may read everything, because the interpreter may be in root's home, but write nothing.
STRANGERS = (
    "setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups",
    "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search",
    "--bounding-set=-all,+dac_read_search",
)  # fmt: skip


def child(
    tmp_path: Path,
    before: str = "",
    factor: float = 1.5,
    by: tuple[str, ...] = (),
    **environment: str,
) -> tuple[list[str], Path, str]:
    """The number of kernels compiled in a new process, its cache directory, and its warnings."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(CHILD).format(before=before, factor=factor))
    tmp_path.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH", "LANG")}
    kept |= {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [*by, sys.executable, str(script)], capture_output=True, text=True, env=kept, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    made, folder = done.stdout.splitlines()
    return made.split()[1:], Path(folder.removeprefix("in ")), done.stderr


@pytest.fixture(scope="module")
def stranger() -> tuple[str, ...]:
    if os.name == "posix" and os.geteuid() == 0 and shutil.which("setpriv"):
        command = [*STRANGERS, sys.executable, "-c", "import numba"]
        if subprocess.run(command, capture_output=True, cwd="/").returncode == 0:
            return STRANGERS
    pytest.skip("there is no way to become another user")


KERNELS = ["_s2s_call", "_s2s_call_whole", "kernel"]
ALL = sorted([*KERNELS, "_transposed"])


def tree(folder: Path) -> dict[str, float]:
    return {str(p): p.lstat().st_mtime for p in folder.rglob("*")}


def test_a_user_without_a_home_and_an_installation_that_is_read_only(tmp_path, stranger):
    """A user without an account, who owns neither the installation nor the directory of the
    program."""
    made, folder, said = child(tmp_path, by=stranger)
    assert made == ALL and "without a persistent cache" in said
    assert folder.name.startswith("s2s-") and not folder.exists()  # removed at exit


def test_no_place_at_all(tmp_path, stranger):
    before = "def none(**_): raise FileNotFoundError('no usable temporary directory')\n"
    made, folder, said = child(tmp_path, before + "tempfile.mkdtemp = none", by=stranger)
    assert made == ALL and "without a persistent cache" in said
    assert folder == Path(os.devnull) / "s2s"


def test_a_warm_cache_that_is_read_only(tmp_path, stranger):
    """As in a container image that root has built and another user runs."""
    home = tmp_path / "cache"
    assert child(tmp_path, S2S_CACHE_DIR=str(home))[0] == ALL
    for path in (home, *home.iterdir()):
        path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
    before = tree(home)
    made, folder, said = child(tmp_path, by=stranger, S2S_CACHE_DIR=str(home))
    assert (made, folder, said) == ([], home, "")
    made, folder, said = child(tmp_path, factor=2.5, by=stranger, S2S_CACHE_DIR=str(home))
    assert (made, folder, said) == (KERNELS, home, "")
    assert tree(home) == before


@posix
def test_files_that_cannot_grow(tmp_path):
    """As on a full disk."""
    before = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"
    for size in sample([0, 2000], 1):
        home = tmp_path / str(size)
        made, folder, said = child(tmp_path, before.format(size), S2S_CACHE_DIR=str(home))
        assert made == ALL and folder == home and "cannot cache compiled code" in said
        for path in home.iterdir():  # nothing half written
            assert path.name == store.MARKER or store.read_entry(path) is not None


@needs_root
def test_a_disk_that_is_full(tmp_path):
    (tmp_path / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs", str(tmp_path / "disk")]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        made, folder, said = child(tmp_path, S2S_CACHE_DIR=str(tmp_path / "disk"))
        assert made == ALL and folder == tmp_path / "disk" and "No space left" in said
        assert all(
            p.name == store.MARKER or store.read_entry(p) is not None for p in folder.iterdir()
        )
    finally:
        subprocess.run(["umount", str(tmp_path / "disk")], check=True)


def test_nothing_is_written_beside_the_sources():
    """No function that Numba compiles for s2s uses Numba's own cache."""
    from numba.core.caching import FunctionCache
    from numba.core.dispatcher import Dispatcher

    from s2s.codegen.numba_bridge.numba_cache import EntryCache

    kinds = []
    for path in (ROOT / "s2s").glob("kernels*/*.py"):
        module = importlib.import_module(f"s2s.{path.parent.name}.{path.stem}")
        kinds += [
            type(getattr(v, "_cache", None))
            for v in vars(module).values()
            if isinstance(v, Dispatcher)
        ]
    assert kinds.count(EntryCache) > 20 and FunctionCache not in kinds


def test_a_home_that_is_not_there(monkeypatch):
    def none() -> Any:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    for name in ("S2S_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    store.temporary_directory.cache_clear()
    with pytest.warns(UserWarning, match="without a persistent cache"):
        folder = store.directory()
    assert folder in store.temporary and store.directory() == folder


def test_a_chosen_directory_below_a_file(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(CacheError, match="it is not a directory"):
        store.directory()
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "file" / "below"))
    with pytest.warns(UserWarning, match="without a persistent cache .*Not a directory"):
        assert store.directory() in store.temporary


# ---------------------------------------------------------------- processes that are killed

KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from s2s.cache import store

rounds, home = int(sys.argv[1]), store.directory()
rng = random.Random(int(sys.argv[2]))
keys = [f"kernel_{k:032x}" for k in range(6)]

def value(key, length):
    return key, length, bytes([length % 251]) * length

def write():
    rng = random.Random(os.getpid())
    while True:
        key = rng.choice(keys)
        store.write_entry(home / key, value(key, rng.choice([0, 10, 5000, 70_000, 3_000_000])))

damaged = {"used": 0, "unfinished": 0, "whole": 0}
for _ in range(rounds):
    children = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            write()
        children.append(pid)
    time.sleep(rng.uniform(0.002, 0.02))
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    for path in home.iterdir():
        if path.name == store.MARKER:
            continue
        assert store.is_ours(path), path
        if path.name.startswith(".new-"):
            damaged["unfinished"] += 1
            assert store.read_entry(path) is None
            path.unlink()
            continue
        found = store.read_entry(path)
        # Nothing that has its name is damaged; whatever it is, nothing wrong is ever used.
        assert found is not None and found == value(path.name, found[1]), path
        damaged["whole"] += 1
print(damaged["unfinished"], damaged["whole"])
"""


@posix
def test_writers_that_are_killed(tmp_path):
    """200 times: entries are complete, and partial files do not have the name of an entry."""
    environment = {**os.environ, "S2S_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(count(50, 200)), "1"],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    unfinished, whole = map(int, done.stdout.split())
    assert unfinished > 5 and whole > 50  # processes were killed while they wrote


COMPILING = """
import os, random, signal, sys, time
import numpy as np
import s2s

rng = random.Random(int(sys.argv[2]))
x = np.arange(4.0)

def gradient(k):
    def f(x):
        return np.sum(np.exp(x * (k + 0.5)))
    return s2s.grad(f, backend="numba")(x)

def forked(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            print(error, file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return pid

gradient(-1)  # everything is imported
begin = time.monotonic()
os.waitpid(forked(lambda: gradient(-2)), 0)
longest = time.monotonic() - begin
for k in range(int(sys.argv[1])):
    pid = forked(lambda: gradient(k))
    time.sleep(rng.uniform(0.0, longest))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

    def check():
        want = (k + 0.5) * np.exp(x * (k + 0.5))
        np.testing.assert_allclose(gradient(k), want, rtol=1e-12)

    assert os.waitpid(forked(check), 0)[1] == 0
print("right")
"""


@posix
def test_compiling_processes_that_are_killed(tmp_path):
    """The next process computes the right gradient with what it finds in the cache."""
    script = tmp_path / "program.py"
    script.write_text(COMPILING)
    environment = {**os.environ, "S2S_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(script), str(count(4, 200)), "1"],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.stdout == "right\n", done.stderr


# ---------------------------------------------------------------- kernels


def test_kernels_leave_no_files_but_entries(home):
    build_kernel._built.clear()
    import numpy as np

    import s2s

    def f(x):
        return np.sum(x * x * 0.375)

    np.testing.assert_allclose(s2s.grad(f, backend="numba")(np.ones(2)), [0.75, 0.75])
    files = [p for p in home.rglob("*") if p.name != store.MARKER]
    assert files and all(store.is_ours(p) and store.read_entry(p) is not None for p in files)

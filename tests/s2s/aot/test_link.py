"""Archives and shared libraries: the tools of the system read them."""

from __future__ import annotations

import shutil
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from s2s.aot import link, object_file
from s2s.errors import S2SValueError
from tests.s2s.aot.programs import compile_c, needs_compiler, run

SOURCE = "int shown = 3; int twice(int x) { return 2 * x; } static int hidden(void) { return 1; } "
SOURCE += "int weak(void) __attribute__((weak)); int weak(void) { return hidden() + other(); }"


@pytest.fixture(scope="module")
def objects(tmp_path_factory) -> Any:
    folder = tmp_path_factory.mktemp("link")
    (folder / "part.c").write_text("int other(void);\n" + SOURCE)
    run("cc", "-c", "-fPIC", "-o", folder / "part.o", folder / "part.c")
    return folder / "part.o"


@needs_compiler
def test_symbols_that_an_object_defines(objects) -> None:
    """Not those that it needs, nor its static ones."""
    assert sorted(link.global_symbols(objects.read_bytes())) == ["shown", "twice", "weak"]


def test_other_formats_have_no_symbols() -> None:
    for data in (
        b"",
        b"\x7fELF",
        b"\x7fELF\x01" + bytes(60),
        b"MZ" + bytes(60),
        b"\xfe\xed\xfa\xcf",
    ):
        if len(data) != 4 or data[:4] != b"\x7fELF":
            assert link.global_symbols(data) == []


@needs_compiler
@pytest.mark.parametrize("name", ["part.o", "a_name_that_is_longer_than_fifteen_characters.o"])
def test_archives(objects, name, tmp_path) -> None:
    data = objects.read_bytes()
    for content in (data, data + b"\0"):  # of even and odd length
        file = tmp_path / "libpart.a"
        file.write_bytes(link.archive(name, content))
        assert run("ar", "t", file).split() == [name]
        assert subprocess.check_output(["ar", "p", file, name]) == content
        index = run("nm", "-s", file).split("\n\n")[0]
        assert sorted(x.split()[0] for x in index.splitlines() if " in " in x) == [
            "shown", "twice", "weak",
        ]  # fmt: skip


@needs_compiler
def test_programs_link_with_an_archive(objects, tmp_path) -> None:
    (tmp_path / "libpart.a").write_bytes(link.archive("part.o", objects.read_bytes()))
    main = "int twice(int); int weak(void); int other(void) { return 40; }\n"
    main += "int main(void) { return twice(1) + weak() - 43; }"
    run(compile_c(main, tmp_path, str(tmp_path / "libpart.a")))


def test_archives_without_symbols(tmp_path) -> None:
    data = link.archive("x.o", b"")
    assert data.startswith(b"!<arch>\n") and len(data) % 2 == 0


@pytest.mark.parametrize(
    "given", ["-lx", "@file", "a b", "a;b", "", "x\0y", 'a"b', "$(x)", "a\nb", "ü", "/no/such.so"]
)
def test_libraries_that_could_be_options_are_refused(given) -> None:
    with pytest.raises(S2SValueError, match="blas="):
        link.library(given)


def test_libraries(tmp_path, monkeypatch) -> None:
    assert link.library("openblas") == "openblas" and link.flag("openblas") == "-lopenblas"
    file = tmp_path / "-x.so"
    file.touch()
    assert link.library(str(file)) == link.flag(str(file)) == str(file)
    monkeypatch.chdir(tmp_path)
    assert link.library("./-x.so") == str(file)


def target(**changes: Any) -> Any:
    return SimpleNamespace(**{"triple": "riscv64-linux-gnu", "is_native": False, **changes})


def test_compilers(monkeypatch) -> None:
    native = object_file.find(None, None)
    monkeypatch.setenv("CC", "cc -m64")
    assert link.compiler(native) == (["cc", "-m64"] if shutil.which("cc") else None)
    monkeypatch.setenv("CC", "no-such-compiler")
    assert link.compiler(native) is None
    known: set[str] = set()
    monkeypatch.setattr("shutil.which", lambda name: name if name in known else None)
    assert link.compiler(target()) is None
    known.add("zig")
    assert link.compiler(target()) == ["zig", "cc", "-target", "riscv64-linux-gnu"]
    known.add("riscv64-linux-gnu-gcc")
    assert link.compiler(target()) == ["riscv64-linux-gnu-gcc"]


@needs_compiler
def test_shared_libraries_have_no_undefined_symbols(objects, tmp_path) -> None:
    native = object_file.find(None, None)
    with pytest.raises(link.BuildError, match=r"linking libpart.so failed: [\s\S]*other"):
        link.shared(objects, tmp_path / "libpart.so", native, [])
    (tmp_path / "alone.c").write_text("double root(double x) { return __builtin_sqrt(x); }")
    run("cc", "-c", "-fPIC", "-o", tmp_path / "alone.o", tmp_path / "alone.c")
    link.shared(tmp_path / "alone.o", tmp_path / "libalone.so", native, [])
    import ctypes

    root = ctypes.CDLL(str(tmp_path / "libalone.so")).root
    root.restype, root.argtypes = ctypes.c_double, [ctypes.c_double]
    assert root(9.0) == 3.0
    with pytest.raises(link.BuildError, match="no C compiler"):
        link.shared(objects, tmp_path / "x.so", target(), [])

"""Turns the LLVM IR of a kernel, written for NVVM, into a function of the host that runs a launch.

The function `<symbol>(grid, block, reversed, parameters…)` runs all threads of all blocks, one
after another.  A kernel with barriers becomes an LLVM coroutine that suspends at each barrier; the
function resumes the threads of a block in order, or in reverse order.  It returns 0, or `DIVERGED`
if the threads of a block do not all reach the same barrier.

Shared arrays are filled with the byte `POISON` at the start of each block, which makes floats NaN.
With `shadowed`, each access to memory is preceded by a call of `shadow_memory.py`.
"""

from __future__ import annotations

import re
from typing import Any

from ..codegen.llvm_passes import target_machine
from ..errors import internal
from . import host_math

POISON = 0xFF
DIVERGED = 1
# The functions that the shadow memory provides, with the types of their parameters.
SHADOW_FUNCTIONS = {
    "s2s_shadow_block": "i64",
    "s2s_shadow_thread": "i64",
    "s2s_shadow_load": "ptr, i64",
    "s2s_shadow_store": "ptr, i64",
    "s2s_shadow_atomic": "ptr, i64",
    "s2s_shadow_local": "ptr, i64",
    "s2s_shadow_shared": "ptr, i64",
}
_REGISTERS = ("tid", "ctaid", "ntid", "nctaid")
_TYPED_POINTER = re.compile(
    r'(?:\bi\d+|\bdouble|\bfloat|\bptr|\bvoid|\{[^{}]*\}|\[[^\[\]]*\]|%"[^"]*")(?: \([^()]*\))?'
    r"(?: addrspace\(\d+\))?\*"
)
_SIZES = {"double": 8, "float": 4, "half": 2, "ptr": 8}


def host_module(texts: tuple[str, ...], symbol: str, shadowed: bool = False) -> Any:
    """The LLVM module for the host, not optimised."""
    name = _kernel_name(texts[0])
    module = None
    for text in texts:
        part = _parsed(_on_host(text))
        if module is None:
            module = part
        else:
            module.link_in(part)
    assert module is not None
    _clean_up(module)
    text = _with_launcher(str(module), name, symbol, shadowed)
    return _parsed(text)


def _parsed(text: str) -> Any:
    import llvmlite.binding as llvm

    target_machine()  # initialises LLVM
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise internal("emulating a CUDA kernel", error) from error
    module.data_layout = str(target_machine().target_data)
    return module


def _kernel_name(text: str) -> str:
    found = re.search(r'@("[^"]*"|[\w.$]+), !"kernel", i32 1', text)
    assert found is not None
    return found[1].strip('"')


def _clean_up(module: Any) -> None:
    """Inline the helper functions of the front end, and turn variables on the stack into values: of
    the accesses to memory, those to arrays remain."""
    import llvmlite.binding as llvm

    builder = llvm.create_pass_builder(
        target_machine(), llvm.create_pipeline_tuning_options(speed_level=0)
    )
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_dead_code_elimination_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


# ---------------------------------------------------------------- the front end's IR


def _on_host(text: str) -> str:
    """One module of the front end with what is specific to NVVM removed or replaced."""
    text = _opaque(text)
    text = re.sub(r"^target (?:triple|datalayout) = .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^!.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r", ![a-z]+ !\d+", "", text)
    text = re.sub(r'^@"(?:_ZN08NumbaEnv|llvm\.used).*$', "", text, flags=re.MULTILINE)
    # shared memory
    text = re.sub(r"\baddrspace\(3\) global", "global", text)
    text = text.replace("ptr addrspace(3)", "ptr")
    text = re.sub(r"\baddrspacecast \(?ptr", "bitcast ptr", text)
    # helper functions, which are all inlined
    text = re.sub(
        r"^define linkonce_odr (.*)$", r"define internal \1 alwaysinline", text, flags=re.M
    )
    for register in _REGISTERS:
        for axis in "xyz":
            name = f"llvm.nvvm.read.ptx.sreg.{register}.{axis}"
            text = text.replace(f'"{name}"', f'"s2s.{register}.{axis}"')
    text = text.replace('"llvm.nvvm.barrier0"', '"s2s.barrier"')
    text = re.sub(
        r'call (double|float) @"llvm\.nvvm\.atomic\.load\.add\.f(?:64|32)\.p0f(?:64|32)"'
        r"\(ptr (%\"[^\"]*\"), (?:double|float) ([^)]*)\)",
        r"atomicrmw fadd ptr \2, \1 \3 monotonic",
        text,
    )
    text = re.sub(r'^declare \S+ @"llvm\.nvvm\.atomic.*$', "", text, flags=re.MULTILINE)
    return host_math.replaced(text)


def _opaque(text: str) -> str:
    """IR with opaque pointers."""
    while True:
        new = _TYPED_POINTER.sub(lambda m: "ptr addrspace(3)" if "(3)" in m[0] else "ptr", text)
        if new == text:
            return text
        text = new


# ---------------------------------------------------------------- the launcher


def _with_launcher(text: str, name: str, symbol: str, shadowed: bool) -> str:
    define = re.compile(rf'^define [^@\n]*@"?{re.escape(name)}"?\((.*)\)(.*)\{{$', re.MULTILINE)
    head = define.search(text)
    assert head is not None, name
    end = text.index("\n}\n", head.end())
    types, names = _parameters(head[1])
    body = _with_flag_of_launch(text[head.end() : end], names[0])
    shared = [
        (found[1], _size(found[2]))
        for found in re.finditer(r"^(@[^ ]+) = [^\n]*?global (\[.*\]) undef", text, re.MULTILINE)
    ]
    if shadowed:
        body = _announced(body)
    barriers = body.count('"s2s.barrier"') + body.count("@s2s.barrier")
    signature = ", ".join(f"{t} {n}" for t, n in zip(types, names))
    if barriers:
        own = _coroutine(body, signature)
    else:
        own = f"define internal void @s2s.kernel({signature}) {{{body}\n}}\n"
    rest = text[: head.start()] + text[end + 3 :]
    rest = re.sub(r"^declare .*@\"?s2s\..*$", "", rest, flags=re.MULTILINE)
    rest = re.sub(r"^(source_filename|target) .*$", "", rest, flags=re.MULTILINE)
    parts = [rest, own, _registers(), _RUNTIME_DECLARATIONS]
    if shadowed:
        parts += [f"declare void @{f}({types})" for f, types in SHADOW_FUNCTIONS.items()]
    parts.append(_launcher(symbol, types, shared, bool(barriers), shadowed))
    return "\n".join(parts)


def _with_flag_of_launch(body: str, errors: str) -> str:
    """The body with the test of the flag of errors on the value that it had before the launch.  On
    a device all threads of a block may see the same value there; here, threads run one after
    another, and the first one may set the flag."""
    first = re.search(r"^  %\S+ = load i64, ptr (%\S+), .*$", body, re.MULTILINE)
    if first is None:
        return body
    same = (errors, *re.findall(rf"^  (%\S+) = getelementptr .*ptr {errors}, i64 0$", body, re.M))
    if first[1] not in same:
        return body
    replaced = first[0].replace(f"ptr {first[1]},", "ptr @s2s.flag,")
    return body[: first.start()] + replaced + body[first.end() :]


def _parameters(text: str) -> tuple[list[str], list[str]]:
    types, names = [], []
    for part in re.findall(r'(\w+)(?: \w+)* (%"[^"]*"|%[\w.]+)', text):
        types.append(part[0])
        names.append(part[1])
    return types, names


def _registers() -> str:
    lines = ["@s2s.at = internal global i32 0", "@s2s.flag = internal global i64 0"]
    for register in _REGISTERS:
        lines.append(f"@s2s.{register} = internal global i32 0")
        for axis in "xyz":
            value = "1" if register.startswith("n") else "0"
            read = f"  %v = load i32, ptr @s2s.{register}\n  ret i32 %v" if axis == "x" else (
                f"  ret i32 {value}"
            )  # fmt: skip
            lines.append(
                f"define internal i32 @s2s.{register}.{axis}() alwaysinline {{\n{read}\n}}"
            )
    return "\n".join(lines)


def _coroutine(body: str, signature: str) -> str:
    """The kernel as a coroutine, which suspends at its barriers and at its end."""
    first = re.match(r'\s*("[^"]*"|[\w.$]+):', body)
    assert first is not None
    count = 0

    def suspend(_: Any) -> str:
        nonlocal count
        count += 1
        return (
            f"  store i32 {count}, ptr @s2s.at\n"
            f"  %s2s.s{count} = call i8 @llvm.coro.suspend(token none, i1 false)\n"
            f"  switch i8 %s2s.s{count}, label %s2s.suspended [i8 0, label %s2s.after{count}\n"
            f"    i8 1, label %s2s.freed]\n"
            f"s2s.after{count}:\n"
        )

    # A barrier ends its basic block: phis of the following blocks name the new block instead.
    body = _split_at_barriers(body, suspend)
    body = re.sub(r"^  ret void.*$", "  br label %s2s.final", body, flags=re.MULTILINE)
    return f"""
define internal ptr @s2s.kernel({signature}) presplitcoroutine {{
s2s.start:
  %s2s.id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)
  %s2s.size = call i64 @llvm.coro.size.i64()
  %s2s.memory = call ptr @malloc(i64 %s2s.size)
  %s2s.frame = call ptr @llvm.coro.begin(token %s2s.id, ptr %s2s.memory)
  br label %{first[1]}
{body}
s2s.final:
  %s2s.last = call i8 @llvm.coro.suspend(token none, i1 true)
  switch i8 %s2s.last, label %s2s.suspended [i8 1, label %s2s.freed]
s2s.freed:
  %s2s.free = call ptr @llvm.coro.free(token %s2s.id, ptr %s2s.frame)
  call void @free(ptr %s2s.free)
  br label %s2s.suspended
s2s.suspended:
  call void @llvm.coro.end(ptr %s2s.frame, i1 false, token none)
  ret ptr %s2s.frame
}}
"""


_BARRIER = re.compile(r'^  (?:tail )?call void @"?s2s\.barrier"?\(\).*\n', re.MULTILINE)
_LABEL = re.compile(r'^("[^"]*"|[\w.$]+):', re.MULTILINE)


def _split_at_barriers(body: str, suspend: Any) -> str:
    """Replace the barriers, and the predecessors in phis that change by it."""
    out: list[str] = []
    label, last = "", {}
    for line in body.splitlines(keepends=True):
        if found := _LABEL.match(line):
            label = found[1]
        if _BARRIER.match(line):
            line = suspend(None)
            last[label] = re.findall(r"^(s2s\.after\d+):", line, re.MULTILINE)[-1]
        out.append(line)
    text = "".join(out)
    if not last:
        return text

    def renamed(phi: re.Match[str]) -> str:
        return re.sub(
            r', %("[^"]*"|[\w.$]+) \]',
            lambda m: f", %{last.get(m[1], m[1])} ]",
            phi[0],
        )

    return re.sub(r"^  %[^\n]* = phi [^\n]*$", renamed, text, flags=re.MULTILINE)


_RUNTIME_DECLARATIONS = """
declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare ptr @llvm.coro.free(token, ptr)
declare void @llvm.coro.end(ptr, i1, token)
declare void @llvm.coro.resume(ptr)
declare void @llvm.coro.destroy(ptr)
declare i1 @llvm.coro.done(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def _launcher(
    symbol: str, types: list[str], shared: list[tuple[str, int]], barriers: bool, shadowed: bool
) -> str:
    parameters = "".join(f", {t} %p{i}" for i, t in enumerate(types))
    arguments = ", ".join(f"{t} %p{i}" for i, t in enumerate(types))
    block = [
        f"  call void @llvm.memset.p0.i64(ptr {n}, i8 {POISON}, i64 {s}, i1 false)"
        for n, s in shared
    ]
    thread = []
    if shadowed:
        block.append("  call void @s2s_shadow_block(i64 %b)")
        block += [f"  call void @s2s_shadow_shared(ptr {n}, i64 {s})" for n, s in shared]
        thread.append("  call void @s2s_shadow_thread(i64 %tid)")
    text = _WITH_BARRIERS if barriers else _WITHOUT_BARRIERS
    return (
        text.replace("SYMBOL", symbol)
        .replace(", PARAMETERS", parameters)
        .replace("ARGUMENTS", arguments)
        .replace("  BLOCK_START", "\n".join(block))
        .replace("  THREAD_START", "\n".join(thread))
    )


_LOOPS = """
define i64 @SYMBOL(i64 %grid, i64 %block, i64 %reversed, PARAMETERS) {
start:
  %grid.32 = trunc i64 %grid to i32
  %block.32 = trunc i64 %block to i32
  store i32 %grid.32, ptr @s2s.nctaid
  store i32 %block.32, ptr @s2s.ntid
  %flag = load i64, ptr %p0
  store i64 %flag, ptr @s2s.flag
  %is.reversed = icmp ne i64 %reversed, 0
  %last = sub i64 %block, 1
  %handle.bytes = mul i64 %block, 8
  HANDLES
  br label %blocks
blocks:
  %b = phi i64 [ 0, %start ], [ %b.next, %block.done ]
  %b.more = icmp slt i64 %b, %grid
  br i1 %b.more, label %block.start, label %finished
block.start:
  %b.32 = trunc i64 %b to i32
  store i32 %b.32, ptr @s2s.ctaid
  BLOCK_START
"""
_THREADS = """
threads:
  %t = phi i64 [ 0, %BEFORE ], [ %t.next, %thread.done ]
  %t.more = icmp slt i64 %t, %block
  br i1 %t.more, label %thread.start, label %threads.done
thread.start:
  %mirrored = sub i64 %last, %t
  %tid = select i1 %is.reversed, i64 %mirrored, i64 %t
  %tid.32 = trunc i64 %tid to i32
  store i32 %tid.32, ptr @s2s.tid
  THREAD_START
"""
_WITHOUT_BARRIERS = (
    _LOOPS.replace("  HANDLES\n", "")
    + "  br label %threads\n"
    + _THREADS.replace("BEFORE", "block.start")
    + """
  call void @s2s.kernel(ARGUMENTS)
  br label %thread.done
thread.done:
  %t.next = add i64 %t, 1
  br label %threads
threads.done:
  br label %block.done
block.done:
  %b.next = add i64 %b, 1
  br label %blocks
finished:
  ret i64 0
}
"""
)
# A phase runs each thread of a block up to its next barrier or its end.  The threads then must all
# be at one barrier, or all at the end.
_WITH_BARRIERS = (
    _LOOPS.replace("HANDLES", "%handles = call ptr @malloc(i64 %handle.bytes)")
    + "  br label %phases\nphases:\n"
    + "  %phase = phi i64 [ 0, %block.start ], [ %phase.next, %phase.done ]\n"
    + "  br label %threads\n"
    + _THREADS.replace("BEFORE, ", "")
    .replace("[ 0, %BEFORE ]", "[ 0, %phases ]")
    .replace(
        "%t.next, %thread.done ]\n",
        "%t.next, %thread.done ]\n"
        "  %ended = phi i64 [ 0, %phases ], [ %ended.next, %thread.done ]\n"
        "  %place = phi i32 [ 0, %phases ], [ %at, %thread.done ]\n"
        "  %apart = phi i1 [ false, %phases ], [ %apart.next, %thread.done ]\n",
    )
    + """
  %slot = getelementptr ptr, ptr %handles, i64 %tid
  store i32 0, ptr @s2s.at
  %is.first = icmp eq i64 %phase, 0
  br i1 %is.first, label %thread.begin, label %thread.resume
thread.begin:
  %new = call ptr @s2s.kernel(ARGUMENTS)
  store ptr %new, ptr %slot
  br label %thread.done
thread.resume:
  %old = load ptr, ptr %slot
  call void @llvm.coro.resume(ptr %old)
  br label %thread.done
thread.done:
  %handle = load ptr, ptr %slot
  %is.done = call i1 @llvm.coro.done(ptr %handle)
  %one = zext i1 %is.done to i64
  %ended.next = add i64 %ended, %one
  %at.now = load i32, ptr @s2s.at
  %at = select i1 %is.done, i32 -1, i32 %at.now
  %is.same = icmp eq i32 %at, %place
  %is.zeroth = icmp eq i64 %t, 0
  %is.fine = or i1 %is.same, %is.zeroth
  %is.apart = xor i1 %is.fine, true
  %apart.next = or i1 %apart, %is.apart
  %t.next = add i64 %t, 1
  br label %threads
threads.done:
  %phase.next = add i64 %phase, 1
  br i1 %apart, label %diverged, label %phase.end
phase.end:
  %all.ended = icmp eq i64 %ended, %block
  br i1 %all.ended, label %release, label %phase.done
phase.done:
  br label %phases
diverged:
  br label %release
release:
  %bad = phi i1 [ true, %diverged ], [ false, %phase.end ]
  br label %releases
releases:
  %r = phi i64 [ 0, %release ], [ %r.next, %release.one ]
  %r.more = icmp slt i64 %r, %block
  br i1 %r.more, label %release.one, label %released
release.one:
  %r.slot = getelementptr ptr, ptr %handles, i64 %r
  %r.handle = load ptr, ptr %r.slot
  call void @llvm.coro.destroy(ptr %r.handle)
  %r.next = add i64 %r, 1
  br label %releases
released:
  br i1 %bad, label %failed, label %block.done
block.done:
  %b.next = add i64 %b, 1
  br label %blocks
failed:
  call void @free(ptr %handles)
  ret i64 1
finished:
  call void @free(ptr %handles)
  ret i64 0
}
"""
)


# ---------------------------------------------------------------- shadow memory


def _announced(body: str) -> str:
    """The body of a kernel with a call before each access to an array."""
    lines = []
    for line in body.splitlines():
        if found := re.match(r"  %\S+ = load (?:volatile )?(.+?), ptr (\S+?)(?:,|$)", line):
            if not found[2].startswith("@s2s."):
                lines.append(_call("load", found[2], _size(found[1])))
        elif found := re.match(r"  store (?:volatile )?(.+), ptr (\S+?)(?:,|$)", line):
            type_ = re.match(r"(\[.*?\]+|\{.*?\}+|\S+) ", found[1])
            assert type_ is not None
            lines.append(_call("store", found[2], _size(_type_before(found[1]))))
        elif found := re.match(r"  %\S+ = atomicrmw (?:volatile )?\w+ ptr (\S+), (\w+) ", line):
            lines.append(_call("atomic", found[1], _size(found[2])))
        elif found := re.match(r"  %\S+ = cmpxchg (?:\w+ )*ptr (\S+), (\w+) ", line):
            lines.append(_call("atomic", found[1], _size(found[2])))
        if found := re.match(r"  (%\S+) = alloca (.+?)(?:, align \d+)?$", line):
            # room behind an array, so that an index slightly out of bounds does not reach another
            line = re.sub(r"alloca \[(\d+) x", lambda m: f"alloca [{int(m[1]) + 8} x", line)
            lines += [line, _call("local", found[1], _size(found[2]))]
        else:
            lines.append(line)
    return "\n".join(lines)


def _call(kind: str, pointer: str, size: int) -> str:
    return f"  call void @s2s_shadow_{kind}(ptr {pointer}, i64 {size})"


def _type_before(text: str) -> str:
    """The type at the start of a typed value."""
    depth = 0
    for i, char in enumerate(text):
        depth += (char in "[{") - (char in "]}")
        if char == " " and depth == 0:
            return text[:i]
    return text


def _size(type_: str) -> int:
    """The size of a type in bytes, without padding."""
    type_ = type_.strip()
    if found := re.fullmatch(r"\[(\d+) x (.*)\]", type_):
        return int(found[1]) * _size(found[2])
    if type_.startswith("{"):
        return sum(_size(part) for part in re.split(r",(?![^\[{]*[\]}])", type_[1:-1]))
    if found := re.fullmatch(r"i(\d+)", type_):
        return max(1, int(found[1]) // 8)
    return _SIZES[type_]

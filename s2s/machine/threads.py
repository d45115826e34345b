"""Threads that run the chunks of a loop: `s2s_parallel_for(run, context, count)`.

It calls run(context, chunk) for each chunk below `count`, on the calling thread and on those of a
pool, each taking the next chunk when it has finished one.  A call that finds the pool busy, from
another thread or from inside a chunk, does all its chunks itself; so does a forked child, which
has no pool.  Threads that have nothing to do look for work for some microseconds, then sleep.

The pool's threads are Python's, but never hold the GIL: they stay in the function `work`, which
sleeps by means of Python's own locks.  `state` is OPEN while there is something to share, plus
the number of the pool's threads that are at it; who opens it waits for that number to become 0
before it lets go of the context.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, config

from .buffers import INT, POINTER

NAME = "s2s_parallel_for"
RUN = ir.FunctionType(ir.VoidType(), [POINTER, INT])
LAUNCH = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, INT])

OPEN = 1 << 32
SPINS = 2000  # how often to look for work before going to sleep
MOST = 128  # threads
WAIT = ir.IntType(32)(1)
_LINE = 64  # bytes that processors pass on at once


def start() -> None:
    """Makes `s2s_parallel_for` known to machine code, and starts the threads."""
    with _starting:
        if not _pool:
            _pool.append(_Pool(config.NUMBA_NUM_THREADS))


_starting = threading.Lock()
_pool: list[_Pool] = []


class _Pool:
    """One for the process, and for good: its threads run its code until the process ends."""

    def __init__(self, threads: int) -> None:
        self.engine = _compiled()
        llvm.add_symbol(NAME, self.engine.get_function_address(NAME))
        self.reset = ctypes.CFUNCTYPE(None)(self.engine.get_function_address("reset"))
        work = ctypes.CFUNCTYPE(None)(self.engine.get_function_address("work"))
        self.reset()
        for _ in range(min(threads, MOST) - 1):
            threading.Thread(target=work, name="s2s", daemon=True).start()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.reset)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.engine))


def _compiled() -> Any:
    """The functions, as machine code."""
    module = ir.Module("s2s.threads")
    module.triple = llvm.get_process_triple()
    _Writer(module).all()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    return engine


class _Writer:
    """Writes the functions in LLVM's language."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.builder: Any = None
        self.busy, self.state, self.next = map(self._number, ("busy", "state", "next"))
        self.count, self.workers = map(self._number, ("count", "workers"))
        self.run, self.context = (self._global(n, POINTER) for n in ("run", "context"))
        self.never = self._global("never", POINTER)  # a lock that is not let go of
        # Of each of the pool's threads: what it sleeps at, and whether it does.
        self.beds = self._global("beds", ir.ArrayType(POINTER, MOST))
        self.asleep = self._global("asleep", ir.ArrayType(INT, MOST))
        status = WAIT.type
        self.make_lock = self._python("PyThread_allocate_lock", POINTER, [])
        self.acquire = self._python("PyThread_acquire_lock", status, [POINTER, status])
        self.acquire_timed = self._python(
            "PyThread_acquire_lock_timed", status, [POINTER, INT, status]
        )
        self.release = self._python("PyThread_release_lock", ir.VoidType(), [POINTER])

    def all(self) -> None:
        share = self._function("share", ir.FunctionType(ir.VoidType(), []), self._share)
        share.linkage = "internal"
        self._function(NAME, LAUNCH, lambda *args: self._launch(share, *args))
        self._function("work", ir.FunctionType(ir.VoidType(), []), lambda: self._work(share))
        self._function("reset", ir.FunctionType(ir.VoidType(), []), self._reset)

    # ---- the functions

    def _share(self) -> None:
        """Does chunks until there is none left."""
        builder = self.builder
        run = builder.bitcast(builder.load(self.run), RUN.as_pointer())
        context, count = builder.load(self.context), builder.load(self.count)
        take, done = self._blocks(2)
        builder.branch(take)
        builder.position_at_end(take)
        chunk = builder.atomic_rmw("add", self.next, INT(1), "acq_rel")
        with builder.if_then(builder.icmp_signed(">=", chunk, count), likely=False):
            builder.branch(done)
        builder.call(run, [context, chunk])
        builder.branch(take)
        builder.position_at_end(done)

    def _launch(self, share: Any, run: Any, context: Any, count: Any) -> None:
        builder = self.builder
        alone, together = self._blocks(2)
        workers = builder.load_atomic(self.workers, "acquire", 8)
        few = builder.icmp_signed("<=", count, INT(1))
        with builder.if_then(builder.or_(few, builder.icmp_signed("==", workers, INT(0)))):
            builder.branch(alone)
        taken = builder.cmpxchg(self.busy, INT(0), INT(1), "acq_rel", "acquire")
        builder.cbranch(builder.extract_value(taken, 1), together, alone)

        builder.position_at_end(alone)
        with cgutils.for_range(builder, count) as loop:
            builder.call(builder.bitcast(run, RUN.as_pointer()), [context, loop.index])
        builder.ret_void()

        builder.position_at_end(together)
        builder.store(run, self.run)
        builder.store(context, self.context)
        builder.store(count, self.count)
        builder.store_atomic(INT(0), self.next, "release", 8)
        builder.store_atomic(INT(OPEN), self.state, "seq_cst", 8)
        others = builder.sub(count, INT(1))
        fewer = builder.icmp_signed("<", others, workers)
        with cgutils.for_range(builder, builder.select(fewer, others, workers)) as loop:
            self._wake(loop.index)
        builder.call(share, [])
        builder.atomic_rmw("sub", self.state, INT(OPEN), "acq_rel")
        self._until(lambda: builder.icmp_signed("==", self._seen(self.state), INT(0)))
        builder.store_atomic(INT(0), self.busy, "release", 8)

    def _wake(self, worker: Any) -> None:
        builder = self.builder
        flag = builder.gep(self.asleep, [INT(0), worker], inbounds=True)
        was = builder.atomic_rmw("xchg", flag, INT(0), "seq_cst")
        with builder.if_then(builder.icmp_signed("==", was, INT(1))):
            bed = builder.gep(self.beds, [INT(0), worker], inbounds=True)
            builder.call(self.release, [builder.load(bed)])

    def _work(self, share: Any) -> None:
        """What a thread of the pool does for ever."""
        builder = self.builder
        lock = builder.call(self.make_lock, [])
        builder.call(self.acquire, [lock, WAIT])
        own = builder.atomic_rmw("add", self.workers, INT(1), "acq_rel")
        flag = builder.gep(self.asleep, [INT(0), own], inbounds=True)
        builder.store(lock, builder.gep(self.beds, [INT(0), own], inbounds=True))
        spins = builder.alloca(INT)
        rested, look, again, tired, sleep, enter, leave = self._blocks(7)
        builder.branch(rested)

        builder.position_at_end(rested)
        builder.store(INT(0), spins)
        builder.branch(look)

        builder.position_at_end(look)
        builder.cbranch(self._open(), enter, again)

        builder.position_at_end(again)
        self._pause()
        more = builder.add(builder.load(spins), INT(1))
        builder.store(more, spins)
        builder.cbranch(builder.icmp_signed("<", more, INT(SPINS)), look, tired)

        # Whoever opens after this sees the flag; what was opened before is seen here.
        builder.position_at_end(tired)
        builder.atomic_rmw("xchg", flag, INT(1), "seq_cst")
        with builder.if_then(self._open()):
            was = builder.atomic_rmw("xchg", flag, INT(0), "seq_cst")
            builder.cbranch(builder.icmp_signed("==", was, INT(1)), enter, sleep)
        builder.branch(sleep)

        builder.position_at_end(sleep)
        builder.call(self.acquire, [lock, WAIT])
        builder.branch(rested)

        builder.position_at_end(enter)
        seen = self._seen(self.state)
        with builder.if_then(builder.icmp_signed(">=", seen, INT(OPEN))):
            more = builder.add(seen, INT(1))
            joined = builder.cmpxchg(self.state, seen, more, "acq_rel", "acquire")
            builder.cbranch(builder.extract_value(joined, 1), leave, enter)
        builder.branch(rested)

        builder.position_at_end(leave)
        builder.call(share, [])
        builder.atomic_rmw("sub", self.state, INT(1), "acq_rel")
        builder.branch(rested)

    def _reset(self) -> None:
        """At the start, and after a fork, when the threads are gone."""
        builder = self.builder
        for number in (self.workers, self.state, self.busy):
            builder.store(INT(0), number)
        never = builder.call(self.make_lock, [])
        builder.call(self.acquire, [never, WAIT])
        builder.store(never, self.never)

    # ---- pieces

    def _open(self) -> Any:
        """Whether there is something to do."""
        builder = self.builder
        opened = builder.icmp_signed(">=", self._seen(self.state), INT(OPEN))
        left = builder.icmp_signed("<", self._seen(self.next), self._seen(self.count))
        return builder.and_(opened, left)

    def _until(self, done: Callable[[], Any]) -> None:
        """Waits for what another thread is about to do, or, if it has been put aside by the
        operating system, for that to let it run."""
        builder = self.builder
        check, wait, after = self._blocks(3)
        spins = builder.alloca(INT)
        builder.store(INT(0), spins)
        builder.branch(check)
        builder.position_at_end(check)
        builder.cbranch(done(), after, wait)
        builder.position_at_end(wait)
        self._pause()
        more = builder.add(builder.load(spins), INT(1))
        builder.store(more, spins)
        with builder.if_then(builder.icmp_signed(">", more, INT(SPINS)), likely=False):
            microseconds = INT(50)
            never = builder.load(self.never)
            builder.call(self.acquire_timed, [never, microseconds, ir.IntType(32)(0)])
        builder.branch(check)
        builder.position_at_end(after)

    def _pause(self) -> None:
        """Tells the processor that this is a loop that waits."""
        machine = platform.machine().lower()
        if machine in ("x86_64", "amd64"):
            self._hint("llvm.x86.sse2.pause", [])
        elif machine in ("aarch64", "arm64"):
            self._hint("llvm.aarch64.hint", [ir.IntType(32)(1)])

    def _hint(self, name: str, args: list[Any]) -> None:
        type_ = ir.FunctionType(ir.VoidType(), [a.type for a in args])
        self.builder.call(cgutils.get_or_insert_function(self.module, type_, name), args)

    def _seen(self, number: Any) -> Any:
        return self.builder.load_atomic(number, "seq_cst", 8)

    def _blocks(self, count: int) -> list[Any]:
        return [self.builder.append_basic_block() for _ in range(count)]

    def _function(self, name: str, type_: Any, write: Callable[..., None]) -> Any:
        function = ir.Function(self.module, type_, name)
        self.builder = ir.IRBuilder(function.append_basic_block())
        write(*function.args)
        if not self.builder.block.is_terminated:
            self.builder.ret_void()
        return function

    def _number(self, name: str) -> Any:
        return self._global(name, INT)

    def _global(self, name: str, type_: Any) -> Any:
        variable = ir.GlobalVariable(self.module, type_, name)
        variable.linkage = "internal"
        variable.initializer = ir.Constant(type_, None)
        variable.align = _LINE
        return variable

    def _python(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """A function of Python's C API that needs no GIL."""
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        llvm.add_symbol(name, address)
        return ir.Function(self.module, ir.FunctionType(result, arguments), name)

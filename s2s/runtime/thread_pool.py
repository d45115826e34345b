"""Thread pool for the chunks of a parallel loop: `s2s_parallel_for(run, context, count)`.

It calls run(context, chunk) for each chunk below `count`, on the calling thread and on the threads
of a pool; each takes the next chunk when it has finished one.  If the pool is busy, with a call
from another thread or from inside a chunk, the calling thread runs all chunks itself.  So does a
forked child, which has no pool.  Idle threads spin for some microseconds, then sleep.

The threads of the pool are Python threads that never hold the GIL: they stay in the function
`work`, which sleeps on Python's locks.
"""

from __future__ import annotations

import functools
import os
import platform
import threading
from pathlib import Path
from typing import Any

from . import jit_link

NAME = jit_link.PARALLEL_FOR
MAX_THREADS = 128

# `state` is 2**32 while a loop is open, plus the number of pool threads that work on it.  The
# caller waits for that number to become 0 before it releases the context.  `asleep[i]` is 1 if pool
# thread i sleeps, or is about to, on its lock `beds[i]`; the thread that clears the flag wakes it.
# `never` is a lock that is never released.
_TEXT = """
%range = type {i64, i64, [6 x i64]}
@busy = internal global i64 0, align 64
@state = internal global i64 0, align 64
@left = internal global i64 0, align 64
@workers = internal global i64 0, align 64
@ranges = internal global i64 0, align 64
@next = internal global [PLACES x %range] zeroinitializer, align 64
@run = internal global void (i8*, i64)* null
@context = internal global i8* null
@never = internal global i8* null
@beds = internal global [MOST x i8*] zeroinitializer
@asleep = internal global [MOST x i64] zeroinitializer, align 64

declare i8* @PyThread_allocate_lock()
declare i32 @PyThread_acquire_lock(i8*, i32)
declare i32 @PyThread_acquire_lock_timed(i8*, i64, i32)
declare void @PyThread_release_lock(i8*)
DECLARE_PAUSE

; At the start, and in a forked child, whose threads are gone.
define void @reset() {
  store i64 0, i64* @busy
  store i64 0, i64* @state
  store i64 0, i64* @workers
  %lock = call i8* @PyThread_allocate_lock()
  call i32 @PyThread_acquire_lock(i8* %lock, i32 1)
  store i8* %lock, i8** @never
  ret void
}

define void @s2s_parallel_for(void (i8*, i64)* %run, i8* %context, i64 %count) {
  %several = icmp sgt i64 %count, 1
  %workers = load atomic i64, i64* @workers acquire, align 8
  %helped = icmp sgt i64 %workers, 0
  %worth = and i1 %several, %helped
  br i1 %worth, label %ask, label %alone
ask:
  %taken = cmpxchg i64* @busy, i64 0, i64 1 acq_rel acquire
  %free = extractvalue {i64, i1} %taken, 1
  br i1 %free, label %together, label %alone

alone:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %one, label %end
one:
  %chunk = phi i64 [0, %alone], [%following, %one]
  call void %run(i8* %context, i64 %chunk)
  %following = add i64 %chunk, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %one, label %end
end:
  ret void

together:
  store void (i8*, i64)* %run, void (i8*, i64)** @run
  store i8* %context, i8** @context
  %others = sub i64 %count, 1
  %fewer = icmp slt i64 %others, %workers
  %wanted = select i1 %fewer, i64 %others, i64 %workers
  %ranges = add i64 %wanted, 1
  store i64 %ranges, i64* @ranges
  br label %cut
cut:
  %range = phi i64 [0, %together], [%range.after, %cut]
  %range.after = add i64 %range, 1
  %passed = mul i64 %range, %count
  %begin = sdiv i64 %passed, %ranges
  %passed.after = mul i64 %range.after, %count
  %end.at = sdiv i64 %passed.after, %ranges
  %begin.place = getelementptr [PLACES x %range], [PLACES x %range]* @next, i64 0, i64 %range, i32 0
  %end.place = getelementptr [PLACES x %range], [PLACES x %range]* @next, i64 0, i64 %range, i32 1
  store atomic i64 %begin, i64* %begin.place release, align 8
  store i64 %end.at, i64* %end.place
  %cut.all = icmp eq i64 %range.after, %ranges
  br i1 %cut.all, label %open, label %cut
open:
  store atomic i64 %count, i64* @left seq_cst, align 8
  store atomic i64 4294967296, i64* @state seq_cst, align 8
  br label %call
call:
  %worker = phi i64 [0, %open], [%after, %called]
  %mark = getelementptr [MOST x i64], [MOST x i64]* @asleep, i64 0, i64 %worker
  %was = atomicrmw xchg i64* %mark, i64 0 seq_cst
  %slept = icmp eq i64 %was, 1
  br i1 %slept, label %wake, label %called
wake:
  %bed = getelementptr [MOST x i8*], [MOST x i8*]* @beds, i64 0, i64 %worker
  %lock = load i8*, i8** %bed
  call void @PyThread_release_lock(i8* %lock)
  br label %called
called:
  %after = add i64 %worker, 1
  %all = icmp eq i64 %after, %wanted
  br i1 %all, label %work, label %call
work:
  call void @share(i64 0)
  %closed = atomicrmw sub i64* @state, i64 4294967296 acq_rel
  br label %check
check:
  %spins = phi i64 [0, %work], [%spun, %pause], [%spun, %doze]
  %inside = load atomic i64, i64* @state acquire, align 8
  %left = icmp eq i64 %inside, 0
  br i1 %left, label %done, label %wait
wait:
  %spun = add i64 %spins, 1
  %long = icmp sgt i64 %spun, SPINS
  br i1 %long, label %doze, label %pause
pause:
  PAUSE
  br label %check
doze:  ; the thread waited for has been put aside: let it run
  %never = load i8*, i8** @never
  call i32 @PyThread_acquire_lock_timed(i8* %never, i64 50, i32 0)
  br label %check
done:
  store atomic i64 0, i64* @busy release, align 8
  ret void
}

; Does chunks until there is none left: of the range with its own number first, which is the same
; part of the data in each loop, then of the others.
define internal void @share(i64 %own) {
  %run = load void (i8*, i64)*, void (i8*, i64)** @run
  %context = load i8*, i8** @context
  %ranges = load i64, i64* @ranges
  %known = icmp slt i64 %own, %ranges
  %first = select i1 %known, i64 %own, i64 0
  br label %choose
choose:
  %range = phi i64 [%first, %0], [%following, %next]
  %tried = phi i64 [0, %0], [%tried.more, %next]
  %place = getelementptr [PLACES x %range], [PLACES x %range]* @next, i64 0, i64 %range, i32 0
  %end.place = getelementptr [PLACES x %range], [PLACES x %range]* @next, i64 0, i64 %range, i32 1
  %end = load i64, i64* %end.place
  br label %take
take:
  %chunk = atomicrmw add i64* %place, i64 1 acq_rel
  %more = icmp slt i64 %chunk, %end
  br i1 %more, label %do, label %next
do:
  %before = atomicrmw sub i64* @left, i64 1 acq_rel
  call void %run(i8* %context, i64 %chunk)
  br label %take
next:
  %tried.more = add i64 %tried, 1
  %up = add i64 %range, 1
  %last = icmp eq i64 %up, %ranges
  %following = select i1 %last, i64 0, i64 %up
  %all = icmp eq i64 %tried.more, %ranges
  br i1 %all, label %done, label %choose
done:
  ret void
}

; What a thread of the pool does, for ever.
define void @work() {
  %lock = call i8* @PyThread_allocate_lock()
  call i32 @PyThread_acquire_lock(i8* %lock, i32 1)
  %worker = atomicrmw add i64* @workers, i64 1 acq_rel
  %own = add i64 %worker, 1
  %bed = getelementptr [MOST x i8*], [MOST x i8*]* @beds, i64 0, i64 %worker
  store i8* %lock, i8** %bed
  %mark = getelementptr [MOST x i64], [MOST x i64]* @asleep, i64 0, i64 %worker
  br label %rested
rested:
  br label %look
look:
  %spins = phi i64 [0, %rested], [%spun, %again]
  %some = call i1 @open()
  br i1 %some, label %enter, label %again
again:
  PAUSE
  %spun = add i64 %spins, 1
  %tired = icmp sgt i64 %spun, SPINS
  br i1 %tired, label %lie.down, label %look
lie.down:  ; who opens after this sees the mark; what was opened before is seen here
  %down = atomicrmw xchg i64* %mark, i64 1 seq_cst
  %late = call i1 @open()
  br i1 %late, label %get.up, label %sleep
get.up:
  %was = atomicrmw xchg i64* %mark, i64 0 seq_cst
  %still = icmp eq i64 %was, 1
  br i1 %still, label %enter, label %sleep
sleep:
  call i32 @PyThread_acquire_lock(i8* %lock, i32 1)
  br label %rested
enter:
  %seen = load atomic i64, i64* @state seq_cst, align 8
  %open = icmp sge i64 %seen, 4294967296
  br i1 %open, label %join, label %rested
join:
  %more = add i64 %seen, 1
  %joined = cmpxchg i64* @state, i64 %seen, i64 %more acq_rel acquire
  %is.in = extractvalue {i64, i1} %joined, 1
  br i1 %is.in, label %help, label %enter
help:
  call void @share(i64 %own)
  %out = atomicrmw sub i64* @state, i64 1 acq_rel
  br label %rested
}

; Whether there is something to do.
define internal i1 @open() {
  %state = load atomic i64, i64* @state seq_cst, align 8
  %left = load atomic i64, i64* @left seq_cst, align 8
  %open = icmp sge i64 %state, 4294967296
  %some = icmp sgt i64 %left, 0
  %both = and i1 %open, %some
  ret i1 %both
}
"""
# The spin-wait hint of the processor: declaration and call.
_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
_SPINS = 2000  # iterations before a waiting thread sleeps


@functools.cache
def _started() -> Any:
    """Link the library and start its threads, which run until the process ends."""
    import ctypes

    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(name := platform.machine().lower(), name)
    declare, pause = _PAUSES.get(machine, ("", ""))
    text = _TEXT.replace("DECLARE_PAUSE", declare).replace("PAUSE", pause)
    text = (
        text.replace("MOST", str(MAX_THREADS))
        .replace("PLACES", str(MAX_THREADS + 1))
        .replace("SPINS", str(_SPINS))
    )
    locks = [f"PyThread_{verb}_lock" for verb in ("allocate", "acquire", "release")]
    python = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in (*locks, "PyThread_acquire_lock_timed")
    }
    library = jit_link.runtime(text, (NAME, "reset", "work"), python)
    reset, work = (ctypes.CFUNCTYPE(None)(library[name]) for name in ("reset", "work"))
    reset()
    for _ in range(min(thread_count(), MAX_THREADS) - 1):
        threading.Thread(target=work, name="s2s", daemon=True).start()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=reset)
    return library


def thread_count() -> int:
    """The number of threads, including the calling one: NUMBA_NUM_THREADS, OMP_NUM_THREADS, or the
    number of cores that this process may use."""
    for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        setting = os.environ.get(variable, "").partition(",")[0].strip()
        if setting.isdigit() and int(setting):
            return int(setting)
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, _quota()))


@functools.cache
def _quota() -> int:
    """The CPU quota of the container in cores (Linux cgroups); `MAX_THREADS` without a limit."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            words = " ".join((Path("/sys/fs/cgroup") / name).read_text() for name in names)
            quota, period = map(int, words.split())
        except (OSError, ValueError):  # no such file, or the value "max"
            continue
        if quota > 0 and period > 0:
            return -(-quota // period)
    return MAX_THREADS


_starting = threading.Lock()


def address() -> int:
    """The address of `s2s_parallel_for`; the first call starts the threads."""
    with _starting:
        return _started()[NAME]

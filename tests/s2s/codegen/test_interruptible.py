"""Long calls of LLVM: results and errors pass through, and Ctrl-C takes effect at once."""

from __future__ import annotations

import gc
import signal
import threading
import weakref

import pytest

from s2s.codegen.interruptible import interruptible


def test_results_and_errors_pass_through() -> None:
    assert interruptible(lambda: 7) == 7
    assert interruptible(lambda: None) is None

    def fail() -> None:
        raise KeyError("k")

    with pytest.raises(KeyError, match="k"):
        interruptible(fail)
    with pytest.raises(SystemExit):
        interruptible(lambda: (_ for _ in ()).throw(SystemExit(3)))


def test_the_main_thread_waits_and_others_work_themselves() -> None:
    workers: list[threading.Thread] = []
    interruptible(lambda: workers.append(threading.current_thread()))
    assert workers[0] is not threading.main_thread() and not workers[0].is_alive()

    def inside() -> None:
        interruptible(lambda: workers.append(threading.current_thread()))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert workers[1] is thread


def test_nested_calls_stay_in_their_thread() -> None:
    def work() -> bool:
        here = threading.current_thread()
        return interruptible(lambda: threading.current_thread() is here)

    assert interruptible(work)


class Operand:
    """What the call uses."""


def test_an_interrupt_does_not_wait_for_the_call() -> None:
    """The call runs to its end, with its operands alive."""
    started, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    operand = Operand()
    alive = weakref.ref(operand)

    def work(operand: Operand = operand) -> None:
        started.set()
        assert go_on.wait(30)
        assert alive() is operand
        ended.set()

    def interrupt() -> None:
        assert started.wait(30)
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    helper = threading.Thread(target=interrupt)
    try:
        helper.start()
        with pytest.raises(KeyboardInterrupt):
            interruptible(work)
            # The signal may be handled only after the lock has been released.
            raise AssertionError("the call was waited for")
    finally:
        signal.signal(signal.SIGINT, before)
        helper.join()
    assert not ended.is_set()
    del operand, work
    gc.collect()
    assert alive() is not None
    go_on.set()
    assert ended.wait(30)

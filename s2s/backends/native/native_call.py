"""Call stubs of native kernels: bytecode for the call VM, with Python source as
fallback."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...call.call_stub import CallStub, Entry, StubWriter
from ...errors import MISS
from . import call_vm
from .call_bytecode import compile_stub
from .entry_signature import Signature
from .native_loader import same_items

if TYPE_CHECKING:
    from ...transforms.frontend.pytree import ArraySpec, Spec

# Number of calls that the bytecode rejects, but the Python stub accepts, before new bytecode is
# generated.  The threshold doubles each time.
INITIAL_REPLAN_THRESHOLD = 16

Plan = tuple[Any, ...]


class NativeWriter(StubWriter):
    """Generates the stub for a native kernel, whose entry thunk checks the types of its
    arguments."""

    may_miss = True

    def __init__(self, entry: Entry, args: tuple[Any, ...], signature: Signature) -> None:
        super().__init__(entry, args)
        self.signature = signature

    def checks_exactly(self, spec: Spec) -> bool:
        return True

    def tabled(self) -> dict[int, ArraySpec]:
        return {}

    def compare_items(self, text: str, container: list[Any]) -> None:
        self.space["same_items"] = same_items()
        self.miss(f"not same_items({text}, {self.constant(list(container))})")

    def results(self) -> None:
        """The entry thunk boxes scalars itself, and returns a single result without a tuple."""
        count = len(self.compiled.result_types)
        self.raw = {i: f"rest[{i}]" if count > 1 else "rest" for i in range(count)}
        self.converters = {}

    def python_float(self, i: int) -> str:
        is_one = self.signature.results[i] == "float"
        return self.raw[i] if is_one else super().python_float(i)

    def takes_seed(self) -> bool:
        return self.entry.seed is not None

    def made(self, given: list[str], after: list[str]) -> CallStub:
        before = [*self.each_call, *self.last]
        constant, arity, rarely = self.constant, len(self.args), self.after_change
        count = len(self.compiled.result_types)

        def make_plan() -> Plan | None:
            return compile_stub(constant, arity, before, rarely, given, count, after)

        made = (
            make_plan()
        )  # before the Python stub is generated: it may add lines to `after_change`
        call = super().made(given, after)
        return call if made is None else PlannedCall(self.entry, call.run, make_plan, made)


class PlannedCall(CallStub):
    """A call stub with bytecode.  The bytecode checks are conservative: for example, any new name
    in a module is a miss.  So the Python stub (`text`) is tried on a miss, and new bytecode is
    generated after repeated misses."""

    def __init__(
        self, entry: Entry, text: Any, make_plan: Callable[[], Plan | None], plan: Plan
    ) -> None:
        super().__init__(entry, None, None)
        self.text, self.make_plan, self.bytecode = text, make_plan, plan
        self.run = self._load_and_run
        self.refused, self.replan_threshold = 0, INITIAL_REPLAN_THRESHOLD

    def _load_and_run(self, *args: Any) -> Any:
        """Load the call VM at the first call, then run the bytecode."""
        self.run = call_vm.runner(self.bytecode)
        return self.run(*args)

    def retry(self, *args: Any) -> Any:
        found = self.text(*args)
        if found is not MISS:
            self.refused += 1
            if self.refused >= self.replan_threshold:
                self.refused, self.replan_threshold = 0, 2 * self.replan_threshold
                self._replan()
        return found

    def _replan(self) -> None:
        made = self.make_plan()
        if made is not None:
            self.bytecode, self.run = made, self._load_and_run

    def install(self, cls: type) -> None:
        call_vm.install(cls)

"""Snapshot of the inputs of a tape's block in plain Python, taken when the block is entered.

Before the block runs, the compiler's front end specialises it for its inputs.  This yields the
access path of every array, scalar and random generator that the block reads through names, objects
and containers, and of everything that determines its structure.  Arrays are copied, and the states
of generators are saved; Variables are copied on write; for all other locations the value is
recorded.  During a query, `restored` temporarily restores the locations that have changed.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dispatch.specializations import Specialiser
from ..errors import UnsupportedError
from ..transforms.frontend.pytree import Path, Step, follow, path_text

if TYPE_CHECKING:
    from ..dispatch.specialization import Specialization
    from ..transforms.pipeline import Compiled

ADVICE = "move such lines out of the block, or decorate the step with @s2s.function"


class InputCollector(Specialiser):
    """Determines the inputs of a block; no code is generated."""

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self.paths_by_entry: dict[Specialization, list[Path]] = {}

    def places(self, entry: Specialization) -> list[Path]:
        """All prefixes of the access paths of its guards and parameters, holders first."""
        if entry not in self.paths_by_entry:
            compiled = entry.compiled
            paths = [*(g.path for g in compiled.object_guards), *(p.path for p in compiled.params)]
            every = dict.fromkeys(p[:n] for p in paths for n in range(1, len(p) + 1))
            self.paths_by_entry[entry] = list(every)
        return self.paths_by_entry[entry]

    def _count(self, previous: Specialization, args: tuple[Any, ...]) -> None:
        """No recompilation warning here: compiling the query function issues it."""

    def translate(self, specs: Any, values: Any) -> Compiled:
        from ..transforms import pipeline

        return pipeline.analyse_reads(self.request(specs, values))


class InputSnapshot:
    """The snapshot.  `names` are the names that the block reads, with their values.  `arrays` and
    `generators` are pairs of the original and its copy or state, by the id of the original.
    `variables` are the arrays of Variables, `kept` those that have changed since, with copies of
    their old values.  `items` and `attributes` are (holder, key, value), `contents` are containers
    and shallow copies of them.  `legacy` is the state of NumPy's global random generator, if used;
    `refusal` is the error met when reading the block."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.arrays: dict[int, tuple[Any, Any]] = {}
        self.generators: dict[int, tuple[Any, Any]] = {}
        self.variables: dict[int, Any] = {}
        self.kept: dict[int, tuple[Any, Any]] = {}
        self.items: list[tuple[Any, Any, Any]] = []
        self.attributes: list[tuple[Any, str, Any]] = []
        self.contents: list[tuple[Any, Any]] = []
        self.unused: set[Path] = set()
        self.legacy: Any = None
        self.reading: Specialization | None = None
        self.refusal: Exception | None = None

    # ---- on entry

    def read(self, reader: InputCollector, args: tuple[Any, ...]) -> None:
        """Take the snapshot of all inputs."""
        try:
            entry, params = reader.find(args, "loops")
        except Exception as error:  # raised when a gradient is requested
            self.refusal = error
            return
        self.reading = entry
        reads: Any = entry.compiled
        for i, (param, value) in enumerate(zip(reads.params, params)):
            if i not in reads.used:
                self.unused.add(param.path)
            elif isinstance(value, np.random.Generator):
                self.generators[id(value)] = value, value.bit_generator.state
            elif not isinstance(value, np.ndarray):
                continue
            elif param.path[-1] == (".", "_array"):
                self.variables[id(value)] = value
            else:
                self.arrays[id(value)] = value, value.copy(order="K")
        if reads.legacy:
            self.legacy = np.random.get_state()
        self._record_paths(reader.places(entry), entry, args)

    def _record_paths(
        self, places: list[Path], entry: Specialization, args: tuple[Any, ...]
    ) -> None:
        """Record the values of attributes and items along the access paths."""
        reached: dict[Path, Any] = {}
        for path in places:
            if len(path) == 1:
                reached[path] = entry.reach.value(args, path)
            else:
                holder, step = reached[path[:-1]], path[-1]
                reached[path] = follow(holder, (step,))
                self._record_location(holder, step, reached[path])
        recorded: set[int] = set()
        for path, value in reached.items():
            if path[-1] != (".", "__globals__"):
                self._record_contents(value, recorded)
        for value in self.names.values():
            self._record_contents(value, recorded)

    def _record_location(self, holder: Any, step: Step, value: Any) -> None:
        """Record the value of one location, unless it is part of a container or an object's
        `__dict__`, which are recorded as a whole."""
        kind, key = step
        if kind == "[]":
            if isinstance(holder, dict):
                self.items.append((holder, key, value))
        elif isinstance(holder, types.ModuleType):
            self.items.append((vars(holder), key, value))
        elif key == "cell_contents" or isinstance(holder, type):
            self.attributes.append((holder, key, value))
        else:
            found = next((c for c in type(holder).__mro__ if key in vars(c)), None)
            if found is not None and isinstance(vars(found)[key], types.MemberDescriptorType):
                self.attributes.append((holder, key, value))
            elif found is not None and vars(found)[key] is value:
                self.attributes.append((found, key, value))

    def _record_contents(self, value: Any, recorded: set[int]) -> None:
        if id(value) in recorded or isinstance(value, OPAQUE) or hasattr(value, "_s2s_tape"):
            return
        recorded.add(id(value))
        if isinstance(value, (list, tuple, dict)):
            if not isinstance(value, tuple):
                self.contents.append((value, value.copy()))
            for part in value.values() if isinstance(value, dict) else value:
                self._record_contents(part, recorded)
            return
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            self.contents.append((own, own.copy()))

    # ---- afterwards

    def before_change(self, array: Any) -> bool:
        """Save the value of a Variable's array before its first change.  Returns True if the values
        of all Variables are saved."""
        if id(array) in self.variables and id(array) not in self.kept:
            self.kept[id(array)] = (array, array.copy())
        return len(self.kept) == len(self.variables)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Context manager: restore objects and containers to their state at the entry of the block,
        and undo that at the end."""
        undo: list[Callable[[], None]] = []
        try:
            for holder, then in self.contents:
                if not _same_items(holder, then):
                    undo.append(partial(_refill, holder, holder.copy()))
                    _refill(holder, then)
            for space, key, then in self.items:
                now = space[key] if not isinstance(space, dict) else space.get(key, UNSET)
                if now is not then:
                    undo.append(partial(_put, space, key, now))
                    _put(space, key, then)
            for holder, key, then in self.attributes:
                now = getattr(holder, key, UNSET)
                if now is not then:
                    undo.append(partial(setattr, holder, key, now))
                    setattr(holder, key, then)
            if self.legacy is not None:
                undo.append(partial(np.random.set_state, np.random.get_state()))
                np.random.set_state(self.legacy)
            yield
        finally:
            for step in reversed(undo):
                step()

    def params(self, entry: Specialization, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """The parameters of a kernel, as they were at the entry of the block; arrays that the
        kernel writes into are copied."""
        self._check_structure(entry)
        entry.check_writes(params)
        out = [
            self._value_at_entry(p.path, value) for p, value in zip(entry.compiled.params, params)
        ]
        for i in entry.compiled.written:
            out[i] = out[i].copy()
        return tuple(out)

    def _value_at_entry(self, path: Path, value: Any) -> Any:
        key = id(value)
        if isinstance(value, np.random.Generator):
            if key not in self.generators:
                raise self._changed(path)
            again = np.random.Generator(type(value.bit_generator)(0))
            again.bit_generator.state = self.generators[key][1]
            return again
        if not isinstance(value, np.ndarray):
            return value
        if key in self.arrays:
            return self.arrays[key][1]
        if key in self.kept:
            return self.kept[key][1]
        own = path[0] in (("arg", "seeds"), ("arg", "variables"))
        if own or key in self.variables or path in self.unused:
            return value
        raise self._changed(path)

    def _check_structure(self, entry: Specialization) -> None:
        """Raise an error if a guard of the query's specialisation contradicts the one at entry."""
        assert self.reading is not None
        then = {_guard_subject(g): g for g in self.reading.compiled.object_guards}
        for guard in entry.compiled.object_guards:
            # The guard with an empty path is on the function's own code, which differs: the block,
            # and the block with the query.
            other = then.get(_guard_subject(guard)) if guard.path else None
            if other is not None and not _guards_agree(guard, other):
                raise self._changed(guard.path)

    def _changed(self, path: Path) -> UnsupportedError:
        return UnsupportedError(
            f"the block of this tape reads {path_text(path)}, which has changed since and cannot "
            "be put back",
            advice=ADVICE,
        )


UNSET = object()
OPAQUE = (np.ndarray, np.generic, float, int, str, types.ModuleType, types.FunctionType, type)


def _put(space: Any, key: Any, value: Any) -> None:
    if value is UNSET:
        space.pop(key, None)
    else:
        space[key] = value


def _same_items(holder: Any, then: Any) -> bool:
    if len(holder) != len(then):
        return False
    if isinstance(holder, dict):
        pairs = zip(holder.items(), then.items())
        return all(a is b and x is y for (a, x), (b, y) in pairs)
    return all(a is b for a, b in zip(holder, then))


def _refill(holder: Any, contents: Any) -> None:
    if isinstance(holder, dict):
        holder.clear()
        holder.update(contents)
    else:
        holder[:] = contents


def _guard_subject(guard: Any) -> tuple[Any, ...]:
    """The subject of a guard: its path and kind, and the name looked up there, if any."""
    looked_up = (guard.expected[0],) if guard.kind in _NAME_LOOKUPS else ()
    return guard.path, guard.kind, *looked_up


_NAME_LOOKUPS = ("item", "attribute")


def _guards_agree(one: Any, two: Any) -> bool:
    a, b = one.expected, two.expected
    if a is b or (one.kind in _NAME_LOOKUPS and a == b):
        return True
    if one.kind == "function":
        return one.holds(b)
    return one.kind in ("equals", "length", "keys") and type(a) is type(b) and a == b

"""A Devito forward and gradient operator as one problem that adjourn can plan and run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from .. import mpi
from ..errors import BadValue, NotFinite, NotSupported, ScheduleError, WrongType
from ..planning import Costs, Plan
from ..problem import Array, Reads, Window
from ..running import RunRecord, Storage, run
from ..schedules import Schedule
from ._build import Operators, build
from ._calls import Call

__all__ = ["Adjoint"]

# plain advances go round a stretch of the window that caches hold, but of at least 8 steps, so
# that moving the live levels back to its beginning stays a small part of the work
_CACHE = 4 * 2**20
_LEAST = 8


class Adjoint:
    """The gradient of a Devito simulation within a budget of bytes.

    Built from the user's own operators; none of them is changed. It keeps the `Problem`
    protocol, so that `adjourn.run`, `adjourn.measure` and `adjourn.testing` take it as it is.

    Costs: beyond the operators' own data, a window of the recorded levels, allocated by
    `reserve` and kept until `close`, and one spare copy of each output that is not a wavefield
    (receivers), so that a replay does not touch what the first run wrote. One C call runs any
    range of steps.

    Parameters
    ----------
    forward, gradient : devito.Operator or callable
        The forward operator, stepping up in time, and the gradient operator, stepping down and
        reading the forward wavefields; or functions that make them from ``save``, the argument
        of `devito.TimeFunction`. Each function is called once. Wavefields made with ``save=nt``
        cost no memory here: only a window of them is ever allocated. Wavefields made with
        ``save=None`` or ``save=Buffer(n)`` keep their length: the window is what the ring holds.
    wavefields : iterable of TimeFunction
        The wavefields that the forward operator writes; others it writes are found by
        themselves. What they hold now is the initial state, zeros if they are not allocated.
    seed : callable, optional
        Called without arguments once the forward pass is complete, to fill what the gradient
        operator injects from what the forward operator recorded. What it returns is kept as
        ``loss``.
    names : mapping of str to str, optional
        Where the gradient operator knows a wavefield by another name: its name there to its name
        in the forward operator, such as ``{"u0": "u"}``.
    arguments : mapping, optional
        Arguments for both operators, as for ``Operator.apply``: ``dt``, ``vp``, ``time_M``, ...
    forward_arguments, gradient_arguments : mapping, optional
        Arguments for one of them.

    Attributes
    ----------
    steps : int
        Steps of the problem: steps of time, or groups of them if the history is subsampled.
    loss : object
        What ``seed`` returned in the last run.

    Raises
    ------
    LawBroken
        A replay would overwrite what the gradient reads: the names are in the message.
    BadValue, WrongType, NotSupported
        The operators do not fit each other, or cannot be planned.

    Notes
    -----
    ``begin`` zeroes whatever the operators write: receivers, adjoint wavefields, gradients. Sum
    gradients over shots outside.

    Examples
    --------
    With ``u``, ``rec``, ``res``, ``op``, ``op_gradient`` a user's own objects::

        def residual():
            res.data[:] = rec.data - observed
            return 0.5 * (res.data**2).sum()

        job = Adjoint(op, op_gradient, wavefields=[u], seed=residual, arguments={"dt": dt})
        record = job.run(budget="6 GiB")
    """

    def __init__(
        self,
        forward: Operators,
        gradient: Operators,
        wavefields: Iterable[Any] = (),
        seed: Callable[[], Any] | None = None,
        *,
        names: Mapping[str, str] | None = None,
        arguments: Mapping[str, Any] | None = None,
        forward_arguments: Mapping[str, Any] | None = None,
        gradient_arguments: Mapping[str, Any] | None = None,
    ) -> None:
        if seed is not None and not callable(seed):
            raise WrongType(
                f"seed={seed!r} is of type {type(seed).__name__}. Pass a function without "
                "arguments that fills the adjoint source, or None."
            )
        both = dict(arguments or {})
        parts = build(
            forward,
            gradient,
            wavefields,
            names=dict(names or {}),
            forward_arguments={**both, **(forward_arguments or {})},
            gradient_arguments={**both, **(gradient_arguments or {})},
        )
        self._forward, self._gradient = parts.forward, parts.gradient
        self._fields, self._outputs, self._results = parts.fields, parts.outputs, parts.results
        self._factor, self._most = parts.factor, parts.most
        self._seed = seed
        self._plans: dict[tuple[object, ...], Plan] = {}
        self._spare: dict[str, Array] = {}
        self._step_bytes = sum(f.step_bytes for f in self._fields)
        self.steps: int = parts.steps
        self.reads: Reads = "tape" if parts.reads_fields else "nothing"
        self.loss: Any = None
        lines = [f for f in self._fields if f.step_bytes and f.bare_levels]
        self._bare = min((f.bare_levels for f in lines), default=0) // self._factor
        self._room = 0  # steps the window holds
        self._origin = 0  # step at which the window begins
        self._at: int | None = None  # step of the live state
        self._recorded: tuple[int, int] | None = None
        self._replaying = False

    def run(
        self,
        plan: Plan | Schedule | None = None,
        *,
        budget: int | str | None = None,
        disk: int | str | None = None,
        costs: Costs | None = None,
        directory: str | Path | None = None,
        storage: Storage | None = None,
        progress: bool = True,
    ) -> RunRecord:
        """Compute the gradient within a budget; see `adjourn.run`.

        The first run with a budget measures and plans; further ones, for other shots or models,
        play the same plan in the same memory. With ``directory``, `adjourn.resume` with an
        `Adjoint` of the same operators goes on after the process has gone down.
        """
        asked = (budget, disk, storage)
        if plan is None and costs is None:
            plan = self._plans.get(asked)
        if isinstance(plan, Plan):
            budget = None
        comm = self._forward.comm
        if comm is not None:
            if costs is not None or isinstance(plan, Schedule):
                raise NotSupported(
                    "costs or a schedule were given for operators that run on several ranks, "
                    "which must agree on both. Pass budget=, or a plan from adjourn.mpi.plan."
                )
            if directory is not None or storage is not None:
                raise NotSupported(
                    "directory or storage was given for operators that run on several ranks, "
                    "whose runs are not resumed yet. Leave both out."
                )
            record = mpi.run(self, plan, budget=budget, disk=disk, comm=comm, progress=progress)
        else:
            record = run(
                self,
                plan,
                budget=budget,
                disk=disk,
                costs=costs,
                directory=directory,
                storage=storage,
                progress=progress,
            )
        if budget is not None:
            self._plans[asked] = record.plan
        return record

    # -- the window

    def window(self) -> Window:
        """Return what a window of recorded steps takes, the spare outputs included."""
        spare = sum(a.nbytes for a in self._outputs.values())
        fixed = sum(f.fixed_bytes for f in self._fields)
        return Window(self._step_bytes, fixed_bytes=fixed + spare, max_steps=self._most)

    def reserve(self, steps: int) -> None:
        """Allocate the window for ``steps`` recorded steps; kept if it has that length already."""
        if steps < 1 or (self._most is not None and steps > self._most):
            limit = f" to {self._most}" if self._most is not None else " or more"
            raise BadValue(f"a window of {steps} steps was asked for; it can have 1{limit}.")
        steps = min(steps, self.steps)
        for field in self._fields:
            field.reserve(steps)
        if self._spare.keys() != self._outputs.keys():
            self._spare = {name: np.empty_like(a) for name, a in self._outputs.items()}
        self._room = steps
        self._at = self._recorded = None

    def close(self) -> None:
        """Release the window. The object stays usable: `reserve` allocates it again."""
        for field in self._fields:
            field.close()
        self._spare = {}
        self._room = 0
        self._at = self._recorded = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- the protocol

    def begin(self) -> None:
        """Go to step 0; zero what the operators write."""
        if not self._room:
            self.reserve(self._most or self._advance_room())
        self._redirect(replay=False)
        if self._forward.comm is not None:
            self._scatter(self._forward, self._outputs)
        for array in (*self._outputs.values(), *self._results.values()):
            array[...] = 0
        for field in self._fields:
            field.begin(self._time(0))
        self._origin = self._at = 0
        self._recorded = None
        self.loss = None

    def state(self, step: int) -> Sequence[Array]:
        """Return the levels that restart the model at ``step``, halos included."""
        time = self._time(step)
        if step == self._at:
            return [view for field in self._fields for view in field.live(time)]
        return [view for field in self._fields for view in field.front(time)]

    def loaded(self, step: int, clock: Mapping[str, float | int]) -> None:
        """Go on from ``step``, whose snapshot was written into ``state(step)``."""
        del clock
        if step != self._at:
            for field in self._fields:
                field.settle(self._time(step))
            self._origin = self._at = step
        self._recorded = None

    def advance(self, start: int, stop: int, *, replay: bool) -> int:
        """Run [start, stop), going round the beginning of the window."""
        self._start_from(start)
        self._redirect(replay=replay)
        self._recorded = None
        room = self._advance_room()
        if self._step_bytes:
            room = min(room, self._room + self._bare)
        while start < stop:
            if start - self._origin >= room:
                self._move(start)
            reach = min(stop, self._origin + room)
            self._forward.run(self._time(start), self._time(reach) - 1)
            self._at = start = reach
        return stop

    def record(self, start: int, stop: int, *, replay: bool) -> int:
        """Run [start, stop), leaving its levels in the window, where the oldest give way."""
        self._start_from(start)
        if self._recorded is None or self._recorded[1] != start:
            self._move(start)
        begin = max(self._origin, stop - self._room)
        if begin > start:
            start = self.advance(start, begin, replay=replay)
        if begin > self._origin:
            self._move(begin)
        self._redirect(replay=replay)
        self._forward.run(self._time(start), self._time(stop) - 1)
        self._recorded = (begin, stop)
        self._at = stop
        return stop

    def turn(self) -> None:
        """Call ``seed``.

        Raises
        ------
        NotFinite
            The forward wavefields are not finite.
        """
        if self._at is not None:
            for field in self._fields:
                for level in field.live(self._time(self._at)):
                    if level.dtype.kind in "fc" and not np.isfinite(level.sum()):
                        raise NotFinite(
                            f"wavefield {field.name!r} is not finite at step {self._at} of "
                            f"{self.steps}: the forward run is unstable. Lower dt."
                        )
        spread = self._forward.comm is not None
        if spread:
            self._redirect(replay=False)
            self._forward.gather()
        if self._seed is not None:
            self.loss = self._seed()
        if spread:
            self._scatter(self._gradient, self._results)

    def reverse(self, start: int, stop: int) -> None:
        """Run the gradient operator over [start, stop), which must be recorded."""
        if self.reads == "tape":
            have = self._recorded or (0, 0)
            if not have[0] <= start < stop == have[1]:
                raise ScheduleError(
                    f"steps {start} to {stop} were to be reversed; steps {have[0]} to {have[1]} "
                    "are recorded. Record them first, and reverse from the top."
                )
            self._recorded = (have[0], start)
        gradient = self._gradient
        first = gradient.first if start == 0 else max(self._time(start), gradient.first)
        last = self._time(stop) - 1
        last = gradient.last if stop == self.steps else min(last, gradient.last)
        if first <= last:
            gradient.run(first, last)
        if start == 0 and gradient.comm is not None:
            gradient.gather()

    def carried(self) -> Mapping[str, Array]:
        """Return outputs, adjoint wavefields and gradients, by the names in the operators."""
        return {**self._outputs, **self._results}

    def live(self, name: str) -> Sequence[Array]:
        """Return the live time levels of a wavefield, oldest first, halos included.

        For a ``seed`` that reads the last state of a wavefield made with ``save=nt``.
        """
        for field in self._fields:
            if field.name == name and self._at is not None:
                return field.live(self._time(self._at))
        names = ", ".join(field.name for field in self._fields)
        raise BadValue(f"there is no live wavefield {name!r} now. Wavefields are: {names}.")

    # -- inside

    def _time(self, step: int) -> int:
        return min(self._forward.first + step * self._factor, self._forward.last + 1)

    def _advance_room(self) -> int:
        if not self._step_bytes:
            return self.steps
        return min(max(_LEAST, math.ceil(_CACHE / self._step_bytes)), self.steps)

    def _start_from(self, start: int) -> None:
        if start != self._at:
            where = "nowhere" if self._at is None else f"at step {self._at}"
            raise ScheduleError(
                f"step {start} was to be run; the live state is {where}. Load a snapshot of "
                f"step {start} first."
            )

    def _move(self, step: int) -> None:
        """Let the window begin at ``step``, at or below the live state."""
        if step != self._origin and self._at is not None:
            for field in self._fields:
                field.move(self._time(step), self._time(self._at))
        self._origin = step
        self._recorded = None

    def _scatter(self, call: Call, written: dict[str, Array]) -> None:
        """Spread sources and receivers over the ranks again: their data were changed."""
        call.prepare()
        for name in written:
            written[name] = call.array(name)
        for field in self._fields:
            field.bind()

    def _redirect(self, *, replay: bool) -> None:
        """Let outputs go to the spare copies while replaying."""
        if replay != self._replaying:
            for name, array in self._outputs.items():
                target = self._spare[name] if replay else array
                self._forward.bind(name, target.ctypes.data)
            self._replaying = replay

"""The conformance suite of the problem protocol: as a function, and as tests for pytest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import BadValue
from ..problem import Array, Problem
from ._driver import Outputs
from ._law import Law
from ._laws import FORWARD_LAWS
from ._storage_laws import STORAGE_LAWS

__all__ = ["LAWS", "ProblemSuite", "check_laws"]

LAWS: Mapping[str, Law] = {law.name: law for law in (*FORWARD_LAWS, *STORAGE_LAWS)}
"""Every law of the problem protocol by its short name."""


def check_laws(
    problem: Problem, *, outputs: Outputs | None = None, only: Iterable[str] | None = None
) -> list[str]:
    """Check a problem against the laws of the protocol, bit for bit.

    It costs some tens of runs and the whole history in memory: use a small instance of the
    problem, some ten to thirty steps.

    Parameters
    ----------
    problem : Problem
        The problem; it is left as after ``begin``.
    outputs : callable, optional
        Takes the problem to a dict of its outputs (gradient, traces, ...); by default what
        ``carried()`` returns. Whatever is not among them is not compared.
    only : iterable of str, optional
        Names of the laws to check; by default all of `LAWS`.

    Returns
    -------
    list of str
        The names of the laws that were checked; those that have no meaning for the problem
        (a window's, where there is none) are left out.

    Raises
    ------
    LawBroken
        The first law that is broken, with its name, what was seen, and the law in words.
    BadValue
        A law that does not exist, or no outputs to compare.
    """
    names = list(LAWS if only is None else only)
    unknown = [name for name in names if name not in LAWS]
    if unknown:
        raise BadValue(f"only={unknown[0]!r} is not a law. The laws are: {', '.join(LAWS)}.")
    return [name for name in names if LAWS[name].check(problem, outputs)]


class ProblemSuite:
    """The laws of the problem protocol as tests for pytest, bit for bit.

    Subclass it under a name that begins with ``Test`` and give `make`. Tests of laws that have
    no meaning for the problem pass at once.

    Examples
    --------
    ::

        class TestMySolver(ProblemSuite):
            def make(self):
                return MySolver(steps=20)
    """

    def make(self) -> Problem:
        """Return a new problem: small, of some ten to thirty steps, its data set."""
        raise NotImplementedError

    def outputs(self, problem: Any) -> Mapping[str, Array]:
        """Return what is compared: gradient, adjoint, traces; by default ``carried()``."""
        return problem.carried()

    def check(self, name: str) -> None:
        """Check one law by name on a new problem."""
        LAWS[name].check(self.make(), self.outputs)

    def test_has_the_protocol(self) -> None:
        """The problem has every method and attribute that the protocol requires."""
        problem = self.make()
        missing = [
            name
            for name in ("advance", "begin", "reads", "record", "reverse", "state", "steps", "turn")
            if not hasattr(problem, name)
        ]
        if missing:
            raise BadValue(
                f"{type(problem).__name__} is no Problem: it lacks {', '.join(missing)}. "
                "See adjourn.Problem for what each does."
            )

    def test_begin_twice(self) -> None:
        """Begin() goes to step 0 and zeroes every output, whatever ran before."""
        self.check("begin twice")

    def test_return_values(self) -> None:
        """Advance and record return the step they reached, which is stop."""
        self.check("return values")

    def test_state_round_trip(self) -> None:
        """State(step) is all that restarts the model: writable views of constant shape and type."""
        self.check("state round trip")

    def test_advance_split(self) -> None:
        """Advancing over a range in pieces is advancing over it at once."""
        self.check("advance split")

    def test_record_is_advance(self) -> None:
        """Record reaches the same state and outputs as advance."""
        self.check("record is advance")

    def test_record_split(self) -> None:
        """Recording a range in pieces is recording it at once."""
        self.check("record split")

    def test_reverse_split(self) -> None:
        """Reversing a range in pieces, the last first, is reversing it at once."""
        self.check("reverse split")

    def test_replay_repeats(self) -> None:
        """Replay repeats: see `LAWS`."""
        self.check("replay repeats")

    def test_replay_is_silent(self) -> None:
        """A replay writes only to state and window: no traces, counters, residuals or outputs."""
        self.check("replay is silent")

    def test_recompute(self) -> None:
        """The gradient is the same whether a part is recorded in the first sweep or run again."""
        self.check("recompute")

    def test_reads_nothing(self) -> None:
        """A problem with reads='nothing' is reversed without its forward state."""
        self.check("reads nothing")

    def test_live_reverse(self) -> None:
        """With reads='state' and no overlap, reverse(i, i + 1) may follow a load of step i."""
        self.check("live reverse")

    def test_window_bytes(self) -> None:
        """The window takes what window() declares, no more and no less."""
        self.check("window bytes")

    def test_window_survives(self) -> None:
        """Where survives_advance is declared, recordings outlast advances and loads."""
        self.check("window survives")

    def test_tape_round_trip(self) -> None:
        """What tape() returns can be copied, written back through tape() and reversed."""
        self.check("tape round trip")

    def test_carried_resumes(self) -> None:
        """Carried() and a snapshot are all that a resumed reverse sweep needs."""
        self.check("carried resumes")

    def test_carried_is_current(self) -> None:
        """Carried() returns the arrays that have these roles now, whatever changed places since."""
        self.check("carried is current")

"""A loss taken apart at its time loop: what comes before, the loop, and what comes after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import NotSupported
from .._body import Flags, dependants
from .._compat import as_closed, as_jaxpr, bare, evaluate, is_literal, jax, prune
from .._program import LoopSite, Program
from .._trees import has_tangent
from ._layout import Layout, plain

__all__ = ["Split", "split_at", "time_loop"]

Leaves = list[Any]
Step = Callable[[Leaves, Leaves, Leaves], tuple[Leaves, Leaves]]


@dataclass(frozen=True, eq=False)
class Split:
    """A program as three functions of flat lists of plain arrays; made by `split_at`.

    Of the loop only what the end or the loop itself reads is left: leaves of the carry that
    never change are constants, and those that nobody reads are gone, like unread outputs.

    Attributes
    ----------
    before : callable
        ``leaves -> consts, carry, xs``, from the arguments of the program; traceable.
    step : callable
        ``(consts, carry, x) -> carry, y``.
    after : callable
        ``(leaves, consts, carry, ys) -> results``, flat.
    moving : tuple of tuple of bool
        Which of consts, carry and xs depend on the differentiated arguments.
    shapes : tuple of lists
        Abstract values of consts, carry and xs.
    ys : list
        Abstract values of the outputs, of all steps.
    results : Layout
        Of what the program returns.
    """

    before: Callable[[Leaves], tuple[Leaves, Leaves, Leaves]]
    step: Step
    after: Callable[[Leaves, Leaves, Leaves, Leaves], Leaves]
    moving: tuple[Flags, Flags, Flags]
    shapes: tuple[Leaves, Leaves, Leaves]
    ys: Leaves
    results: Layout


def time_loop(program: Program, name: str) -> tuple[LoopSite, list[LoopSite]]:
    """Return the loop to drive, the one of most bytes, and the others that lie in no loop.

    Raises
    ------
    NotSupported
        The program has no scan outside of branches and rematerialised parts.
    """
    outer = [site for site in program.loops if not site.depth]
    found = [site for site in outer if not _hidden(site.path)]
    if not found:
        has = "its loops lie in branches or in jax.checkpoint" if outer else "it has no scan"
        where = f": {', '.join(site.path for site in outer)}" if outer else ""
        raise NotSupported(
            f"the time loop of {name} was to be driven from Python, and {has}{where}. Write it as "
            "one jax.lax.scan of known length, with what comes before and after outside of it, or "
            "pass budget= alone."
        )
    chosen = max(found, key=lambda site: (site.steps * site.carry_bytes, site.steps))
    return chosen, [site for site in outer if site is not chosen]


def _hidden(path: str) -> bool:
    return any(part.startswith(("cond#", "checkpoint#")) for part in path.split("/"))


class _Reached(Exception):
    """Ends an evaluation at the loop, with what the loop is given."""

    def __init__(self, *given: Any) -> None:
        super().__init__()
        self.given = given


def split_at(
    program: Program, site: LoopSite, leaves: Sequence[Any], sought: Sequence[bool]
) -> Split:
    """Take a program apart at a scan.

    Costs a few traces. What lies before the loop and is read after it is computed in both
    places.

    Parameters
    ----------
    program, site
        The program, and one of its loops that lies in no other and in no branch.
    leaves : sequence of arrays
        Arguments, or abstract values of them.
    sought : sequence of bool
        Which of them are differentiated.
    """
    first, run, sizes = _to_the_loop(program, site, leaves)
    parts = _cut([v.aval for v in bare(first).outvars], sizes)
    (consts, by_consts), (carry, by_carry), (xs, by_xs) = map(_kinds, parts)
    slices = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs]

    def whole(c: Leaves, k: Leaves, x: Leaves) -> Leaves:
        return run(by_consts.dress(c), [*by_carry.dress(k), *by_xs.dress(x)])

    made = jax.eval_shape(whole, consts, carry, slices)
    y, by_ys = _kinds(made[sizes[1] :])
    ys = [jax.ShapeDtypeStruct((site.steps, *a.shape), a.dtype) for a in y]

    def end(leaves: Leaves, last: Leaves, ys: Leaves) -> Leaves:
        def replace(found: LoopSite, *_: Any) -> Any:
            return (by_carry.dress(last), by_ys.dress(ys)) if found.path == site.path else None

        return jax.tree.leaves(program.run(replace, leaves))

    results = _kinds(jax.eval_shape(end, list(leaves), carry, ys))[1]
    step = as_closed(lambda *given: plain(whole(*given)), consts, carry, slices)
    last = as_closed(lambda *given: plain(end(*given)), list(leaves), carry, ys)
    part = _Part.of(step, last, len(leaves), sizes)
    moving = part.given(*_cut(dependants(first, sought, has_tangent), sizes))

    def before(leaves: Leaves) -> tuple[Leaves, Leaves, Leaves]:
        wanted = part.places()
        pruned, used = prune(first, wanted)
        values = evaluate(pruned, [v for v, here in zip(leaves, used, strict=True) if here])
        every = dict(zip(wanted, plain(values), strict=True))
        return part.given(*_cut([every.get(i) for i in range(sum(sizes))], sizes))

    return Split(
        before=before,
        step=part.step,
        after=part.after,
        moving=(tuple(moving[0]), tuple(moving[1]), tuple(moving[2])),
        shapes=part.given(consts, carry, xs),
        ys=[ys[j] for j in part.outputs],
        results=Layout(program.result, results.keys),
    )


def _to_the_loop(program: Program, site: LoopSite, leaves: Sequence[Any]) -> Any:
    """Return the program of what the loop is given, its step, and how many of each kind."""
    seen: list[Any] = []

    def replace(found: LoopSite, body: Any, init: Leaves, xs: Leaves) -> Any:
        if found.path != site.path:
            return None
        raise _Reached(body, init, xs)

    def reach(*leaves: Any) -> Leaves:
        given: Any = ()
        try:
            program.run(replace, leaves)
        except _Reached as reached:
            given = reached.given
        body, init, xs = given
        shapes = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs]

        def flat(carry: Leaves, x: Leaves) -> Leaves:
            after, y = body(carry, x)
            return [*after, *y]

        run, consts = as_jaxpr(flat, init, shapes)
        seen[:] = [run, (len(consts), len(init), len(xs))]
        return [*consts, *init, *xs]

    first = as_closed(reach, *leaves)
    return first, *seen


def _cut(values: Sequence[Any], sizes: tuple[int, int, int]) -> tuple[Leaves, Leaves, Leaves]:
    one, two = sizes[0], sizes[0] + sizes[1]
    return list(values[:one]), list(values[one:two]), list(values[two:])


def _kinds(values: Sequence[Any]) -> tuple[Leaves, Layout]:
    """Return abstract values as those of plain arrays, and which of them are keys."""
    kinds = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in values]
    return list(jax.eval_shape(plain, kinds)), Layout.like(kinds)


@dataclass(frozen=True, eq=False)
class _Part:
    """What is left of a loop: positions in the lists of the whole one.

    Attributes
    ----------
    consts, fixed, carry, xs, outputs : list of int
        The constants, the leaves of the carry that never change, those that do, the inputs and
        the outputs; of all these what is read.
    sizes : tuple of int
        How many constants, leaves of the carry and inputs there were; and arguments.
    """

    consts: list[int]
    fixed: list[int]
    carry: list[int]
    xs: list[int]
    outputs: list[int]
    sizes: tuple[int, int, int]
    arguments: int
    _step: tuple[Any, list[bool]]
    _end: tuple[Any, list[bool]]

    @classmethod
    def of(cls, step: Any, end: Any, arguments: int, sizes: tuple[int, int, int]) -> _Part:
        """Find what the end reads, and what the loop then reads itself."""
        first, second = sizes[0], sizes[0] + sizes[1]
        jaxpr = bare(step)
        never = [
            not is_literal(jaxpr.outvars[i]) and jaxpr.outvars[i] is jaxpr.invars[first + i]
            for i in range(sizes[1])
        ]
        end, used = prune(end, range(len(bare(end).outvars)))
        need = used[arguments : arguments + sizes[1]]
        outputs = [j for j, here in enumerate(used[arguments + sizes[1] :]) if here]
        while True:
            carry = [i for i, here in enumerate(need) if here and not never[i]]
            left, read = prune(step, [*carry, *(sizes[1] + j for j in outputs)])
            grown = [a or b for a, b in zip(need, read[first:second], strict=True)]
            if grown == need:
                break
            need = grown
        return cls(
            consts=[i for i, here in enumerate(read[:first]) if here],
            fixed=[i for i, here in enumerate(need) if here and never[i]],
            carry=carry,
            xs=[i for i, here in enumerate(read[second:]) if here],
            outputs=outputs,
            sizes=sizes,
            arguments=arguments,
            _step=(left, read),
            _end=(end, used),
        )

    def given(self, consts: Leaves, carry: Leaves, xs: Leaves) -> tuple[Leaves, Leaves, Leaves]:
        """Return what is left of the lists of the whole loop."""
        fixed = [carry[i] for i in self.fixed]
        left = [consts[i] for i in self.consts], [carry[i] for i in self.carry]
        return [*left[0], *fixed], left[1], [xs[i] for i in self.xs]

    def places(self) -> list[int]:
        """Return where what is left lies among all that the whole loop is given."""
        first, second = self.sizes[0], self.sizes[0] + self.sizes[1]
        carry = sorted([*self.fixed, *self.carry])
        return [*self.consts, *(first + i for i in carry), *(second + i for i in self.xs)]

    def step(self, consts: Leaves, carry: Leaves, x: Leaves) -> tuple[Leaves, Leaves]:
        """Run what is left of a step."""
        program, used = self._step
        first, second = self.sizes[0], self.sizes[0] + self.sizes[1]
        where = [*self.consts, *(first + i for i in [*self.fixed, *self.carry])]
        where += [second + i for i in self.xs]
        every = dict(zip(where, [*consts, *carry, *x], strict=True))
        out = evaluate(program, [every[i] for i, here in enumerate(used) if here])
        return out[: len(carry)], out[len(carry) :]

    def after(self, leaves: Leaves, consts: Leaves, last: Leaves, ys: Leaves) -> Leaves:
        """Run what comes after the loop."""
        program, used = self._end
        first, second = self.arguments, self.arguments + self.sizes[1]
        carry = [*consts[len(self.consts) :], *last]
        every = dict(enumerate(leaves))
        every |= dict(zip((first + i for i in [*self.fixed, *self.carry]), carry, strict=True))
        every |= dict(zip((second + j for j in self.outputs), ys, strict=True))
        return evaluate(program, [every[i] for i, here in enumerate(used) if here])

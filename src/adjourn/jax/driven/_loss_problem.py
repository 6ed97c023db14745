"""A loss with one long loop as a problem: value and gradient by its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..._sizes import format_bytes
from ...errors import NotSupported, WrongType
from .._compat import jax, jnp
from .._fingerprint import digest
from .._program import trace
from .._trees import has_tangent, join, split
from ._forward import compile_forwarding
from ._layout import bytes_of, plain
from ._loop_problem import LoopProblem, Seed, digest_of
from ._loop_programs import Leaves, LoopCode, Programs, compile_loop, rows_for
from ._memory import on_one_device, separate
from ._split import Split, split_at, time_loop

__all__ = ["CompiledLoss", "LossProblem", "compile_loss", "refuse_traced"]


@dataclass(frozen=True, eq=False)
class CompiledLoss:
    """All programs of a loss, for arguments of given shapes.

    Attributes
    ----------
    argnums, has_aux
        What was asked for.
    structure : PyTreeDef
        Of the arguments.
    sought : tuple of bool
        Which leaves of the arguments are differentiated.
    apart : Split
        The loss taken apart.
    before, end, finish : callable
        The compiled programs around the loop.
    loop : Programs
        The loop.
    shapes : Seed
        Abstract values of what the end returns.
    steps : int
        Number of steps of the loop.
    digest : str
        Tells the program from others.
    told : tuple of str
        What else there is to know.
    """

    argnums: int | tuple[int, ...]
    has_aux: bool
    structure: Any
    sought: tuple[bool, ...]
    apart: Split
    before: Callable[[Leaves], tuple[Leaves, Leaves, Leaves]]
    end: Callable[..., Any]
    finish: Callable[..., Leaves]
    loop: Programs
    shapes: Seed
    steps: int
    digest: str
    told: tuple[str, ...]


class LossProblem(LoopProblem):
    """A loss whose time loop is one `jax.lax.scan`, driven from Python.

    The loss is traced and taken apart at the scan of most bytes that lies in no other loop, in
    jitted functions or not: what comes before it and after it is compiled as it is, and the
    loop is driven as by `StepProblem`: snapshots in main memory or on disk, kill and resume,
    the same bits under every budget. The loss is not changed. Of the loop only what is read
    later is carried; leaves of the carry that never change are constants.

    Costs one trace and six compilations when it is made; `at` makes the problem of other
    arguments of the same shapes for none.

    Parameters
    ----------
    loss : callable
        Pure and traceable; returns a real scalar, or with ``has_aux`` a pair.
    *args
        Its arguments.
    argnums, has_aux
        As in `jax.value_and_grad`.

    Attributes
    ----------
    value : array
        The loss, once turned.
    aux : pytree
        What goes along with it.
    gradient : pytree
        As `jax.value_and_grad` returns it, once reversed to step 0; arrays of JAX.
    told : tuple of str
        Other loops, which plain JAX reverses within the parts before and after.

    Raises
    ------
    NotSupported
        The loss has no such loop, the call is under a trace, or an argument is spread over
        several devices.
    WrongType
        The loss is no real scalar, or an argument to differentiate by is none of real or
        complex numbers.

    Examples
    --------
    >>> import adjourn, jax, jax.numpy as jnp
    >>> from adjourn.jax import LossProblem
    >>> def loss(rate, u):
    ...     last, _ = jax.lax.scan(lambda u, _: (u - 0.1 * rate * jnp.sin(u), None), u, None, 50)
    ...     return jnp.sum(last**2)
    >>> problem = LossProblem(loss, 0.5, jnp.ones(8))
    >>> record = adjourn.run(problem, budget=1024, progress=False)
    >>> print(problem.gradient.round(3))
    -0.6
    """

    def __init__(
        self,
        loss: Callable[..., Any],
        *args: Any,
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
    ) -> None:
        refuse_traced(args, "adjourn.jax.LossProblem")
        self._bind(compile_loss(loss, args, argnums, has_aux), args)

    def at(self, *args: Any) -> LossProblem:
        """Return the problem of other arguments of the same shapes and types."""
        refuse_traced(args, "adjourn.jax.LossProblem.at")
        return LossProblem.of(self._made, args)

    @classmethod
    def of(cls, made: CompiledLoss, args: tuple[Any, ...]) -> LossProblem:
        """Return the problem of programs that are compiled, and of arguments of their shapes."""
        problem = cls.__new__(cls)
        problem._bind(made, args)
        return problem

    def _bind(self, made: CompiledLoss, args: tuple[Any, ...]) -> None:
        self._made = made
        self._leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(args)]
        self.told = made.told
        consts, initial, xs = made.before(self._leaves)
        super().__init__(made.loop, self._end, made.shapes, consts, initial, xs, made.steps)

    def identity(self) -> str:
        """Return a digest of program and arguments: a run is resumed with the same ones only."""
        given = [*self._consts, *self._initial, *self._xs, *plain(self._leaves)]
        return digest_of(self._made.digest, given)

    @property
    def value(self) -> Any:
        """The loss, once turned."""
        return jnp.array(self._outputs.get("loss")[0], copy=True)

    @property
    def aux(self) -> Any:
        """What the loss returns besides, once turned."""
        results = self._made.apart.results
        leaves = [jnp.array(leaf, copy=True) for leaf in self._outputs.get("aux")]
        return results.tree([self.value, *leaves])[1] if self._made.has_aux else None

    @property
    def gradient(self) -> Any:
        """The gradient by the arguments asked for, once reversed to step 0."""
        made, out = self._made, self._outputs
        names = ("gradient", "adjoint", "xs_gradient", "direct")
        found = made.finish(self._leaves, *(out.get(name) for name in names))
        leaves = join(found, [None] * made.sought.count(False), made.sought)
        args = jax.tree.unflatten(made.structure, leaves)
        if isinstance(made.argnums, int):
            return args[made.argnums]
        return tuple(args[index] for index in made.argnums)

    def _end(self, consts: Leaves, last: Leaves, ys: Leaves) -> Seed:
        loss, aux, adjoint, by_ys, sums, direct = self._made.end(self._leaves, consts, last, ys)
        numbers = _numbers(self._leaves)
        return Seed(loss, aux, adjoint, by_ys, sums, separate(direct, numbers))


def refuse_traced(args: Any, what: str) -> None:
    """Refuse to drive a loop under a trace."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(args)):
        raise NotSupported(
            f"{what} was called under a trace (jit, vmap, grad or scan), and drives a loop from "
            "Python on real arrays. Call it outside, or make a plan with adjourn.jax.plan and "
            "pass plan= to value_and_grad, which is traceable."
        )


def _numbers(leaves: Leaves) -> Leaves:
    return [leaf for leaf in leaves if has_tangent(leaf)]


def _sought(args: tuple[Any, ...], argnums: int | tuple[int, ...]) -> tuple[bool, ...]:
    """Return which leaves of the arguments are differentiated."""
    chosen = (argnums,) if isinstance(argnums, int) else argnums
    wanted = {index % len(args) if args else index for index in chosen}
    if not all(-len(args) <= index < len(args) for index in chosen):
        raise WrongType(
            f"argnums={argnums!r} with {len(args)} arguments. Number them from 0, as in jax.grad."
        )
    flags: list[bool] = []
    for index, arg in enumerate(args):
        for leaf in jax.tree.leaves(arg):
            if index in wanted and not jnp.issubdtype(jnp.result_type(leaf), jnp.inexact):
                raise WrongType(
                    f"argument {index} has a leaf of type {jnp.result_type(leaf)}, and is to be "
                    "differentiated by. Pass floating-point numbers, or leave it out of argnums."
                )
            flags.append(index in wanted)
    return tuple(flags)


def compile_loss(
    loss: Callable[..., Any],
    args: tuple[Any, ...],
    argnums: int | Sequence[int],
    has_aux: bool,
) -> CompiledLoss:
    """Trace a loss, take it apart at its time loop and compile the parts."""
    argnums = argnums if isinstance(argnums, int) else tuple(argnums)
    sought = _sought(args, argnums)
    on_one_device([leaf for leaf in jax.tree.leaves(args) if isinstance(leaf, jax.Array)])
    program = trace(loss, *args)
    name = getattr(loss, "__name__", type(loss).__name__)
    site, others = time_loop(program, name)
    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(args)]
    apart = split_at(program, site, leaves, sought)
    code = LoopCode(
        apart.step,
        numbered=False,
        length=site.steps,
        backward=site.reverse,
        going=None,
        moving=apart.moving,
    )
    consts, carry, xs = apart.shapes
    loop = compile_loop(code, consts, carry, xs, rows_for(bytes_of(carry), site.steps))
    end, shapes = _end(apart, loop, leaves, sought, has_aux)
    return CompiledLoss(
        argnums=argnums,
        has_aux=has_aux,
        structure=jax.tree.structure(args),
        sought=sought,
        apart=apart,
        before=_before(apart, leaves),
        end=end,
        finish=_finish(apart, loop, leaves, sought),
        loop=loop,
        shapes=shapes,
        steps=site.steps,
        digest=digest(program.closed),
        told=tuple(
            f"{other.path}, a loop of {other.steps} steps that carries "
            f"{format_bytes(other.carry_bytes)}, is reversed by plain JAX: one loop is driven, "
            f"{site.path}"
            for other in others
        ),
    )


def _before(apart: Split, leaves: Leaves) -> Callable[[Leaves], tuple[Leaves, Leaves, Leaves]]:
    """Compile what comes before the loop."""
    one, two = len(apart.shapes[0]), len(apart.shapes[0]) + len(apart.shapes[1])

    def flat(leaves: Leaves) -> Leaves:
        return [leaf for values in apart.before(leaves) for leaf in values]

    compiled = compile_forwarding(flat, leaves)

    def before(leaves: Leaves) -> tuple[Leaves, Leaves, Leaves]:
        out = compiled(leaves)
        return out[:one], out[one:two], out[two:]

    return before


def _end(
    apart: Split, loop: Programs, leaves: Leaves, sought: Sequence[bool], has_aux: bool
) -> tuple[Callable[..., Any], Seed]:
    """Compile what comes after the loop with its pullback."""
    ys_moved = loop.outputs

    def end(leaves: Leaves, consts: Leaves, last: Leaves, ys: Leaves) -> Any:
        state = [leaf[0] for leaf in last]
        flags = sought, loop.consts, loop.move, ys_moved
        given = leaves, consts, state, ys
        parts = [split(values, where) for values, where in zip(given, flags, strict=True)]

        def value(*moving: Leaves) -> Any:
            every = zip(moving, parts, flags, strict=True)
            whole = [join(some, part[1], where) for some, part, where in every]
            results = apart.after(*whole)
            first, rest = results[0], results[1:]
            if (
                jnp.shape(first)
                or not jnp.issubdtype(first.dtype, jnp.floating)
                or bool(rest) > has_aux
            ):
                raise WrongType(
                    "the loss returned other than a real scalar. Return one, such as "
                    "jnp.sum(...), or with has_aux=True a pair of one and whatever else."
                )
            return first, rest

        moving = [part[0] for part in parts]
        pulled = jax.value_and_grad(value, argnums=(0, 1, 2, 3), has_aux=True)(*moving)
        (loss, aux), (direct, sums, adjoint, by_ys) = pulled
        return loss, aux, adjoint, by_ys, sums, direct

    consts, carry, _ = apart.shapes
    last = [jax.ShapeDtypeStruct((1, *a.shape), a.dtype) for a in carry]
    given = (leaves, consts, last, apart.ys)
    return jax.jit(end).lower(*given).compile(), Seed(*jax.eval_shape(end, *given))


def _finish(
    apart: Split, loop: Programs, leaves: Leaves, sought: Sequence[bool]
) -> Callable[..., Leaves]:
    """Compile the pullback of what comes before the loop."""
    inputs = loop.inputs[: len(apart.shapes[2])]

    def finish(
        leaves: Leaves, sums: Leaves, adjoint: Leaves, by_xs: Leaves, direct: Leaves
    ) -> Leaves:
        chosen, rest = split(leaves, sought)

        def before(chosen: Leaves) -> Any:
            consts, carry, xs = apart.before(join(chosen, rest, sought))
            moved = zip((consts, carry, xs), (loop.consts, loop.move, inputs), strict=True)
            return [split(values, where)[0] for values, where in moved]

        _, pullback = jax.vjp(before, chosen)
        (found,) = pullback([sums, adjoint, by_xs])
        return [one + other for one, other in zip(found, direct, strict=True)]

    consts, carry, xs = apart.shapes
    flags = zip((consts, carry, xs), (loop.consts, loop.move, inputs), strict=True)
    shapes = [split(values, where)[0] for values, where in flags]
    direct = split(leaves, sought)[0]
    return jax.jit(finish).lower(leaves, *shapes, direct).compile()

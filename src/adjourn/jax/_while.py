"""`while_loop`: lax.while_loop with a backward pass within a number of snapshots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .._sizes import as_count
from ..errors import WrongType
from ._body import Body
from ._compat import as_jaxpr, jax, jnp, lax, perturbed, reverse_only, static
from ._lanes import any_lane, only
from ._moves import moves
from ._player import Player, Stack, chooser, slots_for
from ._reversible import full, needed, prepare, still_live, zeros
from ._trees import has_tangent, split

__all__ = ["while_flat", "while_loop"]

Leaves: TypeAlias = list[Any]
Flat: TypeAlias = Callable[[Leaves, Leaves], Leaves]


def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    slots: int | None = None,
) -> Any:
    """Loop as `jax.lax.while_loop` does, with the same result, and with reverse mode.

    With ``slots=s`` the forward pass keeps s carries, wherever the loop is going to end: it
    places them as ``adjourn.online(s)`` does. The backward pass reverses each gap between them
    by the binomial schedule on the slots then free, the fewest steps for these places. As in
    ``adjourn.online(s).schedule(n)``, the state before the last step is not kept. Exact for
    some 10^5 steps; beyond, the places are those at half the scale.

    It is one compiled loop over stacked snapshots. Values that ``body_fun`` closes over are
    differentiated; what ``cond_fun`` decides is not. Of the carry only what the pullbacks read
    is kept, so that arrays that are only written to take no room. Under `jax.vmap` the lanes
    are stepped together until the last has ended.

    Parameters
    ----------
    cond_fun, body_fun, init_val
        As in `jax.lax.while_loop`.
    slots : int, optional
        Carries kept at once, the initial one included. Without it the loop is left to
        `jax.lax.while_loop`, for `adjourn.jax.plan` to find, and has no reverse mode itself.

    Returns
    -------
    carry
        As `jax.lax.while_loop`.

    Raises
    ------
    WrongType, BadValue
        ``slots`` is no number of 1 or more.
    NotSupported
        Forward-mode differentiation with a number of slots.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> def root(a):  # Heron's method, until it is good enough
    ...     return adjourn.jax.while_loop(
    ...         lambda x: abs(x * x - a) > 1e-5, lambda x: 0.5 * (x + a / x), a, slots=3
    ...     )
    >>> print(jax.jit(jax.grad(root))(4.0).round(4))
    0.25
    """
    if slots is None:
        return lax.while_loop(cond_fun, body_fun, init_val)

    def cast(leaf: Any, to: Any) -> Any:
        return jnp.asarray(leaf, to.dtype)

    def plain(init: Any) -> Any:
        return lax.while_loop(cond_fun, body_fun, init)

    shapes = jax.eval_shape(plain, init_val)
    leaves, tree = jax.tree.flatten(jax.tree.map(cast, init_val, shapes))

    def body(carry: Leaves) -> Leaves:
        new = body_fun(jax.tree.unflatten(tree, carry))
        return jax.tree.leaves(jax.tree.map(cast, new, shapes))

    def cond(carry: Leaves) -> Any:
        return cond_fun(jax.tree.unflatten(tree, carry))

    return jax.tree.unflatten(tree, while_flat(cond, body, leaves, slots))


def while_flat(
    cond: Callable[[Leaves], Any], body: Callable[[Leaves], Leaves], carry: Leaves, slots: int
) -> Leaves:
    """Loop on a flat list of arrays of exact types."""
    if isinstance(slots, (float, str)):
        raise WrongType(
            f"slots={slots!r} is no count. Pass an integer of 1 or more: a loop of unknown length "
            "keeps a number of carries."
        )
    slots = as_count(slots, "slots")
    step, consts = as_jaxpr(body, carry)

    def holds(carry: Leaves) -> Leaves:
        return [jnp.asarray(cond(carry), bool)]

    test, asked = as_jaxpr(holds, carry)
    moved, start = (
        [reverse_only(leaf) if has_tangent(leaf) else leaf for leaf in map(jnp.asarray, leaves)]
        for leaves in (consts, carry)
    )
    asked = [lax.stop_gradient(jnp.asarray(leaf)) for leaf in asked]
    return _reversible(step, test, slots)(moved, start, asked)


def _reversible(step: Flat, test: Flat, slots: int) -> Callable[[Leaves, Leaves, Leaves], Leaves]:
    """Return ``run(consts, carry, asked) -> carry``, reversed within so many snapshots.

    ``step(consts, carry)`` and ``test(asked, carry)``, whose only result is whether to go on,
    close over no traced values.
    """

    def whole(consts: Leaves, carry: Leaves, _: Leaves) -> tuple[Leaves, Leaves]:
        return step(consts, carry), []

    @jax.custom_vjp
    def run(consts: Leaves, carry: Leaves, asked: Leaves) -> Leaves:
        def going(carry: Leaves) -> Any:
            return test(asked, carry)[0]

        def once(carry: Leaves) -> Leaves:
            return step(consts, carry)

        return lax.while_loop(going, once, carry)

    def forward(consts: Leaves, carry: Leaves, asked: Leaves) -> Any:
        (consts, carry, asked), moving = perturbed((consts, carry, asked))
        body = Body.of(whole, consts, carry, [], (moving[0], moving[1], ()))
        first = split(carry, body.keep)[0]
        carry, steps, mine, stack = _sweep(body, test, slots, (consts, carry, asked))
        return carry, (consts, asked, first, steps, mine, stack, static(body))

    def backward(residual: Any, by_carry: Leaves) -> Any:
        consts, asked, first, steps, mine, stack, shared = residual
        before: Body = shared.value
        body = needed(before, by_carry, [])
        first, kept = (still_live(leaves, before, body) for leaves in (first, stack.kept))
        stack = stack._replace(kept=kept)
        choose = chooser(slots, moves(slots).most)
        player = Player(body, _same, _same, 1, slots, choose)
        given = prepare(body, consts, [], first, [])._replace(steps=mine)
        sums = player.play(given, stack, steps, [], zeros(body, consts, [], by_carry))
        by_consts, by_carry = full(sums.consts, body.consts), full(sums.carry, body.move)
        return by_consts, by_carry, [None] * len(asked)

    run.defvjp(forward, backward, symbolic_zeros=True)
    return run


def _same(number: Any) -> Any:
    return number


def _sweep(body: Body, test: Flat, slots: int, given: tuple[Leaves, Leaves, Leaves]) -> Any:
    """Run forward; return the carry, the steps of the longest lane and of this, the snapshots."""
    consts, carry, asked = given
    placed = moves(slots)
    zero = jnp.int32(0)

    def advance(now: Any) -> Any:
        number, mine, going, carry = now
        carry = only(going, body.run(consts, carry, [])[0], carry)
        return number + 1, mine + going.astype(jnp.int32), going & test(asked, carry)[0], carry

    def before(due: Any) -> Callable[[Any], Any]:
        return lambda now: any_lane(now[2]) & (now[0] < due)

    def segment(now: Any) -> Any:
        """Keep a snapshot and advance to where the next is due."""
        (number, mine, going, carry), stack, (row, scale) = now
        stack = stack.give_up(jnp.asarray(placed.given_up)[row])
        stack = stack.push(number, split(carry, body.keep)[0])
        row, scale = placed.after(row, scale)
        due = placed.due(row, scale)
        now = lax.while_loop(before(due), advance, (number, mine, going, carry))
        return now, stack, (row, scale)

    def unfinished(now: Any) -> Any:
        return any_lane(now[0][2])

    kept = slots_for(split(carry, body.keep)[0], slots)
    stack = Stack(kept, jnp.arange(slots, dtype=jnp.int32), jnp.zeros(slots, np.int32), zero)
    start = (zero, zero, test(asked, carry)[0], carry), stack, (zero, zero)
    (steps, mine, _, carry), stack, _ = lax.while_loop(unfinished, segment, start)
    return carry, steps, mine, stack

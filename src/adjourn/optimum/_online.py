"""Which snapshot to give up while the number of steps is not known."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from ._binomial import binomial

__all__ = ["least_total_placement", "wang_placement"]

_PATIENCE = 0.005  # of the total, that the last gap may cost before a snapshot is moved
_NEVER = 1 << 62


class _Advances:
    """t(n, slots) of one number of slots, from breakpoints kept between calls."""

    __slots__ = ("_slots", "most", "offsets")

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self.most = [1]
        self.offsets = [0]

    def __call__(self, steps: int) -> int:
        most = self.most
        while most[-1] < steps:
            repeats = len(most)
            most.append(binomial(self._slots, repeats))
            self.offsets.append(binomial(self._slots + 1, repeats - 1))
        repeats = bisect_left(most, steps)
        return repeats * steps - self.offsets[repeats]


def least_total_placement(slots: int) -> Iterator[tuple[int, int]]:
    """Yield (step, index): keep the state at ``step`` and give up snapshot ``index`` for it.

    Index 0 is the initial state, which stays; index 0 yielded means that a slot is free. When
    the slots are full, the snapshot is given up whose loss leaves the least total: with gaps
    g_0 ... g_(s-1) between the snapshots, the reversal takes the sum of t(g_i, s - i), each gap
    by optimal Revolve in the slots then free. The state two steps short of the end is what the
    totals are compared for, and a move waits until the last gap's reversal costs half a percent
    of the total: as good, with a tenth of the writes.

    A decision looks only at the snapshots above the one given up: the totals below it are kept
    as sums. Takes a few microseconds each, and the decisions become rare as the run gets
    long: 0.1 to 0.3 us a step in 10^5 steps for 5 to 30 slots.

    Parameters
    ----------
    slots : int
        Snapshots held at once, the initial state's included, 1 or more.

    Yields
    ------
    tuple of (int, int)
        Steps ascending, without end unless ``slots`` is 1.

    Examples
    --------
    >>> moves = least_total_placement(3)
    >>> [next(moves) for _ in range(5)]
    [(1, 0), (2, 0), (4, 1), (6, 1), (9, 1)]
    """
    yield from ((step, 0) for step in range(1, slots))
    if slots > 1:
        yield from _Totals(slots).moves()


class _Totals:
    """The totals of a full set of snapshots, updated from the one given up on.

    For gap i, between snapshots i and i + 1: ``cost`` is the sum of t(g, s - i) below it, and
    ``saved`` the sum of what gaps up to it would save with one slot more. Giving snapshot i up
    joins gaps i - 1 and i and frees a slot for all gaps above: ``loss`` is what that costs but
    for the gaps above, whose savings are the same for all i when counted from below.
    """

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.kept = list(range(slots))
        self.advances = [_Advances(number) for number in range(slots + 2)]
        self.plus = [0] * slots  # cost of each gap with one slot more
        self.cost = [0] * (slots + 1)
        self.saved = [0] * (slots + 1)
        self.loss = [0] * slots
        self.best = [0] * slots  # the index up to here whose loss is least
        self._update(0)

    def moves(self) -> Iterator[tuple[int, int]]:
        kept, slots = self.kept, self.slots
        second = self._of(2)
        while True:
            total = self.cost[slots - 1]
            inner = self.best[slots - 2] if slots > 2 else 0
            without = total - self.saved[slots - 1] + self.loss[inner] if inner else _NEVER
            below = self.cost[slots - 2]
            last, before = kept[-1], kept[-2]
            gap = max(1, int((2 * _PATIENCE * (last + total)) ** 0.5))
            while True:
                give_inner = without + second(gap)
                give_last = below + second(last + gap - before)
                if min(give_inner, give_last) < total + gap * (gap + 1) // 2:
                    break
                gap += 1
            index = inner if give_inner <= give_last else slots - 1
            kept.pop(index)
            kept.append(last + gap)
            yield last + gap, index
            self._update(index - 1)

    def _of(self, slots: int) -> _Advances:
        return self.advances[slots]

    def _update(self, low: int) -> None:
        """Sum anew from gap ``low`` on, where two gaps were joined; those above have moved down.

        A gap that moved down has one slot more: its cost is what it was said to be with one more.
        """
        kept, slots, plus, advances = self.kept, self.slots, self.plus, self.advances
        cost, saved, loss, best = self.cost, self.saved, self.loss, self.best
        total, spared, start, last = cost[low], saved[low], kept[low], slots - 2
        before = kept[low - 1] if low else 0
        under = total - cost[low - 1] if low else 0  # cost of the gap below
        down = best[low - 1] if low > 1 else 0
        least = loss[down]
        for i in range(low, slots - 1):
            stop = kept[i + 1]
            gap = stop - start
            price = plus[i + 1] if low < i < last else advances[slots - i](gap)
            total += price
            cost[i + 1] = total
            more = advances[slots - i + 1]
            most, offsets = more.most, more.offsets
            if most[-1] < stop - before:
                more(stop - before)
            repeats = bisect_left(most, gap)
            plus[i] = one_more = repeats * gap - offsets[repeats]
            if i:
                spared += price - one_more
                saved[i + 1] = spared
                joined = stop - before
                repeats = bisect_left(most, joined, repeats)
                loss[i] = here = repeats * joined - offsets[repeats] - under - price + spared
                if i == 1 or here < least:
                    down, least = i, here
                best[i] = down
            before, start, under = start, stop, price


def wang_placement(slots: int) -> Iterator[tuple[int, int]]:
    """Yield (step, index) by the rule of Wang, Moin and Iaccarino [1]_, the literature's baseline.

    Each snapshot has a level. A snapshot below a later one of a higher level is dispensable;
    the latest such is given up, or else the latest of all, the new one then being of the next
    level. Takes a look at all snapshots every step.

    Parameters
    ----------
    slots : int
        Snapshots held at once, the initial state's included, 1 or more.

    References
    ----------
    .. [1] Q. Wang, P. Moin and G. Iaccarino, "Minimal repetition dynamic checkpointing algorithm
       for unsteady adjoint calculation", SIAM J. Sci. Comput. 31 (2009) 2549-2567,
       doi 10.1137/080727890.

    Examples
    --------
    >>> moves = wang_placement(3)
    >>> [next(moves) for _ in range(5)]
    [(1, 0), (2, 0), (3, 2), (4, 1), (5, 2)]
    """
    yield from ((step, 0) for step in range(1, slots))
    if slots == 1:
        return
    levels = [_NEVER] + [0] * (slots - 1)
    step = slots
    while True:
        highest, index = levels[-1], slots - 1
        level = levels[-1] + 1
        for i in range(slots - 2, 0, -1):
            if levels[i] < highest:
                index, level = i, 0
                break
            highest = levels[i]
        levels.pop(index)
        levels.append(level)
        yield step, index
        step += 1

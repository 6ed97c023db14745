"""The search for what the loops of a JAX program keep: model, compile, compare, measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from statistics import median
from time import perf_counter, process_time
from typing import Any

from .._sizes import format_bytes
from ..errors import BudgetTooSmall
from ..running._progress import Spinner
from ._choice import Choice, families, replacement, run_as
from ._compat import as_closed, jax, jnp, lax, refuses_loop
from ._model import peak_bytes
from ._plan import Plan, Tried
from ._program import Program

__all__ = ["Search", "fastest_of"]

_SURE = 0.97  # of the budget that carries are counted for: the compiler may take a little more
_GAIN = 0.95  # of the work of what is known, from where another compilation may pay
_MORE = 1.25  # of a finalist's work, up to which fewer carries may be faster all the same
_RUN_SECONDS = 2.0  # for timing one finalist, at most, or three runs
_LONG_SECONDS = 30.0  # for three runs, at most, or one run
_UNKNOWN = 1001  # steps that a loop of unknown length is taken to have before it is run


class Search:
    """Candidates of one program, and what is known of them, within one budget after another."""

    def __init__(self, program: Program, args: tuple[Any, ...], how: Any, shown: Spinner) -> None:
        self.program = program
        self.args = args
        self.argnums, self.has_aux = how
        self.budget = 0
        self.shown = shown
        self.lines: dict[Any, tuple[float, float]] = {}  # bytes = a + b * carries
        self.points: dict[Any, list[tuple[int, int]]] = {}  # carries and compiled bytes
        self.tried: dict[Choice, Tried] = {}
        self.opened: dict[str, int] = {}  # the steps of loops of unknown length
        if program.open_loops and self.moved():
            self.opened = dict.fromkeys(program.open_loops, _UNKNOWN)
        self.kinds = list(families(program.loops, list(self.opened)))

    def learn(self, known: Plan) -> None:
        """Take over what was measured for an earlier plan of this program."""
        self.tried = {t.choice: t for t in known.tried if t.compiled_bytes is not None}

    def moved(self) -> bool:
        """Return whether loops of unknown length are differentiated."""
        try:
            as_closed(self.gradient(Choice("all")), *self.args)
        except ValueError as error:
            if not refuses_loop(error):
                raise
            return True
        return False

    def count(self) -> None:
        """Run the loss once, and note the steps of loops of unknown length."""

        def run(*leaves: Any) -> Any:
            return self.program.run(replacement(Choice("all")), leaves, opened=counted)

        def counted(path: str, condition: Any, body: Any, init: Any) -> Any:
            def going(now: Any) -> Any:
                return condition(now[1])

            def step(now: Any) -> Any:
                return now[0] + 1, body(now[1])

            def note(steps: Any) -> None:
                seen[path] = max(seen.get(path, 0), int(steps))

            steps, last = lax.while_loop(going, step, (jnp.int32(0), init))
            jax.debug.callback(note, steps)
            return last

        self.shown.update("running the loss, to count the steps of its while loops")
        seen: dict[str, int] = {}
        jax.block_until_ready(jax.jit(run)(*jax.tree.leaves(self.args)))
        jax.effects_barrier()
        self.opened = {path: seen.get(path, 0) for path in self.opened}

    @property
    def longest(self) -> int:
        """The most carries of use."""
        steps = [site.steps for site in self.program.loops if not site.depth]
        return max((*steps, *self.opened.values(), 1))

    def gradient(self, choice: Choice) -> Any:
        """Return value and gradient of the program with its loops as chosen."""

        def function(*args: Any) -> Any:
            return run_as(choice, self.program, jax.tree.leaves(args))

        return jax.value_and_grad(function, self.argnums, self.has_aux)

    def model(self, choice: Choice) -> int:
        """Return the bytes of a choice; two traces serve a family with any number of carries."""
        family = choice.family
        if family not in self.lines:
            self.shown.update(f"tracing {choice}")
            if not choice.number or self.longest < 2:
                self.lines[family] = (float(self.traced(choice)), 0.0)
            else:
                one, two = (self.traced(choice.numbered(k)) for k in (1, 2))
                self.lines[family] = (float(2 * one - two), float(two - one))
        base, each = self.lines[family]
        return round(base + each * choice.number)

    def traced(self, choice: Choice) -> int:
        return peak_bytes(as_closed(self.gradient(choice), *self.args))

    def correct(self, choice: Choice, compiled: int) -> None:
        """Fit the model of a family to what the compiler said.

        A carry's bytes are known well, those of the work beside it are not: one compilation
        corrects these, a second one both.
        """
        _, each = self.lines[choice.family]
        points = self.points.setdefault(choice.family, [])
        others = [point for point in points if point[0] != choice.number]
        points.append((choice.number, compiled))
        if others:
            number, nbytes = others[-1]
            each = max((compiled - nbytes) / (choice.number - number), 0.0) or each
        self.lines[choice.family] = (compiled - each * choice.number, each)

    def work(self, choice: Choice) -> float:
        return choice.work(self.program.loops, self.opened)

    def fitting(self) -> list[Choice]:
        """Return the best choice of each family that the model says fits, least work first."""
        found: list[Choice] = []
        for kind in self.kinds:
            if self.model(kind) > self.budget:
                continue
            choice = kind
            if kind.number:
                base, each = self.lines[kind.family]
                room = _SURE * self.budget - base
                most = int(room // each) if each > 0 else self.longest
                choice = self.worthwhile(kind.numbered(max(1, min(most, self.longest))))
            found.append(choice)
        return sorted(found, key=self.work)

    def worthwhile(self, most: Choice) -> Choice:
        """Return the choice of the fewest carries that takes no more work."""
        wanted = self.work(most)
        low, high = 0, most.number
        while high - low > 1:
            middle = (low + high) // 2
            if self.work(most.numbered(middle)) <= wanted:
                high = middle
            else:
                low = middle
        return most.numbered(high)

    def fewer(self) -> Iterator[Choice]:
        """Yield choices that keep a quarter of what a finalist does: less may be faster."""
        for done in self.finalists():
            count = done.choice.number // 4
            choice = done.choice.numbered(count)
            worth = count and self.work(choice) <= _MORE * self.work(done.choice)
            if worth and choice not in self.tried:
                yield choice

    def best(self, budget: int, compiles: int) -> Plan:
        """Compile and run what is promising; return the fastest that fits."""
        self.budget = budget
        if compiles == 0:
            fitting = self.fitting()
            if not fitting:
                raise self.too_small()
            first = Tried(fitting[0], self.model(fitting[0]))
            others = [Tried(choice, self.model(choice)) for choice in fitting[1:]]
            return self.made([first, *others], "the model predicts the least work; not compiled")
        if _UNKNOWN in self.opened.values():
            self.count()
        for _ in range(compiles):
            choices = (c for c in self.fitting() if c not in self.tried and self.gains(c))
            choice = next(chain(choices, self.fewer()), None)
            if choice is None and not self.finalists():
                choice = self.least()
            if choice is None or choice in self.tried:
                break
            self.compile(choice)
        if not self.finalists():
            self.rescue()
        finalists = self.finalists()
        if not finalists:
            raise self.too_small()
        rest = [t for t in self.tried.values() if t not in finalists]
        return self.made([*finalists, *rest], fastest_of(len(finalists)))

    def gains(self, choice: Choice) -> bool:
        """Return whether a choice takes clearly less work than those of its kind that fit."""
        kind = [t.choice for t in self.finalists() if t.choice.family == choice.family]
        return self.work(choice) < _GAIN * min(map(self.work, kind), default=float("inf"))

    def rescue(self) -> None:
        """Compile what fits now that the model was corrected, then the least, until one fits."""
        for choice in (*self.fitting()[:1], self.least()):
            if choice not in self.tried and not self.finalists():
                self.compile(choice)

    def finalists(self) -> list[Tried]:
        """Return what was compiled, fits and was run, the fastest first."""
        fit = [
            t
            for t in self.tried.values()
            if t.seconds is not None and (t.compiled_bytes or 0) <= self.budget
        ]
        return sorted(fit, key=lambda t: t.seconds or 0.0)

    def least(self) -> Choice:
        """Return the choice of least bytes, for a budget below what the model thinks possible."""
        return min(self.kinds, key=self.model)

    def compile(self, choice: Choice) -> Tried:
        """Compile a choice; if it fits, run it."""
        model = self.model(choice)
        self.shown.update(f"compiling: keep {choice}")
        compiled = jax.jit(self.gradient(choice)).lower(*self.args).compile()
        nbytes = int(compiled.memory_analysis().temp_size_in_bytes)
        self.correct(choice, nbytes)
        done = Tried(choice, model, nbytes)
        if nbytes <= self.budget:
            self.shown.update(f"running: keep {choice}")
            done = replace(done, seconds=_seconds(compiled, self.args))
        self.tried[choice] = done
        return done

    def made(self, tried: Sequence[Tried], reason: str) -> Plan:
        return Plan(tried[0].choice, self.budget, self.program.fingerprint, tuple(tried), reason)

    def too_small(self) -> BudgetTooSmall:
        known = [t.compiled_bytes for t in self.tried.values() if t.compiled_bytes is not None]
        least = min(known) if known else self.model(self.least())
        how = "compiled" if known else "by the model"
        return BudgetTooSmall(
            f"budget={format_bytes(self.budget)} holds no gradient of this program: the least "
            f"found takes {format_bytes(least)} {how}. Pass that or more, or wrap large parts "
            "of a step in adjourn.jax.checkpoint.",
            least,
        )


def fastest_of(count: int) -> str:
    """Say why the first of so many finalists was chosen."""
    if count == 1:
        return "it is the only one of those compiled that fits"
    return f"it was the fastest of {count} that fit, each compiled and run"


def _seconds(compiled: Any, args: tuple[Any, ...]) -> float:
    """Return the median processor seconds of a compiled gradient, after one run to warm up."""
    jax.block_until_ready(compiled(*args))
    samples: list[float] = []
    began = perf_counter()
    while True:
        start = process_time()
        jax.block_until_ready(compiled(*args))
        samples.append(process_time() - start)
        count, elapsed = len(samples), perf_counter() - began
        if count == 5 or elapsed > (_LONG_SECONDS if count < 3 else _RUN_SECONDS):
            break
    return median(samples)

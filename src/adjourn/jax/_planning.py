"""Planning a JAX gradient on real inputs: trace, model, compile, compare, measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from time import perf_counter, process_time
from typing import Any

from .._sizes import as_bytes, as_count, format_bytes
from ..errors import BadValue, BudgetTooSmall, NotSupported
from ..running._progress import Spinner, spinner
from ._choice import Choice, families, replacement
from ._compat import as_closed, jax
from ._model import peak_bytes
from ._plan import Plan, Tried
from ._program import Program, trace

__all__ = ["plan", "refuse_tracers"]

_RUN_SECONDS = 2.0  # for timing one finalist, at most, or one run


def plan(
    loss: Callable[..., Any],
    *args: Any,
    budget: int | str,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    effort: int = 3,
    known: Plan | None = None,
    progress: bool = True,
) -> Plan:
    """Choose what the loops of ``loss`` keep, so that its gradient fits the budget.

    The loss is traced on real inputs, its scans are found wherever they lie, and for each way
    to reverse them the bytes are predicted from the traced gradient. The most promising are
    compiled, the compiler's temporary bytes compared with the budget and the model corrected;
    those that fit are run and the fastest is taken. Costs ``effort`` compilations, which may
    take a minute each for large models, and two or more runs of each gradient that fits.

    Parameters
    ----------
    loss : callable
        Pure and traceable; returns a real scalar, or with ``has_aux`` a pair.
    *args
        Concrete inputs, as the gradient will get them.
    budget : int or str
        Bytes for all temporary values of value and gradient, as the compiler counts them:
        beyond arguments and results.
    argnums, has_aux
        As in `jax.value_and_grad`.
    effort : int
        Compilations at most; 0 trusts the model.
    known : Plan, optional
        A plan of the same program: what was compiled and run for it is not done again, and is a
        candidate. With plans for growing budgets passed on, measured time never rises.
    progress : bool
        Show on a terminal what is going on.

    Raises
    ------
    BudgetTooSmall
        Nothing that was tried fits; says what the least would be.
    NotSupported
        Called under a trace: there are no real inputs then.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import adjourn.jax
    >>> def loss(u):
    ...     last, _ = jax.lax.scan(lambda u, _: (jnp.sin(u) + u, None), u, None, 500)
    ...     return last.sum()
    >>> plan = adjourn.jax.plan(loss, jnp.ones(1000), budget="512 KiB", progress=False)
    >>> plan.compiled_bytes <= 512 * 1024
    True
    >>> value, gradient = adjourn.jax.value_and_grad(loss, plan=plan)(jnp.ones(1000))
    """
    allowed = as_bytes(budget)
    compiles = as_count(effort, "effort", least=0)
    refuse_tracers(args, "adjourn.jax.plan")
    with spinner("tracing the loss", enabled=progress) as shown:
        program = trace(loss, *args)
        search = _Search(program, args, (argnums, has_aux), allowed, shown)
        if known is not None:
            search.learn(known)
        return search.best(compiles)


def refuse_tracers(args: Any, what: str) -> None:
    """Refuse to plan under a trace."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(args)):
        raise NotSupported(
            f"{what} was called with a budget under a trace (jit, vmap, grad or scan), where "
            "there are no real inputs to plan on. Call adjourn.jax.plan on real inputs first, "
            "and pass plan= here."
        )


class _Search:
    """Candidates of one program within one budget."""

    def __init__(
        self, program: Program, args: tuple[Any, ...], how: Any, budget: int, shown: Spinner
    ) -> None:
        self.program = program
        self.args = args
        self.argnums, self.has_aux = how
        self.budget = budget
        self.shown = shown
        self.lines: dict[tuple[str, str], tuple[float, float]] = {}  # bytes = a + b * slots
        self.tried: dict[Choice, Tried] = {}
        self.longest = max((s.steps for s in program.loops if not s.depth), default=1)

    def learn(self, known: Plan) -> None:
        """Take over what was measured for an earlier plan of this program."""
        reason = known.fingerprint.difference(self.program.fingerprint)
        if reason is not None:
            raise BadValue(
                f"known= is the plan of another program: {reason}. Leave it out, or pass a plan "
                "of this loss on inputs of these shapes."
            )
        self.tried = {t.choice: t for t in known.tried if t.compiled_bytes is not None}

    def gradient(self, choice: Choice) -> Any:
        """Return value and gradient of the program with its loops as chosen."""
        replace_ = replacement(choice)

        def function(*args: Any) -> Any:
            return self.program.run(replace_, jax.tree.leaves(args))

        return jax.value_and_grad(function, self.argnums, self.has_aux)

    def model(self, choice: Choice) -> int:
        """Return the bytes of a choice; two traces serve a family with any number of slots."""
        family = choice.family
        if family not in self.lines:
            self.shown.update(f"tracing {choice}")
            if family[0] != "slots" or self.longest < 2:
                self.lines[family] = (float(self.traced(choice)), 0.0)
            else:
                one, two = (self.traced(Choice(k, family[1])) for k in (1, 2))
                self.lines[family] = (float(2 * one - two), float(two - one))
        base, each = self.lines[family]
        return round(base + each * (choice.outer if isinstance(choice.outer, int) else 0))

    def traced(self, choice: Choice) -> int:
        return peak_bytes(as_closed(self.gradient(choice), *self.args))

    def correct(self, choice: Choice, compiled: int) -> None:
        """Scale the model of a family to what the compiler said, both its parts alike."""
        base, each = self.lines[choice.family]
        model = self.model(choice)
        if model > 0:
            factor = compiled / model
            self.lines[choice.family] = (base * factor, each * factor)

    def fitting(self) -> list[Choice]:
        """Return the best choice of each family that the model says fits, least work first."""
        found: list[Choice] = []
        for kind, inner in families(self.program.loops):
            choice = Choice(kind if kind != "slots" else 1, inner)
            if self.model(choice) > self.budget:
                continue
            if kind == "slots":
                base, each = self.lines[choice.family]
                most = int((self.budget - base) // each) if each > 0 else self.longest
                choice = Choice(self.worthwhile(max(1, min(most, self.longest)), inner), inner)
            found.append(choice)
        return sorted(found, key=lambda choice: choice.work(self.program.loops))

    def worthwhile(self, most: int, inner: str) -> int:
        """Return the fewest slots that take no more work than ``most``."""
        sites = self.program.loops
        wanted = Choice(most, inner).work(sites)
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            if Choice(middle, inner).work(sites) <= wanted:
                high = middle
            else:
                low = middle
        return high

    def best(self, compiles: int) -> Plan:
        """Compile and run what is promising; return the fastest that fits."""
        if compiles == 0:
            fitting = self.fitting()
            if not fitting:
                raise self.too_small()
            first = Tried(fitting[0], self.model(fitting[0]))
            others = [Tried(choice, self.model(choice)) for choice in fitting[1:]]
            return self.made([first, *others], "the model predicts the least work; not compiled")
        fits = self.finalists()
        seen = {t.choice.family for t in fits if t.choice.family[0] != "slots"}
        for _ in range(compiles):
            choices = (c for c in self.fitting() if c.family not in seen and c not in self.tried)
            choice = next(choices, None if self.finalists() else self.least())
            if choice is None or choice in self.tried:
                break
            if self.compile(choice).seconds is not None:
                seen.add(choice.family)
        finalists = self.finalists()
        if not finalists:
            raise self.too_small()
        rest = [t for t in self.tried.values() if t not in finalists]
        count = len(finalists)
        reason = (
            "it is the only one of those compiled that fits"
            if count == 1
            else f"it was the fastest of {count} that fit, each compiled and run"
        )
        return self.made([*finalists, *rest], reason)

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
        kinds = [Choice(k if k != "slots" else 1, i) for k, i in families(self.program.loops)]
        return min(kinds, key=self.model)

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


def _seconds(compiled: Any, args: tuple[Any, ...]) -> float:
    """Return the median processor seconds of a compiled gradient, after one run to warm up."""
    jax.block_until_ready(compiled(*args))
    samples: list[float] = []
    began = perf_counter()
    while not samples or (perf_counter() - began < _RUN_SECONDS and len(samples) < 5):
        start = process_time()
        jax.block_until_ready(compiled(*args))
        samples.append(process_time() - start)
    return median(samples)

"""The plan of a JAX program: what its loops keep, for which program, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from .._sizes import format_bytes, format_seconds
from ..errors import BadValue, WrongType
from ._choice import Choice, run_as
from ._compat import jax
from ._fingerprint import Fingerprint
from ._marks import label_of
from ._program import trace
from .sites._explain import SiteFigures, explained

__all__ = ["Plan", "Tried"]

SCHEMA = 2


@dataclass(frozen=True, slots=True)
class Tried:
    """One choice that was considered.

    Attributes
    ----------
    choice : Choice
        What each loop keeps.
    model_bytes : int
        Predicted from the traced program.
    compiled_bytes : int or None
        The compiler's temporary bytes, if it was compiled.
    seconds : float or None
        Measured processor time of one gradient, if it was run.
    """

    choice: Choice
    model_bytes: int
    compiled_bytes: int | None = None
    seconds: float | None = None

    def line(self) -> str:
        """Return the choice and its figures in one line."""
        real = "not compiled" if self.compiled_bytes is None else format_bytes(self.compiled_bytes)
        time = "not run" if self.seconds is None else format_seconds(self.seconds)
        model = format_bytes(self.model_bytes)
        return f"{self.choice}: {model} by the model, {real} compiled, {time}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the loops of a program keep for its gradient; made by `plan`; a value.

    Attributes
    ----------
    choice : Choice
        What each loop keeps.
    budget : int
        Bytes allowed.
    fingerprint : Fingerprint
        The program it was made for.
    tried : tuple of Tried
        What was considered, the chosen one first.
    reason : str
        Why it was chosen.
    packages : tuple of str
        The packages whose Python calls are sites.
    figures : tuple of SiteFigures
        What each site would save in the context of the choice, what it costs, and why it runs
        again or does not; nothing if only loops were planned.
    """

    choice: Choice
    budget: int
    fingerprint: Fingerprint
    tried: tuple[Tried, ...]
    reason: str
    packages: tuple[str, ...] = ()
    figures: tuple[SiteFigures, ...] = ()

    @property
    def compiled_bytes(self) -> int | None:
        """The compiler's temporary bytes of value and gradient, if it was compiled."""
        return self.tried[0].compiled_bytes

    @property
    def model_bytes(self) -> int:
        """The same, predicted from the traced program."""
        return self.tried[0].model_bytes

    @property
    def seconds(self) -> float | None:
        """Measured processor time of one gradient, if it was run."""
        return self.tried[0].seconds

    def apply(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its loops replaced: same values, pure and traceable.

        Any transformation of JAX may follow; gradients then need what was planned. The function
        is traced anew at each call (or once, under jit) and compared with the planned one.

        Raises
        ------
        BadValue
            When called: the program is not the one that the plan was made for; says where.
        """

        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            def positional(*args: Any) -> Any:
                return function(*args, **kwargs)

            marked = any("()" in site for site in self.choice.sites)
            program = trace(positional, *args, packages=self.packages if marked else ())
            reason = self.fingerprint.difference(program.fingerprint)
            if reason is not None:
                raise BadValue(
                    f"the plan was made for another program than {_name(function)} is now: "
                    f"{reason}. Make a new plan for these arguments."
                )
            missing = {*self.choice.sites} - program.paths
            if missing:
                raise BadValue(
                    f"the plan runs {min(missing)} again, which is no site of the program now: "
                    "its functions have other names, or call each other otherwise. Plan again."
                )
            return run_as(self.choice, program, jax.tree.leaves(args))

        return run

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON value."""
        return {
            "schema": SCHEMA,
            "budget": self.budget,
            "fingerprint": self.fingerprint.to_json(),
            "tried": [
                [t.choice.to_json(), t.model_bytes, t.compiled_bytes, t.seconds] for t in self.tried
            ],
            "reason": self.reason,
            "packages": list(self.packages),
            "figures": [one.to_json() for one in self.figures],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Plan:
        """Return the plan that `to_json` wrote.

        Raises
        ------
        BadValue
            It was written by a newer version, or is no plan of a JAX program.
        WrongType
            It is text or a list: ``json.loads`` makes the mapping of the text.
        """
        if not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(
                f"Plan.from_json was given a {type(value).__name__}; it reads the mapping that "
                "Plan.to_json returns. Pass json.loads(text) of a saved plan."
            )
        if value.get("schema") != SCHEMA or "fingerprint" not in value:
            raise BadValue(
                f"schema={value.get('schema')!r} is not a JAX plan that this version reads, "
                f"which is schema {SCHEMA}. Plan again."
            )
        try:
            tried = tuple(Tried(Choice.from_json(row[0]), *row[1:]) for row in value["tried"])
            fingerprint = Fingerprint.from_json(value["fingerprint"])
            return cls(
                tried[0].choice,
                value["budget"],
                fingerprint,
                tried,
                value["reason"],
                tuple(value["packages"]),
                tuple(map(SiteFigures.from_json, value["figures"])),
            )
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise BadValue(
                f"the plan is damaged: reading it ended with {error!r}. Pass what Plan.to_json "
                "returned, unchanged, or plan again."
            ) from error

    def explain(self) -> str:
        """Return what each site would save in context, what it costs, and why, as text."""
        return explained(self.figures)

    def site(self, name: str) -> SiteFigures:
        """Return the figures of one site, by its path or its name if that is the only one.

        Raises
        ------
        BadValue
            No site that matters has the name, or several have it.
        """
        found = [one for one in self.figures if name in (one.path, label_of(one.path))]
        if len(found) != 1:
            known = ", ".join(one.path for one in (found or self.figures)[:12])
            raise BadValue(
                f"site {name!r} is {'several' if found else 'none'} of those that were looked "
                f"at. Pass a path: {known or 'there is none'}."
            )
        return found[0]

    def __str__(self) -> str:
        """Return the plan in lines of text."""
        lines = [
            f"budget {format_bytes(self.budget)}: keep {self.choice}",
            f"  because {self.reason}",
            *(f"  {'*' if index == 0 else '-'} {t.line()}" for index, t in enumerate(self.tried)),
        ]
        return "\n".join(lines)


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))

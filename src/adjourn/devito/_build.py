"""From the user's operators to calls, fields and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadValue, LawBroken, NotSupported, WrongType
from ..problem import Array
from ._access import Access, feeds_back, runs_backward, time_accesses
from ._api import Buffer, Operator
from ._calls import Call, placeholder
from ._fields import Field, Line, Plain, Ring, Sampled

__all__ = ["Parts", "build"]

Operators = Any | Callable[[Any], Any]


@dataclass
class Parts:
    """Everything `Adjoint` plays with.

    Attributes
    ----------
    forward, gradient : Call
        The operators with their arguments.
    fields : list of Field
        What the forward operator carries from step to step or leaves to the gradient.
    factor : int
        Steps of time in one step of the problem.
    steps : int
        Steps of the problem.
    reads_fields : bool
        Whether the gradient reads any field.
    most : int or None
        The longest window the compiled rings allow.
    outputs : dict of str to Array
        What the forward operator writes and neither operator reads back.
    results : dict of str to Array
        What the gradient operator writes.
    """

    forward: Call
    gradient: Call
    fields: list[Field]
    factor: int
    steps: int
    reads_fields: bool
    most: int | None
    outputs: dict[str, Array] = field(default_factory=dict[str, Array])
    results: dict[str, Array] = field(default_factory=dict[str, Array])


def build(
    forward: Operators,
    gradient: Operators,
    wavefields: Iterable[Any],
    *,
    names: Mapping[str, str],
    forward_arguments: Mapping[str, Any],
    gradient_arguments: Mapping[str, Any],
) -> Parts:
    """Resolve factories, bind arguments, find what must be kept, refuse the traps."""
    given = {str(u.name): u for u in _flat(wavefields)}
    fop, gop = _operators(forward, gradient, given, forward_arguments)
    if runs_backward(fop) is True or runs_backward(gop) is False:
        raise BadValue(
            f"forward={fop.name!r} must step forward in time and gradient={gop.name!r} backward; "
            "they do not. Pass the operators in this order."
        )
    written = {str(f.name) for f in fop.writes}
    fields = {name: a for name, a in time_accesses(fop).items() if name in written}
    for name in given:
        if name not in fields:
            raise BadValue(
                f"wavefields names {name!r}, which operator {fop.name!r} does not write as a "
                f"TimeFunction. It writes: {', '.join(fields) or 'none'}."
            )
    own = {
        name: _function(name, access, given, forward_arguments) for name, access in fields.items()
    }
    read = _shared(fop, gop, fields, own, names=names, arguments=gradient_arguments)
    hidden = {
        name: own[name] if a.kind == "ring" else placeholder(own[name], _levels(own[name]))
        for name, a in fields.items()
    }
    theirs = {access.name: hidden[name] for name, access in read.items()}
    fcall = Call(fop, _without(forward_arguments, hidden), hidden)
    gcall = Call(gop, _without(gradient_arguments, theirs), theirs)

    factor = _common_factor(fcall, fields)
    steps = -(-(fcall.last - fcall.first + 1) // factor)
    if steps < 1:
        raise BadValue(
            f"operator {fop.name!r} would run from time_m={fcall.first} to time_M={fcall.last}: "
            "no step at all. Pass time_m and time_M, or sources and receivers with more samples."
        )
    parts = Parts(fcall, gcall, [], factor, steps, bool(read), None)
    for name, access in fields.items():
        _add_field(parts, access, read.get(name), own[name])
    _add_rest(parts, fop, gop, set(fields))
    _check_memory(parts, fop, gop, set(fields), set(theirs))
    return parts


def _flat(functions: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for function in functions:
        if getattr(function, "is_TimeFunction", False):
            found.append(function)
        elif hasattr(function, "flat"):  # VectorTimeFunction, TensorTimeFunction
            found.extend(f for f in function.flat() if f.is_TimeFunction)
        else:
            raise WrongType(
                f"wavefields holds {function!r} of type {type(function).__name__}. "
                "Pass the TimeFunctions that the forward operator writes."
            )
    return found


def _operators(
    forward: Operators, gradient: Operators, given: Mapping[str, Any], arguments: Mapping[str, Any]
) -> tuple[Any, Any]:
    fixed = [op for op in (forward, gradient) if isinstance(op, Operator)]
    if len(fixed) == 2:
        return forward, gradient
    save = _save_of(fixed[0], given) if fixed else _all_levels(forward, given, arguments)
    return _made(forward, save, "forward"), _made(gradient, save, "gradient")


def _made(factory: Operators, save: Any, name: str) -> Any:
    if isinstance(factory, Operator):
        return factory
    if not callable(factory):
        raise WrongType(
            f"{name}={factory!r} is neither a devito.Operator nor a function of save that "
            f"returns one. Pass {name}=operator, or {name}=lambda save: make_operator(save)."
        )
    op = factory(save)
    if not isinstance(op, Operator):
        raise WrongType(f"{name}(save={save}) returned {type(op).__name__}, not a devito.Operator.")
    return op


def _save_of(op: Any, given: Mapping[str, Any]) -> Any:
    """Return the ``save`` with which an operator's wavefield was made."""
    seen = time_accesses(op)
    for name in given or seen:
        if name in seen and (given or name in {str(f.name) for f in op.reads}):
            access = seen[name]
            if access.kind == "line":
                return access.length
            ring = access.length
            return None if ring == access.function.time_order + 1 else Buffer(ring)
    raise BadValue(
        f"operator {op.name!r} uses none of the wavefields {', '.join(given) or '(none given)'}. "
        "Name the TimeFunctions in wavefields as the operators do."
    )


def _all_levels(forward: Operators, given: Mapping[str, Any], arguments: Mapping[str, Any]) -> int:
    """Return the number of time levels of the whole run."""
    for function in given.values():
        if isinstance(function.save, int) and function.dimensions[0].is_Time:
            return int(function.save)
    op = _made(forward, None, "forward")
    seen = {n: a for n, a in time_accesses(op).items() if a.kind == "ring"}
    call = Call(op, arguments, {n: placeholder(a.function, a.length) for n, a in seen.items()})
    return max(call.time_size or 0, call.last + 1 + max((a.high for a in seen.values()), default=1))


def _shared(
    fop: Any,
    gop: Any,
    fields: Mapping[str, Access],
    own: Mapping[str, Any],
    *,
    names: Mapping[str, str],
    arguments: Mapping[str, Any],
) -> dict[str, Access]:
    """Return how the gradient reads the forward wavefields, by their names in the forward."""
    accesses = time_accesses(gop)
    for theirs, mine in names.items():
        if theirs not in accesses or mine not in fields:
            raise BadValue(
                f"names={{{theirs!r}: {mine!r}}} should pair a TimeFunction of operator "
                f"{gop.name!r} ({', '.join(accesses)}) with a wavefield of operator "
                f"{fop.name!r} ({', '.join(fields)})."
            )
    written = {str(f.name) for f in gop.writes}
    read: dict[str, Access] = {}
    for theirs, access in accesses.items():
        mine = names.get(theirs, theirs)
        function = arguments.get(theirs, access.function)
        if theirs in written:
            if mine in fields and (function is own[mine] or theirs in names):
                raise LawBroken(
                    "replay",
                    f"operator {gop.name!r} writes {theirs!r}, a wavefield of operator "
                    f"{fop.name!r} that is kept and replayed. Give the adjoint a TimeFunction of "
                    "its own.",
                )
        elif mine in fields:
            _check_kind(fop, gop, fields[mine], access)
            read[mine] = access
        elif getattr(function, "_data", function) is None:
            raise BadValue(
                f"operator {gop.name!r} reads {theirs!r}, which no operator writes and which "
                f"holds nothing yet. If it is the history of a wavefield of operator "
                f"{fop.name!r} ({', '.join(fields)}), say so: names={{{theirs!r}: ...}}."
            )
    return read


def _check_kind(fop: Any, gop: Any, mine: Access, theirs: Access) -> None:
    if mine.kind != theirs.kind or (mine.kind == "ring" and mine.length != theirs.length):
        raise BadValue(
            f"{mine.name!r} is a {mine.kind} of {mine.length} levels in operator {fop.name!r} and "
            f"a {theirs.kind} of {theirs.length} in {gop.name!r}. Build both with the same save, "
            "or pass functions of save."
        )


def _function(
    name: str, access: Access, given: Mapping[str, Any], arguments: Mapping[str, Any]
) -> Any:
    """Return the TimeFunction that stands for a wavefield: the user's, if it fits."""
    chosen = arguments.get(name, given.get(name))
    if getattr(chosen, "is_TimeFunction", False):
        same_kind = chosen.dimensions[0].is_Stepping == (access.kind == "ring")
        same_ring = access.kind != "ring" or _levels(chosen) == access.length
        if same_kind and same_ring:
            return chosen
    return access.function


def _levels(function: Any) -> int:
    return int(function.shape_allocated[0])


def _without(arguments: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {k: v for k, v in arguments.items() if k not in set(names)}


def _common_factor(call: Call, fields: Mapping[str, Access]) -> int:
    factors = {call.number(a.factor) for a in fields.values() if a.factor is not None}
    if len(factors) > 1:
        raise NotSupported(
            f"the histories are sampled every {sorted(factors)} steps. One factor can be planned."
        )
    return factors.pop() if factors else 1


def _add_field(parts: Parts, forward: Access, gradient: Access | None, function: Any) -> None:
    first, last = parts.forward.first, parts.forward.last
    gfirst, glast = parts.gradient.first, parts.gradient.last
    name = forward.name
    binds = [(parts.forward, name)]
    if gradient is not None:
        binds.append((parts.gradient, gradient.name))
    low, high = forward.low, forward.high
    if gradient is not None:
        if forward.kind == "sampled":
            factor = parts.factor
            wrote = (-(-first // factor), last // factor)
            wanted = (-(-gfirst // factor), glast // factor)
            bad = (gradient.low, gradient.high) != (0, 0) or (forward.low, forward.high) != (0, 0)
            bad = bad or wanted[0] < wrote[0] or wanted[1] > wrote[1]
        else:
            low = min(low, gradient.low)
            bad = gradient.high > high
            bad = bad or gfirst + gradient.low < first + low or glast + gradient.high > last + high
        if bad:
            raise NotSupported(
                f"the gradient runs over time steps {gfirst} to {glast} and reads {name!r} at "
                f"levels {gradient.low:+d} to {gradient.high:+d}, beyond what the forward run over "
                f"{first} to {last} leaves. Pass time_m and time_M to both operators so that "
                "they agree."
            )
    if forward.kind == "sampled":
        parts.fields.append(Sampled(function, parts.factor, binds))
    elif forward.kind == "line":
        bare = high - forward.low + 1
        parts.fields.append(Line(function, low, high, bare=bare, factor=parts.factor, binds=binds))
    else:
        data = parts.forward.array(name)
        parts.fields.append(Ring(name, data, low, high, first))
        if high - low > len(data):
            raise NotSupported(
                f"{name!r} is a ring of {len(data)} levels; restarting and reversing needs "
                f"{high - low}. Build both operators with save=Buffer({high - low + 1}) or more."
            )
        if gradient is not None:
            most = (len(data) - high + gradient.low) // parts.factor
            parts.most = most if parts.most is None else min(parts.most, most)
            if most < 1:
                raise NotSupported(
                    f"{name!r} is a ring of {len(data)} levels, which holds no recorded step: "
                    f"the gradient reads level {gradient.low:+d}, the forward run writes "
                    f"{high:+d}. Build both operators with save=Buffer({high - gradient.low + 1}) "
                    "or more."
                )


def _add_rest(parts: Parts, fop: Any, gop: Any, fields: set[str]) -> None:
    for function in fop.writes:
        name = str(function.name)
        if name in fields or not parts.forward.takes(name):
            continue
        if feeds_back(fop, name):
            parts.fields.append(Plain(name, parts.forward.array(name)))
        else:
            parts.outputs[name] = parts.forward.array(name)
    for function in gop.writes:
        name = str(function.name)
        if parts.gradient.takes(name):
            parts.results[name] = parts.gradient.array(name)


def _check_memory(parts: Parts, fop: Any, gop: Any, mine: set[str], theirs: set[str]) -> None:
    """Refuse what a replay would overwrite: memory that both sweeps use."""

    def places(call: Call, functions: Iterable[Any], fields: set[str]) -> dict[int, str]:
        names = [str(f.name) for f in functions]
        return {call.address(n): n for n in names if n not in fields and call.takes(n)}

    written = {parts.forward.address(name): name for name in parts.outputs}
    used = places(parts.gradient, (*gop.reads, *gop.writes), theirs)
    clash = sorted(f"{written[a]!r}" for a in set(written) & set(used))
    if clash:
        raise LawBroken(
            "replay",
            f"operator {fop.name!r} writes {', '.join(clash)}, which operator {gop.name!r} uses, "
            "and a replay would overwrite it: the gradient would be wrong. Give the residual a "
            "SparseTimeFunction of its own and fill it in seed().",
        )
    read = places(parts.forward, (*fop.reads, *fop.writes), mine)
    changed = {parts.gradient.address(name): name for name in parts.results}
    clash = sorted(f"{changed[a]!r}" for a in set(changed) & set(read))
    if clash:
        raise LawBroken(
            "replay",
            f"operator {gop.name!r} writes {', '.join(clash)}, which operator {fop.name!r} reads: "
            "a replay would not see what the first run saw. Write the result elsewhere.",
        )

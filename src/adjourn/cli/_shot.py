"""The shot that the demonstration runs: a model from a file, or made up."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..errors import BadValue
from ._shared import Parser, numbers

if TYPE_CHECKING:
    from ..models import Acoustic

__all__ = ["add_shot", "describe", "make_shot"]

_SHAPE, _STEPS, _SPACING = (161, 301), 1000, 10.0
_SHORT_SHAPE, _SHORT_STEPS = (81, 121), 300


def add_shot(parser: Parser) -> None:
    """Add the options that describe the model and the shot."""
    model = parser.add_argument_group("the model; a layered one is made up by default")
    model.add_argument(
        "--model", metavar="PATH", help="P-wave velocity: raw float32 with --shape, .npy, or SEG-Y"
    )
    model.add_argument(
        "--shape", type=numbers, metavar="N,N[,N]", help="cells along each axis, depth first"
    )
    model.add_argument(
        "--spacing",
        type=numbers,
        metavar="M[,M[,M]]",
        help="metres between cells, depth first (default: 10)",
    )
    model.add_argument(
        "--unit", choices=("km/s", "m/s"), default="km/s", help="unit of the file (default: km/s)"
    )
    model.add_argument(
        "--depth-axis",
        type=int,
        default=0,
        metavar="AXIS",
        help="axis of the file that is depth (default: 0)",
    )
    shot = parser.add_argument_group("the shot")
    shot.add_argument("--steps", type=int, help=f"time steps (default: {_STEPS})")
    shot.add_argument(
        "--frequency",
        type=float,
        default=10.0,
        help="peak frequency of the source in Hz (default: 10)",
    )
    shot.add_argument(
        "--sources",
        metavar="FILE",
        help="positions in m, one a line, depth first; all act at once "
        "(default: one below the middle of the top)",
    )
    shot.add_argument(
        "--receivers", metavar="FILE", help="positions likewise (default: a line below the top)"
    )
    shot.add_argument(
        "--smoothing",
        type=int,
        default=8,
        metavar="CELLS",
        help="the start model is the true one smoothed so far (default: 8)",
    )
    shot.add_argument(
        "--dtype", choices=("float32", "float64"), default="float32", help="default: float32"
    )


def make_shot(arguments: argparse.Namespace) -> tuple[Acoustic, Any]:
    """Return the shot, its data observed on the true model, and the true model."""
    from ..models import Acoustic, layered_model, read_velocity, smooth_model  # noqa: PLC0415

    shape = None if arguments.shape is None else [_whole(n, "shape") for n in arguments.shape]
    if arguments.model is not None:
        true = read_velocity(
            arguments.model, shape=shape, unit=arguments.unit, depth_axis=arguments.depth_axis
        )
    else:
        true = layered_model(shape or (_SHORT_SHAPE if arguments.short else _SHAPE))
    steps = arguments.steps
    if steps is None:
        steps = _SHORT_STEPS if arguments.short else _STEPS
    spacing = _spacing(arguments.spacing or [_SPACING], true.ndim)
    source, receivers = _positions(arguments, true.shape, spacing)
    shot = Acoustic(
        true,
        spacing=spacing,
        steps=steps,
        source=source,
        receivers=receivers,
        frequency=arguments.frequency,
        dtype=arguments.dtype,
    )
    shot.set_observed(shot.observe())
    shot.set_velocity(smooth_model(true, arguments.smoothing))
    return shot, true


def describe(shot: Acoustic) -> str:
    """Return the shot in one line."""
    cells = " x ".join(str(n) for n in shot.grid.shape)
    metres = " x ".join(f"{m:g}" for m in shot.grid.spacing)
    same = len(set(shot.grid.spacing)) == 1
    each = f"{shot.grid.spacing[0]:g}" if same else metres
    return f"acoustic wave, {cells} cells of {each} m, {shot.dtype.name}"


def _positions(
    arguments: argparse.Namespace, shape: tuple[int, ...], spacing: list[float]
) -> tuple[Any, Any]:
    """Return sources and receivers, read or made up two cells below the top."""
    from ..models import read_positions  # noqa: PLC0415

    extent = [(n - 1) * step for n, step in zip(shape, spacing, strict=True)]
    top = min(2 * spacing[0], extent[0])
    middle = [0.5 * reach for reach in extent[2:]]
    count = -(-shape[1] // 2)
    source: Any = [top, 0.5 * extent[1], *middle]
    receivers: Any = [[top, extent[1] * (i / max(1, count - 1)), *middle] for i in range(count)]
    if arguments.sources is not None:
        source = read_positions(arguments.sources, len(shape))
    if arguments.receivers is not None:
        receivers = read_positions(arguments.receivers, len(shape))
    return source, receivers


def _spacing(given: list[float], axes: int) -> list[float]:
    if len(given) == 1:
        return given * axes
    if len(given) != axes:
        raise BadValue(
            f"spacing has {len(given)} numbers and the model {axes} axes. Pass one number, or "
            "one for each axis."
        )
    return given


def _whole(value: float, name: str) -> int:
    if value != int(value):
        raise BadValue(
            f"{name} has {value}, which is no whole number. Pass cells, such as 221,601."
        )
    return int(value)

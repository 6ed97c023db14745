"""The acoustic problem: forward model, misfit and exact gradient, on the public protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..._sizes import as_count
from ...errors import BadValue, ProblemFailed
from ...problem import Array, Clock, Reads, Window
from ._checks import float_type, positive, spacings, velocity_model
from ._grid import Grid
from ._history import History
from ._points import Points
from ._scheme import Field, Scheme, largest_dt
from ._stencil import OUTER
from ._wavelet import time_function

__all__ = ["Acoustic"]

_MARGIN = 0.85  # of the largest stable time step, leaving room for a velocity that grows


class Acoustic:
    r"""One shot of the acoustic wave equation and its gradient with respect to velocity.

    The variable-velocity wave equation in two or three dimensions, with order 2 in time, order
    8 in space, a damping layer on every side, point sources and receivers. The misfit is half
    the sum of squared differences between the traces and ``observed``; the gradient is that of
    the discrete misfit, exact to rounding, the layer included.

    The equation is :math:`(u_{tt} + \sigma u_t)/v^2 = \nabla^2 u + s`. Its discrete form is
    self-adjoint, so that the adjoint wavefield :math:`\mu` obeys the same step, driven by the
    residual :math:`r`, and summation by parts in time turns the gradient into
    :math:`(2/v) \sum_n u_n (L \mu_{n+1} + r_n)`: the reverse of step n reads the single level
    ``u[n]``, and takes hardly longer than the step.

    A snapshot is two levels; a recorded step is one level. Steps once recorded stay reversible
    wherever the model is advanced to. The time step and the damping stay those of the
    velocity given first, whatever `set_velocity` brings.

    Parameters
    ----------
    velocity : array_like, shape (n0, n1) or (n0, n1, n2)
        Wave speed, in km/s.
    spacing : float or sequence of float
        Distance between cells along each axis, in m.
    steps : int
        Number of time steps.
    source : array_like, shape (dimensions,) or (count, dimensions)
        Positions of the sources, which act at the same time, in m from the first cell;
        interpolated linearly between cells.
    receivers : array_like, shape (count, dimensions)
        Positions of the receivers, likewise.
    observed : array_like, shape (steps, receivers), optional
        The data; row n is compared with the field after step n. Without it the forward model
        runs, and `turn` is an error.
    frequency : float
        Peak frequency of the Ricker wavelet, in Hz.
    wavelet : array_like, shape (steps,) or (steps, count), optional
        The source's time function instead of the Ricker wavelet.
    dt : float, optional
        Time step in s; by default 0.85 of the largest stable one.
    absorbing : int
        Cells of the damping layer on each side, outside the model; 0 leaves rigid walls.
    dtype : dtype
        ``float32`` or ``float64``.

    Raises
    ------
    BadValue
        A shape, unit, position or time step that cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> shot = Acoustic(np.full((40, 40), 2.0), spacing=10.0, steps=80,
    ...                 source=(50.0, 200.0), receivers=[(50.0, 100.0), (50.0, 300.0)])
    >>> shot.observe().shape
    (80, 2)
    """

    reads: Reads = "state"

    def __init__(
        self,
        velocity: ArrayLike,
        *,
        spacing: float | Sequence[float],
        steps: int,
        source: ArrayLike,
        receivers: ArrayLike,
        observed: ArrayLike | None = None,
        frequency: float = 10.0,
        wavelet: ArrayLike | None = None,
        dt: float | None = None,
        absorbing: int = 20,
        dtype: DTypeLike = np.float32,
    ):
        self.dtype = float_type(dtype)
        model = velocity_model(velocity)
        self.steps = as_count(steps, "steps")
        layer = as_count(absorbing, "absorbing", least=0)
        self.grid = Grid(model.shape, spacings(spacing, model.ndim), layer)
        self.frequency = positive(frequency, "frequency", "Hz")
        limit = largest_dt(self.grid, float(model.max()))
        self.dt = _MARGIN * limit if dt is None else positive(dt, "dt", "s")
        places = Points(self.grid, receivers, "receivers", self.dtype)
        self.scheme = Scheme(
            self.grid, dt=self.dt, fastest=float(model.max()), receivers=places, dtype=self.dtype
        )
        self.velocity: Array = model.astype(self.dtype)
        self.set_source(source, wavelet)

        self._wave = Field(self.scheme)
        self._adjoint = Field(self.scheme)
        self._image: Array = np.zeros(self.grid.size, self.dtype)
        self._traces: Array = np.zeros((self.steps, places.count), self.dtype)
        self._residual: Array = np.zeros_like(self._traces)
        self._history = History(0, self.grid.size, self.dtype)
        self._live: int | None = None
        self._observed: Array | None = None
        if observed is not None:
            self.set_observed(observed)
        self.begin()

    # --- the model ------------------------------------------------------------------------

    def set_velocity(self, velocity: ArrayLike) -> None:
        """Replace the velocity (km/s), keeping time step and damping; `begin` anew afterwards.

        Raises
        ------
        BadValue
            Another shape, or a velocity for which the time step is unstable.
        """
        model = velocity_model(velocity)
        if model.shape != self.grid.shape:
            raise BadValue(
                f"velocity has shape {model.shape}; the problem has {self.grid.shape}. "
                "Pass a velocity of that shape, or make a new problem."
            )
        model = model.astype(self.dtype)
        self.scheme.set_velocity(model)
        self.velocity = model

    def set_source(self, source: ArrayLike, wavelet: ArrayLike | None = None) -> None:
        """Move the source, for the next shot; `begin` anew afterwards.

        Parameters
        ----------
        source : array_like, shape (dimensions,) or (count, dimensions)
            Positions in m, as in the constructor.
        wavelet : array_like, shape (steps,) or (steps, count), optional
            The time function; by default the Ricker wavelet of ``frequency``.

        Raises
        ------
        BadValue
            A position outside the model, or a wavelet of another shape.
        """
        sources = Points(self.grid, source, "source", self.dtype)
        series = time_function(
            wavelet,
            self.grid,
            steps=self.steps,
            sources=sources.count,
            dt=self.dt,
            frequency=self.frequency,
            slowest=float(self.velocity.min()),
            dtype=self.dtype,
        )
        self.scheme.set_source(sources, series, self.velocity)

    def set_observed(self, observed: ArrayLike) -> None:
        """Replace the data, shape (steps, receivers).

        Raises
        ------
        BadValue
            Another shape, or data that are not finite.
        """
        data: Array = np.array(observed, dtype=self.dtype)
        if data.shape != self._traces.shape:
            raise BadValue(
                f"observed has shape {data.shape}; {self.steps} steps at "
                f"{self._traces.shape[1]} receivers need {self._traces.shape}. "
                "Pass one row a step and one column a receiver."
            )
        if not np.isfinite(data).all():
            raise BadValue(
                "observed holds values that are not finite. Repair the data, or leave out the "
                "receivers concerned."
            )
        self._observed = data

    def observe(self) -> Array:
        """Run the forward model and return its traces, shape (steps, receivers).

        The problem is left as after `begin`.
        """
        self.begin()
        self.advance(0, self.steps, replay=False)
        traces = self._traces.copy()
        self.begin()
        return traces

    @property
    def traces(self) -> Array:
        """The field at the receivers after each step run so far, shape (steps, receivers)."""
        return self._traces

    @property
    def residual(self) -> Array:
        """Traces minus observed, from `turn` on, shape (steps, receivers)."""
        return self._residual

    @property
    def misfit(self) -> float:
        """Half the sum of the squared residual, from `turn` on."""
        return 0.5 * float(np.sum(np.square(self._residual, dtype=np.float64)))

    @property
    def gradient(self) -> Array:
        """The misfit's derivative by velocity (per km/s), of the model's shape; a new array."""
        field = self._image.reshape(self.grid.padded) * (2.0 * OUTER)
        speed = self.grid.extend(self.velocity.astype(np.float64), 1.0)
        return self.grid.fold(field / speed).astype(self.dtype)

    @property
    def wavefield(self) -> Array:
        """The live field inside the model: a view of the model's shape, valid until a step."""
        return self._wave.levels.current.reshape(self.grid.padded)[self.grid.model]

    # --- the protocol ---------------------------------------------------------------------

    def begin(self) -> None:
        """Go to step 0, at rest; zero traces, residual, adjoint and gradient."""
        self._wave.levels.clear()
        self._adjoint.levels.clear()
        for array in (self._image, self._traces, self._residual):
            array.fill(0)
        self._history.clear()
        self._live = 0

    def state(self, step: int) -> Sequence[Array]:  # noqa: ARG002  (the levels hold one step)
        """Return the previous and the current level, each of shape ``grid.padded``."""
        shape = self.grid.padded
        return (self._wave.levels.previous.reshape(shape), self._wave.levels.current.reshape(shape))

    def clock(self, step: int) -> Clock:
        """Return the time at ``step``, in s."""
        return {"time": step * self.dt}

    def loaded(self, step: int, clock: Clock) -> None:  # noqa: ARG002  (the step says it all)
        """Note that the levels now hold the state at ``step``."""
        self._live = step

    def window(self) -> Window:
        """Return the bytes of recorded steps: one level each, reversible until reversed."""
        nbytes = self.grid.size * self.dtype.itemsize
        return Window(step_bytes=nbytes, max_steps=self.steps, survives_advance=True)

    def reserve(self, steps: int) -> None:
        """Make room for ``steps`` recorded steps."""
        steps = as_count(steps, "steps", least=0)
        if steps != self._history.slots:
            self._history = History(0, self.grid.size, self.dtype)  # never hold both
            self._history = History(steps, self.grid.size, self.dtype)

    def tape(self, start: int, stop: int) -> Sequence[Array]:
        """Return the recorded fields of [start, stop), to be read or written."""
        shape = self.grid.padded
        return [self._history.claim(step).reshape(shape) for step in range(start, stop)]

    def carried(self) -> Mapping[str, Array]:
        """Return gradient, adjoint levels, traces and residual."""
        shape = self.grid.padded
        return {
            "image": self._image.reshape(shape),
            "adjoint_previous": self._adjoint.levels.previous.reshape(shape),
            "adjoint": self._adjoint.levels.current.reshape(shape),
            "traces": self._traces,
            "residual": self._residual,
        }

    def advance(self, start: int, stop: int, *, replay: bool) -> int:
        """Run [start, stop); traces are written unless this is a replay."""
        for step in range(start, stop):
            self._step(step, replay)
        self._live = stop
        return stop

    def record(self, start: int, stop: int, *, replay: bool) -> int:
        """Run [start, stop), keeping the field that each step starts from."""
        for step in range(start, stop):
            np.copyto(self._history.claim(step), self._wave.levels.current)
            self._step(step, replay)
        self._live = stop
        return stop

    def turn(self) -> None:
        """Compute the residual and start the adjoint from its last row.

        Raises
        ------
        BadValue
            There are no data to compare with.
        """
        if self._observed is None:
            raise BadValue(
                "a gradient was asked for without data; observed is None. "
                "Pass observed=, or call set_observed() with what observe() returned."
            )
        np.subtract(self._traces, self._observed, self._residual)
        self._inject(self.steps, self._wave.levels.current)

    def reverse(self, start: int, stop: int) -> None:
        """Run the adjoint over [start, stop), from the recorded or the live field."""
        for step in range(stop - 1, start - 1, -1):
            field = self._history.find(step)
            if field is None:
                if self._live != step:
                    raise ProblemFailed(
                        f"step {step} cannot be reversed: it is neither recorded nor live "
                        f"(the live state is at {self._live}). Record or load it first."
                    )
                field = self._wave.levels.current
            self.scheme.backward(self._adjoint, field, self._image)
            self._inject(step, field)
            self._history.release(step)

    def _step(self, step: int, replay: bool) -> None:
        self.scheme.forward(self._wave, step)
        if not replay:
            self.scheme.observe(self._wave, self._traces[step])

    def _inject(self, step: int, wave: Array) -> None:
        if step > 0:  # the field at rest is not compared
            self.scheme.inject(self._residual[step - 1], self._adjoint, wave, self._image)

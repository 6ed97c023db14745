"""Random costs of a loop, small enough for exhaustive search."""

from __future__ import annotations

from hypothesis import strategies as st


def random_costs(rng, most_steps):
    """Return (steps, menu, snapshot, write, read, advance, budget)."""
    advance = rng.randint(1, 5)
    menu = []
    for _ in range(rng.choice([1, 1, 2, 2, 3])):
        left = rng.randint(0, 6)
        menu.append((advance + rng.randint(0, 8), left, left + rng.randint(0, 3)))
    steps = rng.randint(1, most_steps)
    times = rng.choice([0, 0, 1, 2]), rng.choice([0, 0, 1, 2])
    return steps, menu, rng.randint(1, 5), *times, advance, rng.randint(1, steps * 6)


@st.composite
def costs(draw, most_steps=60, most_bytes=60):
    """Draw (steps, menu, snapshot, write, read, advance); times are whole."""
    advance = draw(st.integers(0, 5))
    menu = []
    for _ in range(draw(st.integers(1, 3))):
        left = draw(st.integers(0, most_bytes))
        peak = left + draw(st.integers(0, most_bytes))
        menu.append((advance + draw(st.integers(0, 8)), left, peak))
    steps = draw(st.integers(1, most_steps))
    snapshot = draw(st.integers(0, most_bytes))
    return steps, menu, snapshot, draw(st.integers(0, 3)), draw(st.integers(0, 3)), advance

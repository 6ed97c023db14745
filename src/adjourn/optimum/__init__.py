"""The recurrences and Pareto sets of the theory as pure functions on numbers."""

from ._binomial import binomial, repetitions, revolve_advances

__all__ = ["binomial", "repetitions", "revolve_advances"]

"""Tests and conformance suites that a user's problems and tiers can be put to."""

from ._bitwise import bitwise_test
from ._calculus import Taylor, dot_product_test, taylor_test
from ._law import Law
from ._reproducible import Reproducibility, reproducible
from ._suite import LAWS, ProblemSuite, check_laws
from ._tiers import TierSuite

__all__ = [
    "LAWS",
    "Law",
    "ProblemSuite",
    "Reproducibility",
    "Taylor",
    "TierSuite",
    "bitwise_test",
    "check_laws",
    "dot_product_test",
    "reproducible",
    "taylor_test",
]

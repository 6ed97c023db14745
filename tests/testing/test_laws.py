"""The laws: good problems keep them, each broken one is caught by its name."""

from __future__ import annotations

import pytest

from adjourn import BadValue, LawBroken, Problem
from adjourn.models import synthetic
from adjourn.testing import LAWS, ProblemSuite, check_laws
from problems import Advection, Leapfrog, Reaction
from problems.broken import BROKEN, CarriesOldRoles, ForgetsToZero, RaisesOnReplay


class TestAdvection(ProblemSuite):
    """A linear problem that reads nothing."""

    def make(self):
        return Advection()


class TestReaction(ProblemSuite):
    """A non-linear problem that reads a tape."""

    def make(self):
        return Reaction()


class TestLeapfrog(ProblemSuite):
    """A ring of states with overlap that any advance overwrites."""

    def make(self):
        return Leapfrog()


class TestLeapfrogOfOneStep(ProblemSuite):
    """The shortest problem there is."""

    def make(self):
        return Leapfrog(steps=1)


class TestChangingPlaces(ProblemSuite):
    """Adjoints that change places with each step, named anew whenever they are asked for."""

    def make(self):
        class Current(CarriesOldRoles):
            def carried(self):
                return Leapfrog.carried(self)

        return Current()


class TestAcoustic(ProblemSuite):
    """The built-in wave equation in two dimensions and single precision."""

    def make(self):
        return synthetic(shape=(16, 20), steps=15, absorbing=4, smoothing=3)


class TestAcousticInThreeDimensions(ProblemSuite):
    """The built-in wave equation in three dimensions and double precision."""

    def make(self):
        return synthetic(shape=(9, 10, 11), steps=9, absorbing=3, smoothing=2, dtype="f8")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("kind", "law"), BROKEN.items(), ids=lambda value: str(value))
def test_a_broken_problem_gets_an_error_that_names_the_law(kind, law):
    """Each deliberately broken problem raises LawBroken with the expected law."""
    with pytest.raises(LawBroken) as caught:
        check_laws(kind())
    assert caught.value.law == law
    assert f"law {law!r} is broken" in str(caught.value)
    assert LAWS[law].statement in str(caught.value)


def test_every_law_is_broken_by_one_of_the_broken_problems():
    """No law is there that nothing can break."""
    assert set(BROKEN.values()) == set(LAWS)


def test_every_law_has_its_test_in_the_suite():
    """The suite's tests are the laws, and the presence of the protocol."""
    tests = {name for name in dir(ProblemSuite) if name.startswith("test_")}
    laws = {f"test_{name.replace(' ', '_')}" for name in LAWS}
    assert tests == laws | {"test_has_the_protocol"}


def test_the_suite_fails_on_a_broken_problem():
    """A subclass's test raises what check_laws raises."""

    class Broken(ProblemSuite):
        def make(self):
            return ForgetsToZero()

    with pytest.raises(LawBroken, match="begin twice"):
        Broken().test_begin_twice()
    Broken().test_advance_split()


def test_what_the_problem_raises_is_chained():
    """The problem's own error is in the text and is the cause."""
    with pytest.raises(LawBroken, match="the file of the wind was closed") as caught:
        check_laws(RaisesOnReplay())
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_the_checked_laws_are_those_that_have_a_meaning():
    """A problem without window, tape or record is asked for none."""
    checked = check_laws(Advection())
    assert "reads nothing" in checked
    assert not {"window bytes", "tape round trip", "recompute", "live reverse"} & set(checked)
    assert "live reverse" in check_laws(synthetic(shape=(8, 8), steps=4, absorbing=0))
    assert "live reverse" not in check_laws(Leapfrog())


def test_a_problem_without_outputs_is_refused():
    """Nothing to compare is an error, not a pass."""

    class Bare:
        steps, reads = 1, "nothing"

    with pytest.raises(BadValue, match=r"no carried\(\)"):
        check_laws(Bare())


def test_an_unknown_law_is_refused():
    """The message lists the laws there are."""
    with pytest.raises(BadValue, match=r"'gravity' is not a law\. The laws are: begin twice, "):
        check_laws(Advection(), only=["gravity"])


def test_a_problem_that_lacks_a_method_is_refused():
    """The suite says what is missing."""

    class Lacking(ProblemSuite):
        def make(self):
            problem = Advection()
            problem.__class__ = type("NoTurn", (), {"steps": 1, "reads": "nothing"})
            return problem

    with pytest.raises(BadValue, match="lacks advance, begin, record"):
        Lacking().test_has_the_protocol()


@pytest.mark.parametrize("make", [Advection, Reaction, Leapfrog])
def test_the_test_problems_fit_the_protocol(make):
    """The protocol can be checked at run time."""
    assert isinstance(make(), Problem)

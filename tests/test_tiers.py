"""The tiers of the tests, on tests that a test writes: what comes first, and what is no fast test."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = (Path(__file__).parent / "conftest.py").read_text()
BURN = """
import subprocess, sys, time, pytest

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""


@pytest.fixture
def tests(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with the tiers, of which the limits are a tenth of a second and half a second."""
    limits = "LISTED_S, REFUSED_S = 2.0, 15.0"
    assert limits in CONFTEST
    pytester.makeconftest(CONFTEST.replace(limits, "LISTED_S, REFUSED_S = 0.1, 0.5"))
    pytester.makeini("[pytest]\nmarkers =\n  slow\n  long")
    return pytester


def test_files_with_long_tests_come_first_and_keep_their_order(tests: pytest.Pytester) -> None:
    mark = "import pytest\n{}def test_one(): pass\n{}def test_two(): pass"
    tests.makepyfile(
        test_a=mark.format("", ""),
        test_b=mark.format("@pytest.mark.slow\n", ""),
        test_c=mark.format("", "@pytest.mark.long\n"),
        test_d=mark.format("", "@pytest.mark.slow\n"),
        test_e=mark.format("@pytest.mark.slow(minutes=2)\n", ""),
    )

    def order(*arguments: str) -> list[str]:
        found = tests.runpytest("--collect-only", "-q", *arguments).outlines
        return [line.removeprefix("test_").replace(".py::test_", " ") for line in found if "::" in line]

    assert order() == ["c one", "c two", "e one", "e two", "b one", "b two", "d one", "d two", "a one", "a two"]
    # What is left out does not count: of c the quick test alone is left.
    slow = ["e one", "e two", "b one", "b two", "d one", "d two"]
    assert order("-m", "not long") == [*slow, "a one", "a two", "c one"]
    assert order("-m", "not slow and not long") == ["a one", "a two", "b two", "c one", "d one", "e two"]


def test_what_takes_too_long_without_a_mark_is_listed_and_then_refused(tests: pytest.Pytester) -> None:
    tests.makepyfile(
        BURN
        + """
@pytest.fixture(scope="module")
def made(): burn(0.2)

def test_sleeps(): time.sleep(0.2)
def test_makes(made): pass
def test_uses(made): pass
def test_starts(): subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.6: pass"])
@pytest.mark.slow
def test_slow(): burn(0.6)
"""
    )
    done = tests.runpytest()
    done.assert_outcomes(passed=5, errors=1)
    assert done.ret == 1
    text = done.stdout.str()
    assert "test_starts took 0." in text
    listed = text.split("unmarked tests of more than")[1].split("short test summary")[0]
    assert [line.split("::")[1] for line in listed.splitlines() if "::" in line] == ["test_starts", "test_makes"]

"""The tiers of the tests: what is unmarked must be quick, and what takes long begins first.

`slow` and `long` are declared in pyproject.toml; CONTRIBUTING.md says what belongs where.
"""

import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forked_commands import fork_server
from programs import NOT_INSTALLED

from entropy_sentinel.study.engines.engine_run import announce_run

# Tests run beside each other, on small tables: threads of each would wait for one another. Jobs of a run inherit it.
for variable in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# A shell lets what it starts in the background ignore Ctrl-C, which some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A model is loaded once for all tests, in whatever process, and for the studies that they run.
announce_run(600, main_process=True)

# No test cuts the power: what it writes need not be on the disk before it goes on. Jobs of a run have the real one.
os.fsync = lambda descriptor: None

# CPU seconds of an unmarked test, its first fixtures and the processes that it waits for: more than the first is listed
# at the end of a run; more than the second is an error. Between them is what a busy machine and a first import add.
LISTED_S, REFUSED_S = 2.0, 15.0
TIERS = ("long", "slow")
ALL_PROGRAMS = "--all-programs"
STARTED = pytest.StashKey[float]()


def tier(item: pytest.Item) -> int:
    """0 for a long test, 1 for a slow one, 2 for a fast one."""
    return next((number for number, name in enumerate(TIERS) if item.get_closest_marker(name)), len(TIERS))


def place(item: pytest.Item) -> tuple[int, float]:
    """What an item is sorted by: its tier, and there the minutes that its mark may say, as in `long(minutes=5)`."""
    marks = [item.get_closest_marker(name) for name in TIERS]
    return tier(item), -max((mark.kwargs.get("minutes", 0) for mark in marks if mark), default=0)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with the longest tests come first: whichever worker has the last file, the others wait little for it."""
    first: dict[Any, tuple[int, float]] = {}
    for item in items:
        first[item.path] = min(place(item), first.get(item.path, place(item)))
    items.sort(key=lambda item: first[item.path])


def cpu_s() -> float:
    """CPU seconds of this process so far, and of those that it has started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.stash[STARTED] = cpu_s()
    return (yield)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(ALL_PROGRAMS, action="store_true", help="fail tests that a missing program or package would skip")


def fail_without_program(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    """Turn a skip for a missing program into a failure where all of them must be installed."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if report.skipped and NOT_INSTALLED in reason and config.getoption(ALL_PROGRAMS):
        report.outcome, report.longrepr = "failed", f"{report.nodeid}: {reason}, and {ALL_PROGRAMS} needs it"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[pytest.CollectReport]:
    report = yield
    fail_without_program(report, collector.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[pytest.TestReport]:
    report = yield
    fail_without_program(report, item.config)
    taken = cpu_s() - item.stash[STARTED]
    if call.when == "teardown" and tier(item) == len(TIERS) and taken > LISTED_S:
        report.user_properties.append(("cpu_s", taken))
        if taken > REFUSED_S and report.passed:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} took {taken:.1f} s of CPU time and is marked neither slow nor long"
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    ended = [one for kind in ("", "error") for one in terminalreporter.getreports(kind) if one.when == "teardown"]
    taken = {one.nodeid: dict(one.user_properties).get("cpu_s") for one in ended}
    slow = sorted((seconds, name) for name, seconds in taken.items() if seconds)
    if slow:
        terminalreporter.section(f"unmarked tests of more than {LISTED_S:.0f} s of CPU time")
        for seconds, name in reversed(slow):
            terminalreporter.line(f"{seconds:6.1f} s {name}")


@pytest.fixture(scope="session")
def forks() -> Iterator[str]:
    """The address of a process whose forks are commands of this environment (tests/shared/forked_commands.py)."""
    with fork_server(Path(sys.executable), os.environ) as address:
        yield address

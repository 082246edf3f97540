"""The progress of a study, its speed, and the remaining time."""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

from entropy_sentinel.rendering.terminal_text import Part, format_terminal_table
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.planning.file_plan import StudyFiles
from entropy_sentinel.study.planning.response_cost import ResponseCount, WorkDone, count_responses

# Speed is that of the last ten minutes,
WINDOW_S = 600
# unless work has stopped: nothing was written for this many times the usual interval, and for a minute.
SILENCE = 3
MAX_LISTED_FILES = 5


@dataclass(frozen=True)
class Amount:
    """Work done of a total, and its speed in units per second, None if unknown."""

    done: int
    total: int | None
    speed: float | None

    @property
    def left_s(self) -> float | None:
        """Seconds until all is done at this speed."""
        return (self.total - self.done) / self.speed if self.speed and self.total is not None else None


def count_jobs(files: StudyFiles, now: float) -> dict[str, Amount]:
    """The number of files made per stage at time `now`, in seconds since the epoch."""
    amounts = {}
    for stage, paths in files.stages.items():
        made_files = [path for path in paths if path not in files.to_make]
        times = [files.modification_times[path] for path in made_files if path in files.modification_times]
        amounts[stage] = Amount(len(made_files), len(paths), measure_speed([(time_s, 1) for time_s in times], now))
    return amounts


def sum_responses(counts: Iterable[ResponseCount], now: float) -> Amount:
    """The number of responses generated at time `now`, including those in the parts of running jobs."""
    done = 0
    totals: list[int | None] = []
    finished: list[WorkDone] = []
    speed_of_running_jobs = 0.0
    for count in counts:
        done += count.done
        totals.append(count.total)
        if count.is_finished:
            finished += count.work_done
        elif count.work_done:
            # Work after a job's last part is not written yet, so its time ends with that part.
            last_part, _rows = max(count.work_done)  # its time
            speed_of_running_jobs += measure_speed(count.work_done, now, until=last_part) or 0
    total = None if None in totals else sum(filter(None, totals))
    return Amount(done, total, speed_of_running_jobs or measure_speed(finished, now))


def measure_speed(work_done: Iterable[WorkDone], now: float, until: float | None = None) -> float | None:
    """The amount per second from the first event in the last WINDOW_S seconds to `until` (default `now`).

    The first event's amount is left out: it was done before it was written, perhaps partly before the window. None for
    a single event, and if work seems to have stopped.
    """
    recent = sorted((time_s, amount) for time_s, amount in work_done if time_s > now - WINDOW_S)
    if len(recent) < 2:
        return None
    first, last = recent[0][0], recent[-1][0]  # times
    interval = (last - first) / (len(recent) - 1)
    span = (now if until is None else until) - first
    if span <= 0 or now - last > max(SILENCE * interval, 60):
        return None
    return sum(amount for _, amount in recent[1:]) / span


def describe_progress(config: Config, files: StudyFiles, now: float) -> list[Part]:
    """The progress of the study at time `now`, as shown."""
    rows = []
    for stage, amount in count_jobs(files, now).items():
        rows.append(_format_row(stage, amount))
        if stage == "generations":
            rows.append(_format_row("  responses", sum_responses(count_responses(config, files).values(), now)))
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    parts: list[Part] = [
        f"Study '{config.study}', {at}",
        format_terminal_table(("", "done", "per minute", "left"), rows),
    ]
    damaged = sorted(map(str, files.damaged_files))
    for path in damaged[:MAX_LISTED_FILES]:
        parts.append(f"{path}: cannot be read; delete it, and the next run rebuilds it")
    if len(damaged) > MAX_LISTED_FILES:
        parts.append(f"and {len(damaged) - MAX_LISTED_FILES} more that cannot be read")
    return parts


def _format_row(name: str, amount: Amount) -> list[str]:
    """The cells: name, done of total, pace per minute (`-` if unknown or all is done), time left."""
    total = "?" if amount.total is None else f"{amount.total:,}"
    pace = "-" if amount.speed is None or amount.done == amount.total else f"{amount.speed * 60:,.1f}"
    return [name, f"{amount.done:,} of {total}", pace, _format_time_left(amount)]


def _format_time_left(amount: Amount) -> str:
    """The time until all is done: `2 h 05 min`, `done`, or `-` if it is unknown."""
    if amount.done == amount.total:
        return "done"
    if amount.left_s is None:
        return "-"
    hours, minutes = divmod(math.ceil(amount.left_s / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"

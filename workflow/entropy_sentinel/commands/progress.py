"""How far a study is: `PYTHONPATH=workflow python -m entropy_sentinel.commands.progress [--configfile FILE ...]`.

It looks at files alone, by name, modification time and Parquet metadata, so that it can run beside Snakemake at any
time. A file that is there counts as done, whether or not Snakemake would make it again.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import polars as pl

from entropy_sentinel.commands.plan import item_counts
from entropy_sentinel.config.config import Config, load_config, read_config
from entropy_sentinel.config.layout import Layout, parts_folder
from entropy_sentinel.config.study import group_files
from entropy_sentinel.frames.errors import EntropySentinelError

# Speed is that of the last ten minutes.
WINDOW_S = 600

Event = tuple[float, int]  # modification time in seconds, amount of work done with it


@dataclass(frozen=True)
class Amount:
    """Work done of a total, and its speed in units per second; None where that is unknown."""

    done: int
    total: int | None
    speed: float | None

    @property
    def left_s(self) -> float | None:
        """Seconds until all is done at this speed."""
        return (self.total - self.done) / self.speed if self.speed and self.total is not None else None


def stage_files(config: Config) -> dict[str, list[Path]]:
    """Every file of the study, by stage, in the order of the stages."""
    layout, run = Layout(config.study), config.run
    axes = {"model": run.models, "benchmark": run.benchmarks, "judge": run.judges, "group": group_files(config)}

    def files(template: str) -> list[Path]:
        names = [name for name in axes if f"{{{name}}}" in template]
        combinations = product(*(axes[name] for name in names))
        return [Path(template.format(**dict(zip(names, values, strict=True)))) for values in combinations]

    return {
        "benchmarks": files(layout.items),
        "generations": files(layout.generations),
        "labels": files(layout.labels),
        "features": files(layout.features),
        "observations": files(layout.observations),
        "estimates": files(layout.estimates),
        "sweep": files(layout.sweep),
        "report": files(layout.report),
    }


def jobs(config: Config, now: float) -> dict[str, Amount]:
    """Jobs done per stage at time `now` (seconds since the epoch)."""
    amounts = {}
    for stage, files in stage_files(config).items():
        finished = [(at, 1) for at in map(_modified, files) if at is not None]
        amounts[stage] = Amount(len(finished), len(files), speed(finished, now))
    return amounts


def responses(config: Config, now: float) -> Amount:
    """Responses generated at time `now`, those in the parts of jobs under way included."""
    layout, items, samples = Layout(config.study), _item_counts(config), config.generation.samples
    finished: list[Event] = []
    parts, under_way, waiting = 0, 0.0, []
    for model, benchmark in product(config.run.models, config.run.benchmarks):
        path = Path(layout.generations.format(model=model, benchmark=benchmark))
        if (at := _modified(path)) is not None:
            finished.append((at, _rows(path)))
            continue
        waiting.append(items[benchmark])
        events = list(_part_events(path))
        parts += sum(rows for _, rows in events)
        # What came after the last part is not written yet: the time ends with it.
        under_way += speed(events, now, max(events)[0] if events else None) or 0.0
    done = sum(rows for _, rows in finished)
    total = None if None in waiting else done + sum(waiting) * samples
    return Amount(done + parts, total, under_way or speed(finished, now))


def _item_counts(config: Config) -> dict[str, int | None]:
    """Items per benchmark: those of the files that are made, else what the forecast goes by."""
    made = zip(config.run.benchmarks, stage_files(config)["benchmarks"], strict=True)
    return item_counts(config) | {name: _rows(path) for name, path in made if path.exists()}


def speed(events: Sequence[Event], now: float, until: float | None = None) -> float | None:
    """Amount per second from the first event of the window to `until` (default `now`); None for a single event.

    The first event's own amount is left out: it was done before it was written, a part of it perhaps before the window.
    """
    recent = sorted(event for event in events if event[0] > now - WINDOW_S)
    span = (now if until is None else until) - recent[0][0] if recent else 0
    return sum(amount for _, amount in recent[1:]) / span if len(recent) > 1 and span > 0 else None


def _part_events(output: Path) -> Iterator[Event]:
    for path in Path(parts_folder(str(output))).glob("part-*.parquet"):
        if (at := _modified(path)) is not None:
            yield at, _rows(path)


def _modified(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return None


def _rows(path: Path) -> int:
    """Rows of a Parquet file, from its metadata; 0 for one that has gone in the meantime."""
    try:
        return pl.scan_parquet(path).select(pl.len()).collect().item()
    except FileNotFoundError:
        return 0


def progress(config: Config, now: float) -> str:
    """How far the study is at time `now`, as text."""
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    lines = [f"Study '{config.study}', {at}", f"{'':13}{'done':>16} {'per minute':>12} {'left':>12}"]
    for stage, amount in jobs(config, now).items():
        lines.append(_line(stage, amount))
        if stage == "generations":
            lines.append(_line("  responses", responses(config, now)))
    return "\n".join(lines)


def _line(name: str, amount: Amount) -> str:
    total = "?" if amount.total is None else f"{amount.total:,}"
    speed = "-" if amount.speed is None or amount.done == amount.total else f"{amount.speed * 60:,.1f}"
    return f"{name:13}{f'{amount.done:,} of {total}':>16} {speed:>12} {_duration(amount):>12}"


def _duration(amount: Amount) -> str:
    if amount.done == amount.total:
        return "done"
    if amount.left_s is None:
        return "-"
    hours, minutes = divmod(math.ceil(amount.left_s / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m entropy_sentinel.commands.progress", description=progress.__doc__)
    parser.add_argument("--configfile", nargs="+", default=[], help="as for snakemake; config.yaml lies below them")
    parser.add_argument("--watch", type=float, metavar="SECONDS", help="repeat until all is done")
    arguments = parser.parse_args()
    files = ["config.yaml", *arguments.configfile]
    try:
        config = load_config(read_config(files), " + ".join(files))
    except EntropySentinelError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    print(progress(config, time.time()), flush=True)
    while arguments.watch and any(amount.done < amount.total for amount in jobs(config, time.time()).values()):
        time.sleep(arguments.watch)
        print("\n" + progress(config, time.time()), flush=True)


if __name__ == "__main__":
    main()

"""The rooms of the package by floor, as a picture made from the imports."""

import ast
import html
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "workflow" / "entropy_sentinel"
BOX, GAP, HIGH, STEP, MARGIN = 192, 26, 46, 92, 36


STUDY = "study"


def floors() -> dict[str, int]:
    """The floor of each room from pyproject.toml, from 0; a room on several floors gets the lowest.

    The rooms of the study's wing, `study/NAME`, stand above all others.
    """
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    package, study = (one["layers"] for one in contracts if one["type"] == "layers")
    known: dict[str, int] = {}
    for floor, layer in enumerate(reversed(package)):
        for module in layer.split(" | "):
            room = module.removeprefix(f"{PACKAGE.name}.").split(".")[0]
            if module.startswith(f"{PACKAGE.name}.") and room != STUDY:
                known.setdefault(room, floor)
    top = max(known.values()) + 1
    for floor, layer in enumerate(reversed(study)):
        known |= dict.fromkeys((f"{STUDY}/{room}" for room in layer.split(" | ")), top + floor)
    return known


def _room(parts: list[str]) -> str:
    """The room of a module below the package, such as `study/items` or `logs`."""
    return "/".join(parts[:2]) if parts[0] == STUDY and len(parts) > 1 else parts[0]


@cache
def imports() -> Counter[tuple[str, str]]:
    """Count, for each pair of rooms, the modules of the first that import from the second."""
    result: Counter[tuple[str, str]] = Counter()
    for path in PACKAGE.rglob("*.py"):
        room = _room(list(path.relative_to(PACKAGE).with_suffix("").parts))
        names = {node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)}
        below = [_room(name.split(".")[1:]) for name in names if name and name.startswith(f"{PACKAGE.name}.")]
        result.update({(room, one) for one in below if one != room})
    return result


def direct(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The imports between rooms without those implied by a path through a third room."""
    above: dict[str, set[str]] = {}
    for room, below in pairs:
        above.setdefault(room, set()).add(below)

    def reaches(room: str, target: str, seen: frozenset[str]) -> bool:
        nexts = above.get(room, set()) - seen
        return target in nexts or any(reaches(one, target, seen | {one}) for one in nexts)

    return {
        (room, below)
        for room, below in pairs
        if not any(reaches(one, below, frozenset({room, one})) for one in above[room] - {below})
    }


def table_of_imports() -> list[list[str]]:
    """A table with a row per room, from the top floor: floor, room, modules, imports with their numbers."""
    known = floors()
    rows = []
    for room in sorted(known, key=lambda one: (-known[one], one)):
        used = {below: count for (one, below), count in imports().items() if one == room}
        modules = len([path for path in (PACKAGE / room).rglob("*.py") if path.name != "__init__.py"])
        below = ", ".join(f"{one} ({used[one]})" for one in sorted(used, key=lambda one: (-used[one], one)))
        rows.append([str(known[room]), room, str(modules), below or "-"])
    return rows


def picture() -> str:
    """The picture as SVG: a row of boxes for each floor, a line for each import that no other path implies."""
    known = floors()
    top = max(known.values())
    most = max(list(known.values()).count(floor) for floor in known.values())
    width = 2 * MARGIN + most * BOX + (most - 1) * GAP
    places: dict[str, tuple[float, float]] = {}
    for floor in range(top + 1):
        rooms = [room for room, its in known.items() if its == floor]
        left = (width - len(rooms) * BOX - (len(rooms) - 1) * GAP) / 2
        places |= {room: (left + number * (BOX + GAP), 20 + (top - floor) * STEP) for number, room in enumerate(rooms)}
    pairs = {(room, below) for room, below in imports() if room in known and below in known}
    parts = [_line(places[room], places[below]) for room, below in sorted(direct(pairs))]
    parts += [_box(room, *place) for room, place in places.items()]
    parts += [_floor(floor, 20 + (top - floor) * STEP) for floor in range(top + 1)]
    height = 20 + top * STEP + HIGH + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _line(room: tuple[float, float], below: tuple[float, float]) -> str:
    """A line from the bottom of a box to the top of another; on one floor, an arc below both."""
    x, y, to_x, to_y = room[0] + BOX / 2, room[1] + HIGH, below[0] + BOX / 2, below[1]
    if room[1] == below[1]:
        to_y += HIGH
        way = f"M{x} {y} C{x} {y + 34} {to_x} {y + 34} {to_x} {to_y}"
    else:
        half = (y + to_y) / 2
        way = f"M{x} {y} C{x} {half} {to_x} {half} {to_x} {to_y}"
    return f'<path d="{way}" fill="none" stroke="#7a9a97" stroke-width="1.3"/>'


def _box(room: str, x: float, y: float) -> str:
    modules = [path for path in (PACKAGE / room).rglob("*.py") if path.name != "__init__.py"]
    middle = x + BOX / 2
    return (
        f'<rect x="{x}" y="{y}" width="{BOX}" height="{HIGH}" rx="6" fill="#e0f2f1" stroke="#00796b"/>'
        f'<text x="{middle}" y="{y + 20}" text-anchor="middle" font-size="15">{html.escape(room)}</text>'
        f'<text x="{middle}" y="{y + 37}" text-anchor="middle" font-size="11" fill="#555">{len(modules)} modules</text>'
    )


def _floor(floor: int, y: float) -> str:
    return f'<text x="8" y="{y + 28}" font-size="13" fill="#555">{floor}</text>'

"""An estimator's saved form, made the same whenever the same is saved.

skops numbers objects by where they lie in memory, names files after that and stamps them with the time of day: saved
twice, the same estimator has other bytes and another checksum, and whoever knows it by its checksum (the state of a
monitor) takes it for another. Here objects are numbered in the order in which they appear, and the stamps are one date.
"""

import io
import json
import zipfile
from typing import Any

_SCHEMA = "schema.json"
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a ZIP file can say
_NUMBER, _FILE, _KIND = "__id__", "file", "__loader__"
# Texts, numbers and types: which of them are one object in memory depends on who made them.
_VALUES = ("JsonNode", "TypeNode")


def reproducible(saved: bytes) -> bytes:
    """What `skops.io.dumps` gave, with numbers, names and stamps that say nothing of the process that made it."""
    with zipfile.ZipFile(io.BytesIO(saved)) as before:
        contents = {name: before.read(name) for name in before.namelist()}
    schema, names = json.loads(contents.pop(_SCHEMA)), dict[str, str]()
    _number(schema, {}, names)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as after:
        for name, content in [(new, contents[old]) for old, new in names.items()] + [(_SCHEMA, _text(schema))]:
            after.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _number(node: Any, numbers: dict[Any, int], names: dict[str, str]) -> None:
    """Number the objects of a schema and name its files in their order; the same object, the same number."""
    if isinstance(node, dict):
        if (number := node.pop(_NUMBER, None)) is not None:
            of = json.dumps(node, sort_keys=True) if node.get(_KIND) in _VALUES else number
            node[_NUMBER] = numbers.setdefault(of, len(numbers))
        if isinstance(node.get(_FILE), str):
            node[_FILE] = names.setdefault(node[_FILE], f"{len(names)}.npy")
    for below in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _number(below, numbers, names)


def _text(schema: dict[str, Any]) -> bytes:
    return json.dumps(schema, indent=2).encode()

"""Files of estimators as an attacker would make them: a good one, with nodes of skops' description put in."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Node = dict[str, Any]
OWN = "entropy_sentinel.estimators"


def forge(good: Path, target: Path, edit: Callable[[Node], Node], header: Node | None = None) -> bytes:
    """Write the file `good` with its description edited, and its header; returns the new parameters alone."""
    magic, _, about, payload = good.read_bytes().split(b"\n", 3)
    with zipfile.ZipFile(io.BytesIO(payload)) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    schema = json.loads(files["schema.json"])
    edited = edit(schema)
    files["schema.json"] = json.dumps({"protocol": schema["protocol"]} | edited).encode()
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    about = json.dumps(json.loads(about) | (header or {})).encode()
    content = about + b"\n" + changed.getvalue()
    target.write_bytes(b"\n".join([magic, hashlib.sha256(content).hexdigest().encode(), content]))
    return changed.getvalue()


def node(kind: str, whose: str, **facts: Any) -> Node:
    """A node of this kind, of `module.Class`."""
    module, _, name = whose.rpartition(".")
    return {"__loader__": kind, "__module__": module, "__class__": name, **facts}


def plain(value: Any) -> Node:
    """What JSON has: text, number, null."""
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def sequence(*parts: Node, kind: str = "list") -> Node:
    return node(f"{kind.capitalize()}Node", f"builtins.{kind}", content=list(parts))


def dictionary(key: Node | None = None, **parts: Node) -> Node:
    """A dict; `key` is what its keys are called with, str by default."""
    keys = [key or node("TypeNode", "builtins.str")] * len(parts)
    return node("DictNode", "builtins.dict", content=parts, key_types=sequence(*keys))


def called(what: str, *arguments: Node) -> Node:
    """A call, when it is loaded, of anything that `module.name` leads to."""
    return node("ConstructorFromReduceNode", what, content=sequence(*arguments, kind="tuple"))


def method(owner: Node, name: str) -> Node:
    """A method of an object; of a module, one of its functions."""
    whose = f"{owner['__module__']}.{owner['__class__']}"
    return node("MethodNode", whose, content={"func": name, "obj": owner})


def function_of_os(name: str) -> Node:
    """`os.NAME`, by way of a module of the package that imports os."""
    return method(node("TypeNode", "entropy_sentinel.frames.caches.os"), name)


def called_by_fit(function: Node, argument: str) -> Node:
    """A call of `function` with a text: `fit` asks whatever it is given to fit, here an object with such a method."""
    one = node("ObjectNode", f"{OWN}.estimator.Unfitted", content=dictionary(fit=function))
    return called(f"{OWN}.fit.fit", one, sequence(plain(argument)))

"""`reference/files.md`: the columns of every Parquet file, from the contracts checked when files are written."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import entropy_sentinel
from entropy_sentinel.core.extensions import get_module_name, load_declarations
from entropy_sentinel.schemas.contract import Contract
from made.markdown import code, paragraphs, plain, table

HEAD = """# Columns of every file

The workflow writes its data as Parquet files with these columns. They are checked when a file is written and when it is
read. The metadata of each file records its provenance. This page is generated from the contracts.

"""


def page() -> str:
    """The page as Markdown."""
    return HEAD + "\n".join(_described(text, contract) for text, contract in _contracts())


def _contracts() -> Iterator[tuple[str, Contract]]:
    """Every contract of the package once, with the docstring of the module that declares it."""
    root = Path(entropy_sentinel.__file__).parent
    modules = [f"entropy_sentinel.schemas.{one.name}" for one in pkgutil.iter_modules([str(root / "schemas")])]
    modules += [f"entropy_sentinel.features.{path.stem}" for path in sorted(root.glob("features/*_frame.py"))]
    modules.sort(key=lambda name: name.rpartition(".")[2])
    declaring = [get_module_name("signals", name) for name in sorted(load_declarations("signals"))]
    declaring += [get_module_name("analyses", name) for name in sorted(load_declarations("analyses"))]
    folders = [f"{name}{inner}" for name in declaring for inner in ("", ".measuring")]
    for folder in filter(find_spec, folders):
        modules += [
            f"{folder}.{one.name}"
            for one in pkgutil.iter_modules(import_module(folder).__path__)
            if one.name.endswith("_frames")
        ]
    for name in modules:
        module = import_module(name)
        source = Path(module.__file__ or "").read_text()
        for constant, contract in vars(module).items():
            # Skip imported contracts: the modules that declare them list them.
            if isinstance(contract, Contract) and f"\n{constant} = Contract(" in source:
                yield module.__doc__ or "", contract


def _described(text: str, contract: Contract) -> str:
    more = " Further columns may follow." if contract.open else ""
    rows = (
        [
            code(column.name),
            plain(column.meaning),
            plain(column.unit),
            code(column.dtype),
            "yes" if column.nullable else "",
        ]
        for column in contract.columns
    )
    key = ", ".join(map(code, contract.key))
    return f"## {contract.stage}\n\n{paragraphs(text)}\n\nThe key of a row: {key}.{more}\n\n" + table(
        ["column", "meaning", "unit", "type", "may be null"], rows
    )

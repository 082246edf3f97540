"""The identity of a job's code: what counts as an edit, and how far imports reach."""

import ast
import textwrap
from pathlib import Path

import pytest

from entropy_sentinel.estimators.catalogue import modules
from entropy_sentinel.jobs import fingerprint as module
from entropy_sentinel.jobs import sources
from entropy_sentinel.jobs.fingerprint import fingerprint
from entropy_sentinel.jobs.normal_form import normal_form

CODE = '''
"""Module."""
def f(x, *, y=1):
    """Function."""
    return {**x, "a": [y]} if x else f"{y}!"
'''


def form(code: str) -> str:
    return normal_form(ast.parse(code))


@pytest.mark.parametrize(
    "edited",
    [
        CODE.replace("Function.", "Another text."),
        CODE.replace("    return", "    # why\n\n    return"),
        CODE.replace('{**x, "a": [y]}', "{\n        **x,\n        'a': [y],\n    }"),
        CODE.replace('    """Function."""\n', ""),
    ],
)
def test_docstrings_comments_and_layout_do_not_count(edited: str) -> None:
    assert edited != CODE
    assert form(edited) == form(CODE)


@pytest.mark.parametrize(
    "edited",
    [CODE.replace("y=1", "y=2"), CODE.replace("*, ", ""), CODE.replace('"a"', '"b"'), CODE.replace("!", "?")],
)
def test_code_and_strings_count(edited: str) -> None:
    assert form(edited) != form(CODE)


def test_normal_form_leaves_out_what_later_pythons_add() -> None:
    node = ast.parse("def f(): pass")
    before = normal_form(node)
    node.body[0].type_params = []  # Python 3.12 has this field on every function
    node.body[0].type_comment = None
    assert normal_form(node) == before


def test_closure_follows_imports_through_layers() -> None:
    files = [entry.split()[0] for entry in fingerprint("feature.py")]
    assert "scripts/feature.py" in files
    assert "entropy_sentinel/features/compute.py" in files
    assert "entropy_sentinel/frames/contract.py" in files
    assert "entropy_sentinel/estimators/training.py" not in files
    assert "entropy_sentinel/engines/vllm.py" not in files


def test_closure_includes_imports_inside_functions_and_the_families_that_are_named() -> None:
    files = [
        entry.split()[0]
        for entry in fingerprint("estimate.py", *modules(["atc-max", "doc-forest-1d-balanced-isotonic"]))
    ]
    assert "entropy_sentinel/stages/estimate.py" in files
    assert "entropy_sentinel/estimators/trees.py" in files
    assert "entropy_sentinel/estimators/atc.py" in files
    assert "entropy_sentinel/estimators/mlp.py" not in files


@pytest.mark.parametrize(
    "added",
    [
        "class OneError(Exception):\n    'Why.'",
        "class OneError(errors.InputError, ValueError):\n    pass",
        "class OneWarning(UserWarning): pass",
        "class OneException(BaseException): pass",
    ],
)
def test_names_of_errors_do_not_count(added: str) -> None:
    before = "def f():\n    return 1\n"
    assert form(f"{added}\n{before}") == form(before)
    inside = "if f():\n    g()\n"
    assert form(inside + textwrap.indent(added, "    ")) == form(inside)


@pytest.mark.parametrize(
    "added",
    [
        "class OneError(Exception):\n    status = 1",
        "class OneError(Exception):\n    def __str__(self): return 'x'",
        "class Kept(dict): pass",
        "class Kept: pass",
        "@dataclass\nclass OneError(Exception): pass",
        "class OneError(Exception, metaclass=Meta): pass",
    ],
)
def test_classes_with_behaviour_count(added: str) -> None:
    before = "def f():\n    return 1\n"
    assert form(f"{added}\n{before}") != form(before)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workflow folder with a package of its own."""
    files = {
        "scripts/job.py": "import entropy_sentinel.stages.job\n",
        "entropy_sentinel/analyses/own/job.py": "import entropy_sentinel.families.base\n",
        "entropy_sentinel/__init__.py": "",
        "entropy_sentinel/stages/__init__.py": "",
        "entropy_sentinel/stages/job.py": "",
        "entropy_sentinel/families/__init__.py": "",
        "entropy_sentinel/families/base.py": "",
        "entropy_sentinel/families/forest.py": "from entropy_sentinel.families import base\n",
        "entropy_sentinel/page.html.j2": "<p>",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(module, "_ROOT", tmp_path)
    return tmp_path


def files(*arguments: str) -> list[str]:
    return [entry.split()[0].removeprefix("entropy_sentinel/") for entry in fingerprint(*arguments)]


def test_modules_that_are_imported_by_name_count_with_their_closure(tree: Path) -> None:
    alone = ["__init__.py", "scripts/job.py", "stages/__init__.py", "stages/job.py"]
    assert sorted(files("job.py")) == alone
    families = ["families/__init__.py", "families/base.py", "families/forest.py"]
    assert sorted(files("job.py", "entropy_sentinel.families.forest")) == sorted(alone + families)
    assert sorted(files("job.py", "entropy_sentinel.families")) == sorted([*alone, "families/__init__.py"])


def test_other_files_count_by_their_content(tree: Path) -> None:
    before = fingerprint("job.py", "page.html.j2")
    assert "entropy_sentinel/page.html.j2 " in " ".join(before)
    (tree / "entropy_sentinel" / "page.html.j2").write_text("<p >")
    sources.read_source.cache_clear()
    changed = set(fingerprint("job.py", "page.html.j2")) ^ set(before)
    assert {entry.split()[0] for entry in changed} == {"entropy_sentinel/page.html.j2"}


def test_a_script_may_lie_in_an_analysis(tree: Path) -> None:
    assert sorted(files("entropy_sentinel/analyses/own/job.py")) == [
        "__init__.py",
        "analyses/own/job.py",
        "families/__init__.py",
        "families/base.py",
    ]


@pytest.mark.parametrize(
    "name", ["absent.py", "entropy_sentinel/absent.py", "entropy_sentinel.families.absent", "absent.j2"]
)
def test_what_is_not_there_is_named(tree: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=name):
        fingerprint(*([name] if name.endswith("absent.py") else ["job.py", name]))


def test_the_description_of_a_key_is_documentation() -> None:
    key = "folds: int = Field(5, ge=2, description={!r})"
    assert form(key.format("folds")) == form(key.format("folds of the grid search"))
    assert form("folds: int = Field(5, ge=2)") == form(key.format("folds"))
    assert form(key.format("folds").replace("ge=2", "ge=3")) != form(key.format("folds"))
    # Elsewhere it is a string like any other.
    assert form("Bar(description='a')") != form("Bar(description='b')")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own, and a process that has read nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    start_again()
    return tmp_path / "home" / "entropy-sentinel" / "sources.jsonl"


def start_again() -> None:
    sources.read_source.cache_clear()
    sources._kept.cache_clear()


@pytest.mark.parametrize("damage", [b"", b"[1]\n", b"{}\n\xff[\n", b'["0123456789ab", "ab'])
def test_what_is_kept_saves_parsing_and_a_damaged_file_only_costs_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    parsed = []
    monkeypatch.setattr(sources, "_parsed", lambda tree, parse=sources._parsed: parsed.append(tree) or parse(tree))
    home.parent.mkdir(parents=True)
    home.write_bytes(damage)
    before = fingerprint("feature.py")
    first = len(parsed)
    start_again()
    assert fingerprint("feature.py") == before
    # All are found again but for the one whose line follows one that was not ended.
    assert len(parsed) - first <= (not damage.endswith(b"\n") and damage != b"")
    assert first > 5


def test_what_is_kept_is_of_the_content_and_of_the_rules(
    tree: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprint("job.py")
    (tree / "entropy_sentinel" / "stages" / "job.py").write_text("X = 1")
    start_again()
    assert [new.split()[0] for new in fingerprint("job.py") if new not in before] == ["entropy_sentinel/stages/job.py"]
    monkeypatch.setattr(sources, "_rules", lambda: b"others")
    start_again()
    known = len(home.read_text().splitlines())
    fingerprint("job.py")
    assert len(home.read_text().splitlines()) > known


def test_where_nothing_can_be_kept_nothing_is_lost(home: Path) -> None:
    before = fingerprint("feature.py")
    home.parent.rename(home.parent.with_name("aside"))
    home.parent.write_text("in the way")
    start_again()
    assert fingerprint("feature.py") == before


def test_a_user_without_a_home_starts_all_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user is in no list: Python says so by a RuntimeError."""
    before = fingerprint("feature.py")

    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", nowhere)
    start_again()
    assert fingerprint("feature.py") == before


def test_a_long_file_begins_anew(home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_bytes(b"[]\n" * (1 << 19))
    fingerprint("feature.py")
    assert 0 < home.stat().st_size < 1 << 20

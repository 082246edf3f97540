"""The identity of a job's code: what counts as an edit, and how far imports reach."""

import subprocess
import sys
from pathlib import Path

import pytest

from entropy_sentinel.study.jobs import code_fingerprint as module
from entropy_sentinel.study.jobs.code_fingerprint import fingerprint_code

CODE = '''
"""Module."""
def f(x, *, y=1):
    """Function."""
    try:
        return {**x, "a": [y]} if x in {"b", "c"} else f"{y}!"
    except TypeError:
        return None
'''


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a stage, the folder that it imports, and a folder with data that an analysis imports."""
    package = tmp_path / "entropy_sentinel"
    files = {
        "study/stages/job.py": "def run():\n    from entropy_sentinel.sums.add import f\n",
        "study/stages/other.py": "import entropy_sentinel.texts.words as words\n",
        "sums/__init__.py": "",
        "sums/add.py": CODE,
        "sums/deep/__init__.py": "",
        "texts/words.py": "from entropy_sentinel import sums\n",
        "analyses/own/__init__.py": "from entropy_sentinel.texts import words\n",
        "analyses/own/rules.smk": "rule a:\n",
        "analyses/own/page.html.j2": "<p>",
        "analyses/own/published/table.csv": "1",
    }
    for name, content in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(content)
    monkeypatch.setattr(module, "_ROOT", package)
    monkeypatch.setattr(module, "_STAGES", package / "study" / "stages")
    monkeypatch.setattr(module, "_find_extension_paths", lambda: {"entropy_sentinel": package})
    module._read_unit.cache_clear()
    return package


def folders(*modules: str) -> list[str]:
    module._read_unit.cache_clear()
    return [line.split()[0] for line in fingerprint_code(*modules)]


def edited(file: Path, content: str, *modules: str) -> list[str]:
    """The folders whose hash is another one with this content of a file."""
    module._read_unit.cache_clear()
    before = fingerprint_code(*modules)
    file.write_text(content)
    module._read_unit.cache_clear()
    return [line.split()[0] for line in fingerprint_code(*modules) if line not in before]


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("Function.", "Another text.", False),
        ("Module.", "Another text.", False),
        ('    """Function."""\n', "", False),
        ("    try", "    # why\n\n    try", False),
        ('{**x, "a": [y]}', "{\n            **x,\n            'a': [y],\n        }", False),
        ("y=1", "y=2", True),
        ("*, ", "", True),
        ('"a"', '"b"', True),
        ("!", "?", True),
        ('"c"', '"d"', True),
        ("return None\n", "return None\nX = 1\n", True),
        ("try:\n", "g()\n    try:\n", True),
        ("TypeError", "ValueError", True),
    ],
)
def test_the_hash_covers_code_and_strings_without_docstrings_comments_and_layout(
    tree: Path, old: str, new: str, counts: bool
) -> None:
    assert old in CODE
    assert edited(tree / "sums" / "add.py", CODE.replace(old, new), "study.stages.job") == ["sums"] * counts


def test_the_hash_follows_imports_by_folder_and_stages_by_module(tree: Path) -> None:
    assert folders("study.stages.job") == ["study/stages/job.py", "sums"]
    assert folders("study.stages.other") == ["study/stages/other.py", "sums", "texts"]
    assert folders("analyses.own") == ["analyses/own", "sums", "texts"]
    assert folders("study.stages.job", "texts") == ["study/stages/job.py", "sums", "texts"]


def test_the_hash_covers_templates_and_data_without_rules(tree: Path) -> None:
    own = tree / "analyses" / "own"
    assert edited(own / "page.html.j2", "<p >", "analyses.own") == ["analyses/own"]
    assert edited(own / "published" / "table.csv", "2", "analyses.own") == ["analyses/own"]
    assert edited(own / "rules.smk", "rule b:\n", "analyses.own") == []


def test_an_unknown_module_is_named(tree: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"sums\.absent"):
        fingerprint_code("sums.absent")


def test_the_hash_of_a_stage_covers_only_its_imports() -> None:
    assert folders("study.stages.feature_stage")[:2] == ["features", "schemas"]
    estimate = folders("study.stages.estimate_stage")
    assert {"estimators", "statistics", "study/stages/estimate_stage.py"} <= set(estimate)
    assert not {"study/analyses", "llm_client", "study/config", "study/engines", "judges", "monitor"} & set(estimate)


def test_the_hash_is_the_same_in_each_process() -> None:
    """Python orders the elements of a set anew in each process."""
    program = (
        "from entropy_sentinel.study.jobs.code_fingerprint import fingerprint_code; "
        "print(fingerprint_code('study.stages.estimate_stage'))"
    )
    shown = {
        subprocess.check_output(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(module._ROOT.parent)}
        )
        for seed in ("1", "2")
    }
    assert len(shown) == 1


def test_the_hash_covers_the_extent_of_a_try_block(tree: Path) -> None:
    code, file = "def f():\n    {}\n    except KeyError:\n        c()\n", tree / "sums" / "add.py"
    file.write_text(code.format("try:\n        a()\n        b()"))
    assert edited(file, code.format("a()\n    try:\n        b()"), "study.stages.job") == ["sums"]

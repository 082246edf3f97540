"""A file's content among the settings of the job that reads it; tests/workflow/test_replaced_inputs.py runs it."""

import hashlib
from pathlib import Path

from entropy_sentinel.study.jobs import file_content
from entropy_sentinel.study.jobs.file_content import add_content

SETTINGS = {"version": 1, "limit": None}


def test_settings_contain_the_fingerprint_unless_the_result_was_recorded_without_it(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("{}\n")
    checksum = "sha256:ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"
    assert checksum == f"sha256:{hashlib.sha256(b'{}' + bytes([10])).hexdigest()}"
    new = SETTINGS | {"content": checksum}
    same, other = {str(file): checksum}, {str(file): checksum.replace("c", "d")}
    assert add_content(SETTINGS, [str(file)], None, None) == new
    assert add_content(SETTINGS, [str(file)], [repr(SETTINGS)], same) == SETTINGS
    assert add_content(SETTINGS, [str(file)], [repr(SETTINGS)], other) == new
    assert add_content(SETTINGS, [str(file)], [repr(SETTINGS)], None) == new
    assert add_content(SETTINGS, [str(file)], [repr(new)], same) == new
    assert add_content(SETTINGS, [str(file)], [repr(SETTINGS | {"limit": 5})], same) == new
    file.write_text("[]\n")
    assert add_content(SETTINGS, [str(file)], [repr(SETTINGS)], same)["content"] != checksum


def test_settings_are_unchanged_for_a_missing_or_large_file(tmp_path: Path) -> None:
    large = tmp_path / "rows.jsonl"
    with large.open("wb") as file:
        file.truncate(file_content.LARGEST_BYTES + 1)
    small = tmp_path / "small.jsonl"
    small.touch()
    for paths in ([], [tmp_path / "absent.jsonl"], [large], [small, large], [small, tmp_path / "absent.jsonl"]):
        assert add_content(SETTINGS, [str(path) for path in paths], None, None) == SETTINGS


def test_the_fingerprint_covers_all_files(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in "ab"]
    for file in files:
        Path(file).write_text(file)
    checksums = {file: f"sha256:{hashlib.sha256(file.encode()).hexdigest()}" for file in files}
    new = SETTINGS | {"content": " ".join(checksums.values())}
    assert add_content(SETTINGS, files, None, None) == new
    assert add_content(SETTINGS, files, [repr(SETTINGS)], checksums) == SETTINGS
    assert add_content(SETTINGS, files, [repr(SETTINGS)], checksums | {files[1]: "sha256:0"}) == new

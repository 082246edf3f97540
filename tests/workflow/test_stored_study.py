"""A study whose files are in an object store, by Snakemake's storage plugin and a server with S3's interface."""

from pathlib import Path

import pytest
import yaml
from serving import needs_program, object_store
from workflow_runs import Project

pytestmark = [pytest.mark.slow, needs_program("moto_server")]

MODEL, BENCHMARKS = "qwen2.5-coder-0.5b", ("svamp", "math")
STUDY = {
    "study": "stored",
    "run": {
        "models": [MODEL],
        "benchmarks": [*BENCHMARKS],
        "analyses": ["responses"],
        "sizes": [],
        "judges": ["math-verify"],
    },
    "models": {MODEL: {"source": f"examples/real/traces/{MODEL}"}},
    "benchmarks": {name: {"path": f"examples/real/benchmarks/{name}.jsonl"} for name in BENCHMARKS},
}


def test_inputs_and_outputs_are_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    project = Project(folder, ["stored.yaml"])
    (folder / "stored.yaml").write_text(yaml.safe_dump(STUDY))
    with object_store(tmp_path, "lab") as client:
        for path in (folder / "examples" / "real").rglob("*"):
            if path.is_file() and path.stem in BENCHMARKS:
                client.upload_file(str(path), "lab", path.relative_to(folder).as_posix())
        for name in ("ACCESS_KEY", "SECRET_KEY"):
            monkeypatch.setenv(f"SNAKEMAKE_STORAGE_S3_{name}", "any")
        store = ["--default-storage-provider", "s3", "--default-storage-prefix", "s3://lab"]
        store += ["--storage-s3-endpoint-url", client.meta.endpoint_url]
        project.run(*store)
        page = client.get_object(Bucket="lab", Key=f"results/stored/math-verify/responses/{MODEL}.html")["Body"].read()
        assert b"svamp" in page
        assert project.planned(*store) == {}
    assert not (folder / "results").exists()

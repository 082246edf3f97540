"""The package's example is what its program makes of the real traces, and near to them."""

import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import entropy_sentinel as es
from entropy_sentinel.schemas.contract import read_provenance
from write_example import BENCHMARKS, ITEMS, rounded, sources, write
from write_weeks import HERE, SHOWN

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    write(folder, SHOWN, BENCHMARKS)
    return folder


@pytest.mark.long
def test_the_committed_example_is_what_the_program_makes(made: Path) -> None:
    """`make example` makes it anew, where another model is shown or labels move."""
    there = es.example()
    assert {path.name for path in there.traces.iterdir()} == {f"{name}.parquet" for name in BENCHMARKS}
    for name in ("labels.parquet", "features.parquet", *(f"traces/{one}.parquet" for one in BENCHMARKS)):
        assert pl.read_parquet(there.labels.parent / name).equals(pl.read_parquet(made / name)), name
        assert read_provenance(there.labels.parent / name) == read_provenance(made / name)
    assert there.log.read_text() == (made / "log.jsonl").read_text()
    assert there.sources.read_text() == (made / "SOURCES.md").read_text()


def test_the_example_is_small_enough_for_the_package() -> None:
    """Packed, as in a wheel, of which 2 MB is the most; the code takes a third of these."""
    files = [path for path in es.example().labels.parent.rglob("*") if path.is_file()]
    assert sum(len(zlib.compress(file.read_bytes())) for file in files) < 1_250_000


def test_rounding_moves_a_probability_by_little() -> None:
    exact = np.log(np.random.default_rng(1).dirichlet(np.full(20, 0.1), 2_000) + 1e-30).astype(np.float32)
    result = rounded(exact)
    assert np.abs(np.exp(result.astype(float)) - np.exp(exact.astype(float))).max() <= 0.00012
    assert np.abs(result - exact).max() <= 0.25
    assert (np.diff(-np.sort(-result, axis=1)) <= 0).all()
    assert rounded(np.array([-np.inf, 0.0, -1.0])).tolist() == [-np.inf, 0.0, -1.0]
    # The steps are 2^-13 (2e-4 is between 2^-13 and 2^-12) at a probability of 1, and 1/2 where there is hardly any.
    assert rounded(np.array([-1.6 / 8192, -20.3])).tolist() == [-2 / 8192, -20.5]


def test_its_features_equal_those_of_the_full_traces_up_to_rounding() -> None:
    result = es.read_features(es.example().traces)
    assert result["reason"].null_count() == len(result) == ITEMS * len(BENCHMARKS)
    whole = es.read_features([HERE / "traces" / SHOWN / f"{name}.parquet" for name in BENCHMARKS])
    both = result.join(whole, on=["benchmark", "item_id"], suffix="_whole", validate="1:1")
    assert len(both) == len(result)
    # As a share of how much responses differ.
    for name in ("mean", "max", "se_sum", "nll_sum", "nll_max", "mtp", "q90"):
        off = (both[name] - both[f"{name}_whole"]).abs().max()
        assert off <= 0.03 * both[f"{name}_whole"].std(), name


def test_labels_equal_those_of_the_traces() -> None:
    labels = es.read_labels(es.example().labels)
    assert len(labels) == ITEMS * len(BENCHMARKS)
    whole = pl.concat([pl.read_parquet(HERE / "labels" / SHOWN / f"{name}.parquet") for name in BENCHMARKS])
    judged = dict(whole.select("item_id", "label").iter_rows())
    assert [judged[item] for item in labels["item_id"]] == labels["label"].to_list()


def test_an_estimator_has_enough_to_learn_from() -> None:
    """Each benchmark counts in the validation, and one that is left out can be estimated."""
    example = es.example()
    features, labels = es.read_features(example.traces), es.read_labels(example.labels)
    fitted = es.fit(features, labels)
    assert [domain.domain for domain in fitted.validation.domains] == sorted(BENCHMARKS)
    assert all(domain.estimated is not None for domain in fitted.validation.domains)


def test_sources_name_model_and_licences() -> None:
    text = sources("qwen2.5-coder-0.5b", ["svamp", "gsm8k"])
    assert "Apache 2.0" in text
    assert text.count("| MIT |") == 2
    with pytest.raises(ValueError, match="must name 'gpt-2'"):
        sources("gpt-2", ["svamp"])
    with pytest.raises(ValueError, match="each of svamp, none in"):
        sources("qwen2.5-coder-0.5b", ["svamp", "none"])

"""What was run, sorted into what is shared and what differs."""

from frames import generation_facts

from entropy_sentinel.study.analyses.accuracy.provenance import collect_origins, describe_miscounts

GENERATIONS = generation_facts(["tiny-a", "tiny-b"], ["arithmetic", "logic"])


def test_origins_separate_shared_settings_from_differing_ones():
    result = collect_origins(GENERATIONS, "model")
    assert ("sampling temperature", "0.5") in result.shared
    assert ("logprobs mode", "raw_logprobs") in result.shared
    assert "revision" not in dict(result.shared), "an empty setting is not shown"
    assert result.headings == ("model", "weights")
    assert result.rows == (("tiny-a", "models/tiny-a"), ("tiny-b", "models/tiny-b"))
    assert result.conflicts == ()


def test_unknown_facts_are_shown_as_unknown():
    theirs = {"model": "theirs", "benchmark": "logic", "sampling": "unknown", "engine": "source"}
    assert ("sampling", "unknown") in collect_origins([theirs], "model").shared
    result = collect_origins([*GENERATIONS, theirs], "model")
    row = dict(zip(result.headings, result.rows[2], strict=True))
    assert (row["sampling"], row["sampling temperature"]) == ("unknown", "-")


def test_origins_report_a_conflict_within_a_model():
    changed = [*GENERATIONS[:-1], GENERATIONS[-1] | {"engine_version": "0.12.0"}]
    result = collect_origins(changed, "model")
    assert result.conflicts == ("tiny-b: engine version differs between files: 0.11.0, 0.12.0.",)
    assert result.rows[1] == ("tiny-b", "models/tiny-b", "0.11.0 / 0.12.0")


def test_each_file_can_be_imported_from_its_own_source():
    taken = []
    for place, entry in enumerate(GENERATIONS):
        source = f"given/{entry['benchmark']}.parquet"
        taken.append(entry | {"source": source, "source_content": str(place), "resumed_responses": place})
    result = collect_origins(taken, "model")
    assert result.conflicts == ()
    assert ("source", "given/arithmetic.parquet / given/logic.parquet") in result.shared
    assert result.headings == ("model", "weights", "resumed responses")
    assert result.rows[1] == ("tiny-b", "models/tiny-b", "2 / 3")


def test_a_conflict_shared_by_all_models_is_reported():
    changed = [entry | {"engine": "vllm" if entry["benchmark"] == "logic" else "other"} for entry in GENERATIONS]
    result = collect_origins(changed, "model")
    assert len(result.conflicts) == 2


def test_a_number_of_items_unlike_the_published_one_is_a_warning():
    benchmarks = [{"benchmark": "a", "items_in_source": 24}, {"benchmark": "b", "items_in_source": 7}]
    assert describe_miscounts(benchmarks, {"a": 25, "b": 7, "c": 1}) == ("a: 24 items, the published count is 25.",)
    assert describe_miscounts(benchmarks, {"a": None}) == ()


def test_secrets_of_imported_traces_are_not_shown() -> None:
    key = "hf_abcdefghijklmnopqrstuvwxyz"
    entries = [{"model": "a", "extra": {"auth": "hush", "style": key, "max_tokens": 5}}]
    assert collect_origins(entries, "model").shared == (
        ("extra auth", "***"),
        ("extra style", "***"),
        ("extra max tokens", "5"),
    )

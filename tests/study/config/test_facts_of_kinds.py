"""Kinds of models and judges say their own facts: what the core asks them, whatever their class."""

import ast
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from pydantic import PrivateAttr

import entropy_sentinel
from entropy_sentinel.core.registry_entries import lacks_version
from entropy_sentinel.core.section_base import Text
from entropy_sentinel.judges import judge_registry as judges
from entropy_sentinel.judges.judge_base import Kind, make_account
from entropy_sentinel.judges.judge_kinds import Llm
from entropy_sentinel.llm_client.server_settings import Server
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import generation_settings
from entropy_sentinel.study.engines import engine_registry as engines
from entropy_sentinel.study.engines.model_base import Model
from entropy_sentinel.study.engines.model_kinds import ApiModel, HubModel, LocalModel, SourceModel

PACKAGE = Path(entropy_sentinel.__file__).parent
ROOT = Path(__file__).parents[3]
KINDS = {kind.__name__ for kind in (*engines.KINDS.values(), *judges.KINDS.values())}
KINDS |= {"Model", "VllmModel", "Kind"}


def checked_classes(path: Path) -> set[str]:
    """The names of classes that a file's calls of `isinstance` and `issubclass` name."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    checks = [call for call in calls if getattr(call.func, "id", "") in ("isinstance", "issubclass")]
    named = [node for call in checks for node in ast.walk(call.args[1])]
    return {getattr(node, "id", getattr(node, "attr", "")) for node in named}


@pytest.mark.parametrize(
    "room", [*(f"study/{one}" for one in ("config", "planning", "stages", "engines", "cli")), "judges"]
)
def test_nobody_asks_for_the_class_of_a_kind(room: str) -> None:
    kinds = ("study/engines", "judges")
    of_kinds = {
        PACKAGE / one / name
        for one in kinds
        for name in ("judge_registry.py", "judge_kinds.py", "engine_registry.py", "model_kinds.py")
    }
    files = [path for path in (PACKAGE / room).rglob("*.py") if path not in of_kinds]
    assert len(files) > 5
    assert {path.name: found for path in files if (found := checked_classes(path) & KINDS)} == {}


class WebJudge(Kind, Server):
    """A judge of somebody else, behind a web service."""

    HAS_LEDGER: ClassVar[bool] = True
    kind: Literal["web"]
    strictness: Text = "high"


def test_labels_do_not_depend_on_how_fast_a_judge_is_asked() -> None:
    slow, fast = (WebJudge(kind="web", model="web/one", concurrency=n, retries=n, timeout_s=n) for n in (1, 9))
    assert slow.tracked({}, None) == fast.tracked({}, None)
    assert slow.tracked({}, None) == {"model": "web/one", "kind": "web", "strictness": "high"}
    assert WebJudge(kind="web", model="web/one", strictness="low").tracked({}, None)["strictness"] == "low"


def test_a_judge_counts_its_calls_by_settings_that_all_benchmarks_share() -> None:
    settings = {"version": 1, "judge": "web", "kind": "web", "strictness": "low"}
    one = make_account({**settings, "replaces": "other", "tolerance": {"relative": 0.1}}, "m", "b")
    assert one == make_account(settings, "m", "b") != make_account({**settings, "strictness": "high"}, "m", "b")


class Echo(Model):
    """A model of somebody else."""

    kind: ClassVar[str] = "echo"
    ENGINE: ClassVar[str] = "echo"

    def engine_settings(self) -> dict[str, Any]:
        return self._settings

    _settings: dict[str, Any] = PrivateAttr({"echo": "loud"})


class LaterEcho(Echo):
    """The same with another protocol."""

    VERSION: ClassVar[int] = 2


def test_a_kind_of_model_has_a_version_that_tells_of_its_code() -> None:
    """The first one is in no settings: no trace that is there is generated again."""
    config = load_config(read_config([ROOT / "config.yaml"]))
    name = config.run.models[0]

    def settings(model: Model) -> dict[str, Any]:
        return dict(generation_settings(config.model_copy(update={"models": {name: model}}), name, "gsm8k"))

    assert "kind_version" not in {**settings(config.models[name]), **settings(Echo())}
    assert settings(LaterEcho()) == settings(Echo()) | {"kind_version": 2}
    assert LaterEcho().engine_settings() == {"echo": "loud"}


class Stated(WebJudge):
    VERSION: ClassVar[int] = 1


class Derived(Stated):
    """Whoever derives from an extension's class inherits its version."""


class OfThePackage(Llm):
    """The package's version says nothing about another class's code."""


@pytest.mark.parametrize(
    ("kind", "lacks"),
    [(WebJudge, True), (Stated, False), (Derived, False), (OfThePackage, True), (Echo, True), (LaterEcho, False)],
)
def test_a_class_of_an_extension_states_its_version(kind: type, lacks: bool) -> None:
    assert lacks_version(kind) == lacks


@pytest.mark.parametrize("kind", [*engines.KINDS.values(), *judges.KINDS.values()])
def test_kinds_of_the_package_may_keep_the_first_version(kind: type) -> None:
    assert not lacks_version(kind)


def test_every_key_of_an_llm_judge_is_tracked_or_not() -> None:
    keys = {*Llm.model_fields} - {"kind", "served"}
    assert keys == Llm.ASKED | Llm.UNTRACKED
    assert not Llm.ASKED & Llm.UNTRACKED


def test_the_facts_of_models() -> None:
    hub = HubModel(id="a/b", revision="c" * 40)
    local = LocalModel(path="weights")
    api = ApiModel(api={"model": "openai/x"}, vocabulary=7, end_tokens=[3])
    source = SourceModel(source="traces")
    every = (hub, local, api, source)
    assert [one.LOADS_WEIGHTS for one in every] == [True, True, False, False]
    assert [one.ON_HUB for one in every] == [True, False, False, False]
    assert [bool(one.ENGINE) for one in every] == [True, True, True, False]
    assert [one.server is not None for one in every] == [False, False, True, False]
    assert [one.unreported_facts() for one in every] == [{}, {}, {"vocabulary": 7, "end_tokens": [3]}, {}]
    assert [one.file("gsm8k") for one in every] == [None, None, None, "traces/gsm8k.parquet"]
    assert [hub.has_fixed_weights, HubModel(id="a/b").has_fixed_weights] == [True, False]
    assert [str(file) for file, _ in source.needed_files(["gsm8k", "svamp"])] == [
        "traces/gsm8k.parquet",
        "traces/svamp.parquet",
    ]
    adapted = LocalModel(path="weights", lora="adapter")
    assert [str(file) for file, _ in adapted.needed_files([])] == ["weights/config.json", "adapter/adapter_config.json"]

"""Files of estimators that call functions when they are loaded. Each one does so where skops is told to trust it."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from forged import (
    OWN,
    Node,
    called,
    called_by_fit,
    dictionary,
    forge,
    function_of_os,
    method,
    node,
    plain,
    sequence,
)
from rows import SETTINGS, rows
from tiny import TINY

from entropy_sentinel.commands.main import main
from entropy_sentinel.estimators.saved import load_estimator, save_estimator
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.frames.errors import InputError

pytestmark = pytest.mark.slow

LOGPROBS = {"logprobs_mode": "raw_logprobs", "top_k_returned": 20}
PATH = f"{OWN}.machine_code.Path"


def in_place(of: Node) -> Callable[[Node], Node]:
    """The estimator itself is another node."""
    return lambda schema: of


def within(field: str, of: Node) -> Callable[[Node], Node]:
    """A field of the estimator is another node."""

    def edit(schema: Node) -> Node:
        schema["content"]["content"][field] = of
        return schema

    return edit


def command(mark: Path) -> Node:
    return called_by_fit(function_of_os("system"), f"touch {mark}")


def imported(mark: Path) -> Node:
    return called(f"{OWN}.training.import_module", plain("imported_by_an_estimator"))


def deleted(mark: Path) -> Node:
    return called_by_fit(function_of_os("remove"), str(mark.with_name("precious")))


def written(mark: Path) -> Node:
    return called_by_fit(method(called(PATH, plain(str(mark))), "write_text"), "written")


def folder(mark: Path) -> Node:
    return called_by_fit(function_of_os("mkdir"), str(mark))


def partly(mark: Path) -> Node:
    """A partial call to rename the only copy."""
    function = node(
        "PartialNode",
        "functools.partial",
        content={
            "func": function_of_os("rename"),
            "args": sequence(plain(str(mark.with_name("precious"))), kind="tuple"),
            "kwds": dictionary(),
            "namespace": plain(None),
        },
    )
    return called_by_fit(function, str(mark))


def by_key(mark: Path) -> Node:
    """The types of a dict's keys are called with the keys."""
    return dictionary(function_of_os("mkdir"), **{str(mark): plain(1)})


def by_list(mark: Path) -> Node:
    """What a list is of is called with the list."""
    within = [plain("imported_by_an_estimator")]
    touch = node("ListNode", f"{OWN}.training.import_module", content=within)
    return sequence(called(f"{OWN}.training.import_module", plain("imported_by_an_estimator")), touch)


def by_operator(mark: Path) -> Node:
    getter = node("OperatorFuncNode", "operator.attrgetter", attrs=sequence(plain("mkdir"), kind="tuple"))
    return sequence(getter, called_by_fit(function_of_os("mkdir"), str(mark)))


ATTACKS = [command, imported, deleted, written, folder, partly, by_key, by_list, by_operator]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.estimator"
    save_estimator(TrainingRows(*rows(), SETTINGS).fit("atc-max"), path, {"logprobs": LOGPROBS, "model": "tiny"})
    return path


@pytest.fixture
def traces_of_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Whether anything of a file has been run: a file is there, or gone, or a module was imported."""
    mark, precious = tmp_path / "mark", tmp_path / "precious"
    precious.write_text("the only copy")
    (tmp_path / "imported_by_an_estimator.py").write_text(f"open({str(mark)!r}, 'w').close()")
    monkeypatch.syspath_prepend(tmp_path)

    def ran() -> bool:
        found = mark.exists() or not precious.exists()
        sys.modules.pop("imported_by_an_estimator", None)
        if mark.is_dir():
            mark.rmdir()
        mark.unlink(missing_ok=True)
        precious.write_text("the only copy")
        return found

    return ran


@pytest.mark.parametrize("place", ["estimator", "confidence"])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_no_code_of_a_file_is_run(
    attack: Callable[[Path], Node], place: str, good: Path, tmp_path: Path, traces_of_running: Callable[[], bool]
) -> None:
    evil, what = tmp_path / "evil.estimator", attack(tmp_path / "mark")
    payload = forge(good, evil, in_place(what) if place == "estimator" else within(place, what))
    import skops.io  # late: the package has by now, without the torch that an import at the top brings

    # The attack is one: where skops is told to trust all that it asks about, it runs.
    with suppress(Exception):
        skops.io.loads(payload, trusted=skops.io.get_untrusted_types(data=payload))
    assert traces_of_running()

    with pytest.raises(InputError, match=r"evil.estimator: holds a .*(\w+\.)+\w+.*no part of an estimator") as refused:
        load_estimator(evil)
    assert not traces_of_running()
    assert "\n" not in str(refused.value)


def test_a_command_says_so_in_a_line(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil, mark = tmp_path / "evil.estimator", tmp_path / "mark"
    forge(good, evil, in_place(command(mark)))
    with pytest.raises(SystemExit) as ended:
        main(["estimate", str(evil), str(TINY.log)])
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        f"InputError: {evil}: holds a entropy_sentinel.estimators.fit.fit (ConstructorFromReduceNode), which is no "
        "part of an estimator; it is not loaded: take estimators from whom you trust\n"
    )
    assert not mark.exists()

"""Engines that outlive a job, with an engine that needs no model (tests/shared/engine_without_model)."""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from pooled import SETTINGS, wait_for

from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.study.engines import engine_pool
from entropy_sentinel.study.engines.engine_client import SharedEngine
from entropy_sentinel.study.engines.engine_run import RUN_VARIABLE, EngineRun, announce_run
from entropy_sentinel.study.engines.gpu_devices import DEVICES_VARIABLE

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[2]
# A process that begins a run, starts an engine, says which, and waits for its end. `code` is told what to do with it.
RUNNING = """
import json, os, sys, time
from entropy_sentinel.study.engines.engine_run import announce_run, RUN_VARIABLE
from entropy_sentinel.study.engines.engine_client import SharedEngine
announce_run(float(sys.argv[2]), False)
engine = SharedEngine(json.loads(sys.argv[1]), 1)
print(os.environ[RUN_VARIABLE], flush=True)
for chat in sys.argv[3:]:
    for _, answer in engine.answer([chat], [0]):
        print(answer.text, flush=True)
time.sleep(100)
"""


@pytest.fixture(autouse=True)
def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    path = [str(TESTS / "shared" / "engine_without_model"), str(TESTS.parent / "workflow")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    monkeypatch.delenv(RUN_VARIABLE, raising=False)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[EngineRun]:
    """A run of this process, whose engines end with the test."""
    result = EngineRun.create(20)
    run = EngineRun(
        result.folder.with_name(f"{result.folder.name}{tmp_path.name[-1]}"), result.pid, result.start_time, 20
    )
    yield run

    def ended() -> bool:
        gc.collect()  # a traceback of `pytest.raises` holds the job that asks
        engine_pool._end_idle_engine(run)
        return not run.folder.exists()

    wait_for(ended)


def asked(engine: SharedEngine, *chats: str) -> list[str]:
    """The texts of the answers."""
    return [answer.text for _, answer in sorted(engine.answer(chats, range(len(chats))))]


def process(engine: SharedEngine) -> int:
    (text,) = asked(engine, "who")
    return int(text.split()[0])


def job(run: EngineRun, *chats: str, **changes: Any) -> list[str]:
    """What a job is answered that asks and ends."""
    return asked(SharedEngine({**SETTINGS, **changes}, 1, run), *(chats or ("who",)))


def engine_of(answers: list[str]) -> int:
    return int(answers[0].split()[0])


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def running(*chats: str, idle_s: float = 20, **changes: Any) -> tuple[subprocess.Popen[str], Path]:
    """Another run, and the folder of its engines."""
    command = [sys.executable, "-c", RUNNING, json.dumps(SETTINGS | changes), str(idle_s), *chats]
    other = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return other, Path(json.loads(line(other))["folder"])


def line(other: subprocess.Popen[str]) -> str:
    assert other.stdout is not None
    return other.stdout.readline().strip()


def test_jobs_of_a_model_ask_one_engine_each_in_its_own_way(run: EngineRun) -> None:
    first, second = job(run, "a", "b"), job(run, "c", sampling={"temperature": 1})
    assert engine_of(first) == engine_of(second)
    assert [text.split(" ", 1)[1] for text in first] == [" {'temperature': 0.5} a 0", " {'temperature': 0.5} b 1"]
    assert second[0].endswith("{'temperature': 1} c 0")
    # Another model by name, with the same weights.
    assert engine_of(job(run, model="variant")) == engine_of(first)


@pytest.mark.long
@pytest.mark.parametrize("change", [{"weights": "b"}, {"revision": "2"}, {"seed": 2}, {"engine_args": {"dtype": "x"}}])
def test_another_loading_has_another_engine(run: EngineRun, change: dict[str, Any]) -> None:
    assert engine_of(job(run)) != engine_of(job(run, **change))


def test_everything_that_an_engine_is_asked_comes_back(run: EngineRun) -> None:
    engine = SharedEngine(SETTINGS, 1, run)
    assert engine.provenance["engine"] == "none"
    assert engine.vocabulary == 7
    assert engine.token_ids(["one", "three"]) == [[3], [5]]
    assert list(engine.next_tokens(iter([[1, 2], [3]]))) == [(0, [1, 2]), (1, [3])]


def test_an_engine_keeps_nothing_open_of_the_job_that_started_it(run: EngineRun) -> None:
    """Whoever reads from a pipe until its end would wait for the engine's."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    job(run)
    os.close(write)
    assert os.read(read, 1) == b""
    os.close(read)


def test_two_jobs_at_once_ask_an_engine_each(run: EngineRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_pool.cpu_settings, "count_cores", lambda: 8)
    first, second = SharedEngine(SETTINGS, 1, run), SharedEngine(SETTINGS, 1, run)
    assert process(first) != process(second)


def test_an_engine_ends_after_its_time_without_a_job(run: EngineRun) -> None:
    short = EngineRun(run.folder, run.pid, run.start_time, 1)
    engine = SharedEngine(SETTINGS, 1, short)
    number = process(engine)
    time.sleep(2)
    assert process(engine) == number, "the job has not ended"
    del engine
    wait_for(lambda: gone(number), 4)
    assert not run.folder.exists()


def test_without_sharing_each_job_has_an_engine_that_ends_with_it() -> None:
    announce_run(0, True)
    engine = SharedEngine(SETTINGS, 1)
    number = process(engine)
    folder = engine._run.folder
    del engine
    wait_for(lambda: gone(number) and not folder.exists(), 5)


@pytest.mark.parametrize(
    ("chats", "load_s"),
    [
        pytest.param(["who"], 0, id="idle"),
        pytest.param(["who", "sleep 50"], 0, id="answers"),
        pytest.param(["who"], 50, id="starts"),
    ],
)
def test_engines_end_with_their_run_however_it_ends(chats: list[str], load_s: float) -> None:
    other, folder = running(*chats, engine_args={"load_s": load_s})
    wait_for(lambda: list(folder.glob(f"*/{engine_pool.SOCKET}")))
    if not load_s:
        line(other)
    (engine,) = psutil.Process(other.pid).children()
    other.kill()
    other.communicate()
    wait_for(lambda: gone(engine.pid) and not folder.exists(), 5)


def test_the_next_run_clears_away_what_a_killed_engine_left(run: EngineRun) -> None:
    other, folder = running("who")
    engine = int(line(other).split()[0])
    os.kill(engine, signal.SIGKILL)
    other.kill()
    other.communicate()
    wait_for(lambda: gone(engine))
    assert list(folder.glob(f"*/{engine_pool.SOCKET}"))
    job(run)
    assert not folder.exists()


def test_a_killed_engine_of_the_same_run_is_replaced(run: EngineRun) -> None:
    engine = engine_of(job(run))
    os.kill(engine, signal.SIGKILL)
    wait_for(lambda: gone(engine))
    assert engine_of(job(run)) != engine
    assert len(list(run.folder.iterdir())) == 1


@pytest.mark.long
def test_answers_keep_their_positions_when_two_engines_die(
    run: EngineRun, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The third engine is asked only the last two of four questions."""
    count, first, second = (tmp_path / name for name in ("count", "first", "second"))
    texts = job(run, f"count {count}", f"die {first}", f"die {second}", f"count {count}")
    assert [text.rsplit(" ", 2)[1:] for text in texts] == [
        [str(path), str(seed)] for seed, path in enumerate((count, first, second, count))
    ]
    assert count.read_text().splitlines() == ["asked", "asked"]
    assert len({engine_of([text]) for text in texts}) == 3
    assert "models.tiny: the engine ended" in caplog.text


def test_a_job_continues_after_its_engine_died_between_two_questions(run: EngineRun) -> None:
    engine = SharedEngine(SETTINGS, 1, run)
    os.kill(number := process(engine), signal.SIGKILL)
    wait_for(lambda: gone(number))
    assert process(engine) != number


def test_an_engine_that_cannot_begin_is_tried_three_times(run: EngineRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(EntropySentinelError, match=r"models\.tiny: the engine ended 3 times"):
        job(run)


def test_a_job_gives_up_after_three_engines(run: EngineRun) -> None:
    with pytest.raises(EntropySentinelError, match=r"models\.tiny: the engine ended 3 times"):
        job(run, "always-die")


def test_errors_of_the_engine_are_those_of_the_job(run: EngineRun, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match=r"models\.tiny: no such weights"):
        job(run, weights="refused")
    with pytest.raises(EntropySentinelError, match=r"models\.tiny: vLLM cannot load it: RuntimeError: no memory;"):
        job(run, weights="broken")
    # The engine's traceback is in the job's log; it may arrive after the error.
    seen, deadline = capfd.readouterr().err, time.monotonic() + 10
    while "RuntimeError: no memory" not in seen and time.monotonic() < deadline:
        time.sleep(0.1)
        seen += capfd.readouterr().err
    assert "RuntimeError: no memory" in seen
    with pytest.raises(ConfigError, match=r"^too hot$"):
        job(run, "refuse too hot")


def test_a_question_that_is_given_up_holds_nobody_up(run: EngineRun) -> None:
    engine = SharedEngine(SETTINGS, 1, run)
    answers = engine.answer(["who", "sleep 50", "who"], [0, 1, 2])
    number = int(next(answers)[1].text.split()[0])
    answers.close()
    assert process(engine) != number


def test_progress_of_responses_under_way_is_reported(run: EngineRun) -> None:
    engine = SharedEngine(SETTINGS, 1, run)
    answers = engine.answer(["who", "sleep 6"], [0, 1])
    next(answers)
    assert engine.under_way() == ()
    next(answers)
    assert engine.under_way() == [3, 4]


def test_an_engine_owns_its_gpus_until_it_ends(run: EngineRun, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"GPU-{os.getpid()}-{name}" for name in "abc"]
    monkeypatch.setenv(DEVICES_VARIABLE, ",".join(names))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,0")  # of Slurm, or the user
    first, second = SharedEngine(SETTINGS, 1, run), SharedEngine({**SETTINGS, "weights": "b"}, 1, run)
    texts = [asked(engine, "who")[0].split() for engine in (first, second)]
    assert [text[1] for text in texts] == [names[2], names[0]]
    with pytest.raises(ConfigError, match=r"must have 3 GPUs .*, there are 2 \(GPU-.*-c, GPU-.*-a\)"):
        job(run, engine_args={"tensor_parallel_size": 3})
    # An engine on both of them waits for a job, and ends the engines that no job asks.
    del first, second
    (text,) = job(run, engine_args={"tensor_parallel_size": 2})
    assert text.split()[1] == f"{names[2]},{names[0]}"
    assert all(gone(int(number)) for number, *_ in texts)


@pytest.mark.parametrize("is_killed", [False, True])
def test_renamed_child_processes_end_with_their_engine(
    run: EngineRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_killed: bool
) -> None:
    monkeypatch.setenv(DEVICES_VARIABLE, f"GPU-{os.getpid()}-y")
    engine = engine_of(job(run, f"fork {tmp_path / 'child'}"))
    child = int((tmp_path / "child").read_text())
    wait_for(lambda: "TMPDIR" not in psutil.Process(child).environ())
    if is_killed:
        os.kill(engine, signal.SIGKILL)
        wait_for(lambda: gone(engine))
    # The child has the GPU's lock, and with vLLM the GPU's memory.
    assert engine_of(job(run, weights="b")) != engine
    assert gone(engine)
    assert gone(child)


def test_the_last_engine_of_a_run_may_end_while_another_begins(run: EngineRun, monkeypatch: pytest.MonkeyPatch) -> None:
    hold, held = EngineRun.lock_folder, list[int]()

    def hold_and_lose(run: EngineRun) -> int:
        held.append(hold(run))
        if len(held) == 1:
            run.folder.rmdir()
        return held[-1]

    monkeypatch.setattr(EngineRun, "lock_folder", hold_and_lose)
    assert engine_of(job(run)) > 0
    assert len(held) == 2


def test_gpus_of_another_run_are_waited_for(
    run: EngineRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"GPU-{os.getpid()}-x"
    monkeypatch.setenv(DEVICES_VARIABLE, name)
    other, _ = running("who", idle_s=60)
    engine = int(line(other).split()[0])
    begin = time.monotonic()
    killer = subprocess.Popen([sys.executable, "-c", f"import time, os; time.sleep(2); os.kill({engine}, 9)"])
    assert job(run)[0].split()[1] == name
    assert time.monotonic() - begin > 1.5
    killer.wait()
    assert f"models.tiny: waiting for 1 of the GPUs {name}, which other engines are using" in caplog.text
    other.kill()
    other.communicate()


def test_a_folder_of_another_user_is_refused(run: EngineRun, monkeypatch: pytest.MonkeyPatch) -> None:
    run.folder.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    with pytest.raises(EntropySentinelError, match="must be this user's own folder"):
        job(run)
    run.folder.rmdir()


def test_a_temporary_folder_without_room_for_sockets_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 80)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    assert EngineRun.create(1).folder.parent == Path("/tmp")


def test_a_run_within_another_shares_its_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    announce_run(30, True)
    outer = os.environ[RUN_VARIABLE]
    announce_run(60, True)
    assert os.environ[RUN_VARIABLE] == outer
    gone = json.dumps({"folder": "/gone", "pid": 2**22 + 1, "start_time": 0, "idle_s": 5})
    monkeypatch.setenv(RUN_VARIABLE, gone)
    announce_run(60, True)
    assert EngineRun.from_environment().pid == os.getpid()


def test_the_steps_of_a_slurm_job_share_engines_that_its_first_process_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm ends what a step has started with the step."""
    announce_run(30, True)
    on_the_login_node = os.environ[RUN_VARIABLE]
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    first = subprocess.Popen(
        [sys.executable, "-c", RUNNING, json.dumps(SETTINGS), "30"], stdout=subprocess.PIPE, text=True
    )
    # What a step finds, a child of the first process.
    monkeypatch.setenv(RUN_VARIABLE, line(first))
    announce_run(30, False)
    step = EngineRun.from_environment()
    assert (step.pid, step.slurm) == (first.pid, "7")
    assert str(step.folder) not in on_the_login_node
    engine = engine_of(asked(SharedEngine(SETTINGS, 1), "who"))
    assert psutil.Process(engine).ppid() == first.pid
    assert engine_of(asked(SharedEngine(SETTINGS, 1), "who")) == engine
    first.kill()
    first.communicate()
    wait_for(lambda: gone(engine))

"""The human audit: the sample, labelling in the terminal and on the page, and what the answers tell."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
import yaml
from browser import found_on, needs_browser
from rich.console import Console

from entropy_sentinel.cli.main import main
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.statistics.judge_agreement import wilson_interval
from entropy_sentinel.study.auditing import auditor_answers as terminal
from entropy_sentinel.study.auditing.audit_sample import AuditSample, collect_material, draw_strata, read_sample
from entropy_sentinel.study.auditing.auditor_answers import (
    add_answers,
    get_replaced_path,
    read_answers,
    save_answers,
    write_answers,
    write_page,
)
from entropy_sentinel.study.auditing.judge_error import describe_audit, measure_judge
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.study_paths import StudyLayout

ROOT = Path(__file__).parents[3]
HOSTILE = '</script><script>alert("x")</script> <b>& "quoted" \x1b[31m ${place}'

CAUTION = "a judgement in it is quoted"


def cautions(shown: pl.DataFrame) -> dict[str, str | None]:
    """Those of the study below: of one response."""
    return {one: CAUTION if one == "a-00003" else None for one in shown["item_id"]}


def drawn_of(sizes: list[int], n: int) -> list[int]:
    """How many of strata of these sizes are drawn."""
    strata = (people(size).with_columns(model=pl.lit(f"{n}"), verdict=pl.lit("null")) for n, size in enumerate(sizes))
    return [one["drawn"] for one in draw_strata(pl.concat(strata), n, 1)[1]]


def test_allocation() -> None:
    """One each; the next goes where size / sqrt(n (n + 1)) is largest."""
    # 90 / sqrt(12 * 13) = 7.2 is above 10 / sqrt(1 * 2) = 7.1: all the rest to the first; 90 / sqrt(13 * 14) is not.
    assert drawn_of([90, 10, 1], 15) == [13, 1, 1]
    assert drawn_of([90, 10, 1], 16) == [13, 2, 1]
    assert drawn_of([90, 10, 1], 2) == [1, 1, 0]
    assert drawn_of([3, 2], 300) == [3, 2]


def people(n: int) -> pl.DataFrame:
    """A population of n responses of two models, two thirds of them called correct, every tenth null."""
    verdicts = ["null" if i % 10 == 0 else "incorrect" if i % 3 == 0 else "correct" for i in range(n)]
    columns = {"model": ["m" if i % 2 else "n" for i in range(n)], "benchmark": ["a"] * n}
    ids = [f"a-{i:05d}" for i in range(n)]
    return pl.DataFrame(columns | {"item_id": ids, "sample": [0] * n, "verdict": verdicts, "response_hash": ids})


def test_the_draw_is_stratified_and_the_same_for_the_same_seed() -> None:
    rows, strata = draw_strata(people(600), 60, 1)
    assert len(rows) == 60
    assert len(strata) == len({(one["model"], one["verdict"]) for one in strata}) == 5
    for one in strata:
        of_population = people(600).filter(model=one["model"], verdict=one["verdict"])
        assert one["n"] == len(of_population)
        results = rows.filter(model=one["model"], verdict=one["verdict"])
        assert len(results) == one["drawn"] == pytest.approx(one["n"] / 10, abs=1)
    assert rows.equals(draw_strata(people(600).reverse(), 60, 1)[0])
    assert not rows.equals(draw_strata(people(600), 60, 2)[0])
    assert rows.select("item_id").is_unique().all()


def study_of(folder: Path) -> None:
    """Files of a study of 12 responses to benchmark a, of which 6 are called correct, 4 incorrect, and 2 are null."""
    message = [True] * 6 + [False] * 4 + [None] * 2
    over = {
        "study": "audited",
        "run": {
            **{"models": ["m"], "benchmarks": ["a", "b"], "judges": ["math-verify"]},
            **{"groups": [], "sizes": [{"size": 1}]},
        },
        "models": {"m": {"id": "x/y"}},
        "benchmarks": {
            "a": {"dataset": "x/a", "question": ["{q}"], "reference": ["{r}"]},
            "b": {"dataset": "x/b", "question": ["{q}"]},
        },
    }
    (folder / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    (folder / "study.yaml").write_text(yaml.safe_dump(over))
    layout = StudyLayout("audited")
    fixed = {"seed": 0, "run": 0, "prompt_hash": "", "prompt_tokens": 1, "n_tokens": 0, "trace_start": 0}
    empty = {"token_ids": None, "token_logprobs": [], "top_logprobs": [], "top_token_ids": None, "displaced_steps": 0}
    for name, labels, reference in (("a", message, "4"), ("b", [None] * 3, None)):
        ids = [f"{name}-{row:05d}" for row in range(len(labels))]
        paths = {
            key: folder / getattr(layout, key).format(judge="math-verify", model="m", benchmark=name)
            for key in ("items", "generations", "labels")
        }
        items = {"item_id": ids, "question": [f"{HOSTILE} {one}?" for one in ids], "reference": [reference] * len(ids)}
        BENCHMARKS.write(BENCHMARKS.frame(items | {"duplicate_of": ids}), paths["items"], {})
        rows = [
            {
                "item_id": one,
                "sample": 0,
                "text": f"{one} is {HOSTILE}",
                "finish_reason": "length" if n == 0 else "stop",
            }
            | fixed
            | empty
            for n, one in enumerate(ids)
        ]
        GENERATIONS.write(GENERATIONS.frame(rows), paths["generations"], {"model": "m", "benchmark": name})
        reasons = ["cannot tell" if label is None else None for label in labels]
        columns = {
            "item_id": ids,
            "sample": [0] * len(ids),
            "label": labels,
            "reason": reasons,
            "answer": [None] * len(ids),
            "caution": [CAUTION if id_ == "a-00003" else None for id_ in ids],
        }
        LABELS.write(LABELS.frame(columns), paths["labels"], {})


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    study_of(tmp_path)
    return tmp_path


def run(*arguments: str, code: int = 0) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["audit", *arguments])
    assert (ended.value.code or 0) == code


def drawn(folder: Path, *arguments: str) -> tuple[AuditSample, pl.DataFrame]:
    """The sample of the study, drawn by writing the page, and what a person is shown."""
    run("-c", "study.yaml", "--html", "page.html", *arguments)
    sample = read_sample("audited", "math-verify")
    return sample, collect_material(load_config(read_config(["config.yaml", "study.yaml"])), sample)


def test_the_sample_omits_responses_that_a_person_cannot_judge(study: Path, capsys: pytest.CaptureFixture) -> None:
    sample, shown = drawn(study, "--size", "8")
    assert sample.rows["benchmark"].unique().to_list() == ["a"]
    assert {one["verdict"]: one["n"] for one in sample.provenance["strata"]} == {
        "correct": 6,
        "incorrect": 4,
        "null": 2,
    }
    assert "8 responses drawn from 3 of 3 strata" in capsys.readouterr().out
    assert "verdict" not in shown.columns
    run("-c", "study.yaml", "--html", "page.html", "--size", "9", code=1)
    assert "was drawn with --size 8, not 9; " in capsys.readouterr().err
    run("-c", "study.yaml", "--judge", "llm", "--html", "page.html", code=1)
    assert "--judge: must be one of run.judges (math-verify), got 'llm'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "page", ["config.yaml", "study.yaml", "audits/audited/math-verify/sample.parquet", "results/audited/page.html"]
)
def test_the_page_is_not_read_as_answers(page: str, study: Path, capsys: pytest.CaptureFixture) -> None:
    run("-c", "study.yaml", "--html", "page.html", "--size", "8")
    before = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    run("-c", "study.yaml", "--html", page, code=1)
    assert f"--html: {page} " in capsys.readouterr().err
    assert {path: path.read_bytes() for path in study.rglob("*") if path.is_file()} == before


class Keys:
    """Keys pressed one after the other; then there are no more."""

    def __init__(self, keys: str) -> None:
        self.keys = iter(keys)

    def __call__(self) -> str:
        try:
            return next(self.keys)
        except StopIteration:
            raise EOFError from None


def label(shown: pl.DataFrame, keys: str, path: Path) -> tuple[list[str], str]:
    """Labels in the order shown after these keys, and what the terminal showed."""
    console = Console(record=True, width=100, file=(path.parent / "screen.txt").open("w"), color_system=None)
    known = read_answers(path) if path.exists() else {}
    results = terminal.label_in_terminal(shown, known, path, Keys(keys), console)
    console.file.close()
    assert (read_answers(path) if path.exists() else {}) == results
    order = shown.select("model", "benchmark", "item_id", "sample").rows()
    return [results.get(response, "") for response in order], console.export_text()


def test_labelling_in_the_terminal(study: Path) -> None:
    _, shown = drawn(study, "--size", "5")
    path = study / "answers.csv"
    labels, screen = label(shown, "1x2b1q", path)
    # 1; an unknown key; 2; back to the second, which becomes correct; quit.
    assert labels == ["correct", "correct", "", "", ""]
    assert "1 of 5, 0 answered" in screen
    assert "your answer so far: incorrect" in screen
    assert "unknown key" in screen
    assert "\x1b[31m" not in (study / "screen.txt").read_text()
    assert "correct" not in screen.replace("1 correct   2 incorrect", "").replace("so far: incorrect", "")
    # It goes on where it stopped; the terminal is closed in the middle.
    labels, screen = label(shown, "3", path)
    assert labels == ["correct", "correct", "unsure", "", ""]
    assert "3 of 5, 2 answered" in screen
    labels, _ = label(shown, "21", path)
    assert labels == ["correct", "correct", "unsure", "incorrect", "correct"]
    _, everything = drawn(study, "--size", "12", "--new")
    _, screen = label(everything, "1" * 12, study / "all.csv")
    assert screen.count(CAUTION) == 1
    assert "Response (cut off)" in label(shown, "", study / "new.csv")[1] or not shown["cut_off"][0]


class Parsed(HTMLParser):
    """Scripts of a page by type, and the tags in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.scripts, self._script = [], {}, None
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.tags.append(tag)
        self._script = dict(attributes).get("type", "javascript") if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._script = None


def test_the_page_is_escaped_and_shows_no_verdict(study: Path) -> None:
    sample, shown = drawn(study, "--size", "6")
    html = (study / "page.html").read_text()
    page = Parsed(html)
    assert page.tags.count("script") == 2
    assert "b" in page.tags
    data = json.loads(page.scripts["application/json"])
    assert ["".join(row["response"]) for row in data["rows"]] == shown["response"].to_list()
    assert all("verdict" not in row for row in data["rows"])
    assert data["answers"] == [None] * 6
    assert [row["cut_off"] for row in data["rows"]] == [one == "a-00000" for one in shown["item_id"]]
    assert [row["caution"] for row in data["rows"]] == [
        CAUTION * (one == "a-00003") or None for one in shown["item_id"]
    ]
    assert not re.search(r"""(src|href)=["']?http|@import|url\(""", html)
    key = tuple(data["rows"][0][name] for name in ("model", "benchmark", "item_id", "sample"))
    write_page(sample, shown, {key: "unsure"}, study / "page.html", "entropy-sentinel audit --answers FILE")
    again = json.loads(Parsed((study / "page.html").read_text()).scripts["application/json"])
    assert again["answers"] == ["unsure", *[None] * 5]


# What a person does: three keys, back, another answer, saved, and all of it again from the file.
PLAY = """
  const key = (name) => document.dispatchEvent(new KeyboardEvent("keydown", {key: name}));
  ["1", "2", "3", "b", "1"].forEach(key);
  const saved = csv(), kept = localStorage.getItem(data.store);
  answers.fill(null); show();
  load(saved);
  const found = {saved, again: csv(), kept: JSON.parse(kept), where: at("where").textContent,
                 text: at("response").textContent,
                 cautions: data.rows.map((row, number) => {
                   place = number; show();
                   return at("caution").hidden ? null : at("caution").textContent;
                 }),
                 alerts: document.querySelectorAll("#question script, #response script, #response b").length};
"""


@pytest.mark.slow
@needs_browser
def test_the_page_in_a_browser(study: Path) -> None:
    _, shown = drawn(study, "--size", "12")
    result = found_on(study / "page.html", PLAY)
    assert result["kept"][:4] == ["correct", "incorrect", "correct", None]
    assert result["again"] == result["saved"]
    assert result["where"] == "4 of 12, 3 answered"
    assert [text is not None and CAUTION in text for text in result["cautions"]] == [
        caution is not None for caution in cautions(shown).values()
    ]
    assert result["text"] == shown["response"][3]
    assert result["alerts"] == 0
    # The command reads what the page saves.
    (study / "downloaded.csv").write_text(result["saved"])
    run("-c", "study.yaml", "--answers", "downloaded.csv")
    kept = read_answers(study / "audits" / "audited" / "math-verify" / "answers.csv")
    assert list(kept.values()) == ["correct", "incorrect", "correct"]
    assert list(kept) == shown.select("model", "benchmark", "item_id", "sample").rows()[:3]


HEAD = "model,benchmark,item_id,sample,label\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "column 'model' is missing; columns: none"),
        (
            "model,benchmark,item_id,label\n",
            "column 'sample' is missing; columns: model, benchmark, item_id, label",
        ),
        (
            f"{HEAD}m,a,a-1,0,correct\nm,a,a-2,0,right\n",
            "row 2: 'label' must be one of correct, incorrect, unsure; got 'right'",
        ),
        (f"{HEAD}m,a,a-1,-1,correct\n", "row 1: 'sample' must be a number from 0; got '-1'"),
        (f"{HEAD}m,a,a-1,0\n", "row 1: must have 5 fields, has 4"),
        (
            f"{HEAD}m,a,a-1,0,correct\nm,a,a-1,0,unsure\n",
            "row 2: 'item_id' must occur once per model and sample: a-1",
        ),
        (f'{HEAD}m,a,"a-1,0,correct\n', "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_bad_answers_are_named(text: str | bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as error:
        read_answers(path)
    assert str(error.value).startswith(str(path))
    assert expected in str(error.value)


def test_earlier_answers_are_imported(tmp_path: Path) -> None:
    rows, strata = draw_strata(people(20), 10, 1)
    sample = AuditSample(rows, {"strata": strata})
    one, two = rows.select("model", "benchmark", "item_id", "sample").rows()[:2]
    write_answers({one: "correct", two: "unsure"}, tmp_path / "kept.csv")
    write_answers({two: "incorrect", ("z", "a", "a-1", 0): "correct"}, tmp_path / "given.csv")
    assert add_answers(sample, tmp_path / "given.csv", tmp_path / "kept.csv") == (1, 1, 1)
    assert read_answers(tmp_path / "kept.csv") == {one: "correct", two: "incorrect"}
    row = ",".join(map(str, two))
    replaced = (tmp_path / "kept.replaced.csv").read_text()
    assert replaced == f"{HEAD.strip()},replaced_by\n{row},unsure,incorrect\n"
    # The same again says nothing new; a third opinion does.
    assert add_answers(sample, tmp_path / "given.csv", tmp_path / "kept.csv") == (1, 1, 0)
    write_answers({two: "correct"}, tmp_path / "given.csv")
    assert add_answers(sample, tmp_path / "given.csv", tmp_path / "kept.csv") == (1, 0, 1)
    assert (tmp_path / "kept.replaced.csv").read_text() == f"{replaced}{row},incorrect,correct\n"
    write_answers({("z", "a", "a-1", 0): "correct"}, tmp_path / "given.csv")
    with pytest.raises(InputError, match="given.csv: none of its 1 answers"):
        add_answers(sample, tmp_path / "given.csv", tmp_path / "kept.csv")


# Saves its answers one by one, as the terminal does, or all at once, as `--answers` does.
SAVER = """
import sys
from pathlib import Path
from entropy_sentinel.study.auditing.auditor_answers import save_answers
_, path, name, how = sys.argv
mine = {("m", "a", f"{name}-{number}", 0): "correct" for number in range(60)}
print("ready", flush=True)
sys.stdin.readline()
for part in [{response: label} for response, label in mine.items()] if how == "each" else [mine]:
    save_answers(part, Path(path))
"""


def test_two_people_saving_at_once_lose_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "audits" / "answers.csv"
    savers = [
        subprocess.Popen(
            [sys.executable, "-c", SAVER, str(path), name, how],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, how in (("x", "each"), ("y", "each"), ("z", "all"))
    ]
    for saver in savers:
        assert saver.stdout.readline() == "ready\n"
    for saver in savers:
        saver.stdin.write("\n")
        saver.stdin.flush()
    for saver in savers:
        saver.communicate(timeout=60)
        assert saver.returncode == 0
    assert read_answers(path) == {("m", "a", f"{name}-{i}", 0): "correct" for name in "xyz" for i in range(60)}
    assert not get_replaced_path(path).exists()


def test_two_terminals_share_answers_and_report_disagreements(study: Path) -> None:
    _, shown = drawn(study, "--size", "5")
    path, order = study / "answers.csv", shown.select("model", "benchmark", "item_id", "sample").rows()

    def meanwhile() -> Iterator[str]:
        """Another terminal answers the second response while it is shown here, and the third before it is."""
        yield "1"
        save_answers({order[1]: "incorrect", order[2]: "unsure"}, path)
        yield "1"
        yield from "2"

    console = Console(record=True, width=200, file=io.StringIO(), color_system=None)
    keys = meanwhile()
    results = terminal.label_in_terminal(shown, {}, path, lambda: next(keys, "q"), console)
    assert [results.get(response) for response in order] == ["correct", "correct", "unsure", "incorrect", None]
    assert read_answers(path) == results
    screen = console.export_text()
    assert all(fact in screen for fact in ("'incorrect'", str(get_replaced_path(path))))
    # A change of one's own mind is no such thing.
    keys = iter("b2")
    results = terminal.label_in_terminal(shown, results, path, lambda: next(keys, "q"), console)
    assert results[order[3]] == "incorrect"
    keys = iter("b1")
    results = terminal.label_in_terminal(shown, results, path, lambda: next(keys, "q"), console)
    assert (results[order[3]], len(get_replaced_path(path).read_text().splitlines())) == ("correct", 2)


def sample_of(strata: dict[str, tuple[int, str]]) -> tuple[AuditSample, dict]:
    """One model and benchmark: by verdict the size of the stratum, and a person's answers, a letter each."""
    rows, answers, about = [], {}, []
    by_letter = {answer[0]: answer for answer in terminal.ANSWERS.values()}
    for verdict, (n, letters) in strata.items():
        about.append({"model": "m", "benchmark": "a", "verdict": verdict, "n": n, "drawn": len(letters)})
        for number, letter in enumerate(letters):
            rows.append(("m", "a", f"{verdict}-{number}", 0, verdict, ""))
            if letter in by_letter:
                answers[rows[-1][:4]] = by_letter[letter]
    columns = ["model", "benchmark", "item_id", "sample", "verdict", "response_hash"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return AuditSample(frame, {"study": "s", "judge": "j", "size": 1, "seed": 1, "strata": about}), answers


def test_strata_are_weighted_by_size() -> None:
    """900 called correct, of which 9 of 10 are; 100 called incorrect, of which 5 of 10 are; 10 null, 1 of 2 correct.

    Agreement 0.9 * 0.9 + 0.1 * 0.5 = 0.86, and not 14 / 20. Weights are 90 and 10: worth (1000)^2 / (10 * 8100 + 10 *
    100) = 12.195 answers. Correct are 810 + 50, 810 of them called so; incorrect 90 + 50, 50 called so.
    """
    strata = {"correct": (900, "ccccccccci"), "incorrect": (100, "iiiiiccccc"), "null": (10, "ciu-")}
    results = measure_judge(*sample_of(strata))
    (in_all,) = results.agreement.filter(by="all").rows(named=True)
    assert (in_all["agreement"], in_all["n_same"], in_all["n_answers"]) == (pytest.approx(0.86), 14, 20)
    n = 1000**2 / (10 * 90**2 + 10 * 10**2)
    assert (in_all["lower"], in_all["upper"]) == pytest.approx(wilson_interval(0.86 * n, n)[1:3])
    assert results.sensitivity.estimate == pytest.approx(810 / 860)
    assert results.specificity.estimate == pytest.approx(50 / 140)
    assert results.correct_among_nulls.estimate == pytest.approx(0.5)
    # Kappa of shares 0.81, 0.09, 0.05, 0.05: by chance 0.9 * 0.86 + 0.1 * 0.14.
    assert results.kappa.estimate == pytest.approx((0.86 - 0.788) / (1 - 0.788))
    (domain,) = results.domains.rows(named=True)
    assert domain["accuracy"] == pytest.approx(0.9)
    # Rogan and Gladen on the same data give back what the person found: 810 + 50 of 1000.
    assert domain["corrected"] == pytest.approx(0.86)
    assert domain["lower"] < 0.86 < domain["upper"]
    assert results.counts == {"correct": 15, "incorrect": 7, "unsure": 1, "not_answered": 1}
    assert results.covered == 1
    by = results.agreement.filter(by="stratum").select("verdict", "n_responses", "n_answers", "n_same").rows()
    assert by == [("correct", 900, 10, 9), ("incorrect", 100, 10, 5)]


def test_a_stratum_without_an_answer_is_not_covered() -> None:
    results = measure_judge(*sample_of({"correct": (900, "ccc"), "incorrect": (100, "---")}))
    assert results.covered == 0.9
    assert results.kappa.reason == "both judges always give the same verdict"
    (domain,) = results.domains.rows(named=True)
    assert (domain["corrected"], domain["reason"]) == (None, "no response of the sample is incorrect")
    assert results.correct_among_nulls.reason == "no pair"
    lines = {part for part in describe_audit(results) if isinstance(part, str)}
    assert {f"Cohen's kappa: {results.kappa.reason}.", f"Not corrected: {domain['reason']}."} <= lines
    with pytest.raises(InputError, match="nothing to compare yet"):
        measure_judge(*sample_of({"correct": (900, "uu-"), "null": (5, "c")}))


def test_perfect_agreement() -> None:
    results = measure_judge(*sample_of({"correct": (30, "ccc"), "incorrect": (10, "ii")}))
    (in_all,) = results.agreement.filter(by="all").rows(named=True)
    assert (in_all["agreement"], in_all["upper"], results.kappa.estimate) == (1, 1, 1)
    assert results.kappa.lower < 0.5  # from so few answers next to nothing follows
    assert results.domains["corrected"].to_list() == [pytest.approx(0.75)]


def test_the_report(study: Path, capsys: pytest.CaptureFixture) -> None:
    run("-c", "study.yaml", "report", code=1)
    assert "no answers yet; label some with: entropy-sentinel audit -c study.yaml\n" in capsys.readouterr().err
    sample, _ = drawn(study)
    told = "then: entropy-sentinel audit -c study.yaml --answers FILE\n"
    assert (capsys.readouterr().out.endswith(told), told[6:-1] in Path("page.html").read_text()) == (True, True)
    keys = sample.rows.select("model", "benchmark", "item_id", "sample").rows()
    message = {"correct": "correct", "incorrect": "incorrect", "null": "unsure"}
    answers = {key: message[verdict] for key, verdict in zip(keys, sample.rows["verdict"], strict=True)}
    answers[keys[sample.rows["verdict"].to_list().index("correct")]] = "incorrect"
    write_answers(answers, study / "given.csv")
    run("-c", "study.yaml", "--answers", "given.csv")
    capsys.readouterr()
    run("-c", "study.yaml", "report")
    text = capsys.readouterr().out
    assert "Audit of judge 'math-verify' in study 'audited': 5 correct, 5 incorrect, 2 unsure, 0 not answered." in text
    assert re.search(r"agreement with the judge +0\.900 +0\.596 +0\.982", text)
    assert re.search(r"m, a +10 +0\.600 +0\.500 ", text)
    folder = study / "audits" / "audited" / "math-verify"
    report = json.loads((folder / "report.json").read_text())
    assert report["kappa"]["estimate"] == pytest.approx(0.8)
    assert report["domains"][0]["corrected"] == pytest.approx(0.5)
    assert pl.read_csv(folder / "agreement.csv")["by"].to_list()[0] == "all"
    assert pl.read_csv(folder / "domains.csv")["n_labelled"].to_list() == [10]
    # A response that is another now is found.
    path = study / StudyLayout("audited").generations.format(model="m", benchmark="a")
    GENERATIONS.write(GENERATIONS.read(path).with_columns(text=pl.lit("new")), path, {"model": "m", "benchmark": "a"})
    run("-c", "study.yaml", "report", code=1)
    assert "has changed since the sample was drawn; draw again with --new" in capsys.readouterr().err


def test_without_a_terminal_it_refers_to_the_page(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("c\n"))
    run("-c", "study.yaml", code=1)
    assert "needs a terminal" in capsys.readouterr().err

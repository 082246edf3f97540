"""The paper's tables and figures in its form: what they say, and that TeX fits them into its columns."""

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from frames import SyntheticStudy, estimate_rows, table_inputs
from paper_study import BENCHMARKS, paper_inputs, published
from programs import find_program

from entropy_sentinel.rendering.latex import format_table
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import (
    FIGURES,
    TABLES,
    list_paper_figures,
    list_paper_tables,
)
from entropy_sentinel.study.analyses.accuracy.accuracy_tables import make_table
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import AUROC, DOMAINS, SWEEP
from entropy_sentinel.study.analyses.accuracy.paper_document import write_paper
from entropy_sentinel.study.analyses.accuracy.paper_tables import PaperSettings, arrange_as_published

pytestmark = pytest.mark.slow

# In points; TeX's default for what it reports is 0.1.
_LARGEST_OVERFULL = 0.5
# Columns as wide as figures; those of a plain article are narrower.
DOCUMENTS = {"two columns": "[twocolumn]", "one column": "", "wide columns": None}
# Reports every exhibit that is shrunk.
_REPORTING = (
    r"\let\shrink\resizebox"
    r"\renewcommand{\resizebox}[3]{\typeout{Shrunk: \the\wd2, to \the\linewidth}\shrink{#1}{#2}{#3}}"
)
# Words that a title and a caption may share.
_FILLER = "the a an of on in and or by for with without what how do to each every one further"


def write(folder: Path, inputs: dict[str, Any], models: dict[str, str], benchmarks: dict[str, str]) -> Path:
    """Write the exhibits of a study, from its files."""
    frames = {"sweep": SWEEP, "auroc": AUROC, "domains": DOMAINS, "estimates": ESTIMATES, "observations": OBSERVATIONS}
    files: dict[str, Any] = {}
    for name, contract in frames.items():
        contract.write(inputs[name], folder / f"{name}.parquet", {})
        files[name] = str(folder / f"{name}.parquet")
    files["estimates"] = [files["estimates"]]
    keys = ("groups", "headline_group", "main_groups", "default", "auroc_models", "auroc_benchmarks", "label")
    settings = {key: inputs[key] for key in (*keys, "figure_model", "figure_benchmark")}
    settings |= {"models": models, "benchmarks": benchmarks}
    write_paper(files, settings, list_paper_tables(TABLES), list_paper_figures(FIGURES), str(folder))
    return folder


@pytest.fixture(scope="module")
def synthetic() -> SyntheticStudy:
    return SyntheticStudy()


@pytest.fixture(scope="module")
def full_study(synthetic: SyntheticStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with the paper's models, benchmarks and groups, and the names of config.yaml."""
    config = yaml.safe_load((Path(__file__).parents[4] / "config.yaml").read_text())
    models, benchmarks = (
        {name: entry["title"] for name, entry in config[axis].items()} for axis in ("models", "benchmarks")
    )
    random = np.random.default_rng(5)
    estimates = []
    for model in models:
        rows = []
        for name, true in zip(BENCHMARKS, random.uniform(0.05, 0.95, 10), strict=True):
            role = "training" if name in ("gsm8k", "olympiadbench") else "held_out"
            rows.append((name, role, float(np.clip(0.1 + 0.8 * true + random.normal(0, 0.06), 0, 1)), float(true)))
        estimates.append(estimate_rows(model, "gsm8k+olympiadbench", rows))
    observed = synthetic.observations.with_columns(model=pl.lit("phi-3.5-mini"), benchmark=pl.lit("math"))
    more = {"estimates": pl.concat(estimates), "observations": observed}
    more |= {"figure_model": "phi-3.5-mini", "figure_benchmark": "math"}
    return write(tmp_path_factory.mktemp("full"), paper_inputs() | more, models, benchmarks)


@pytest.fixture(scope="module")
def small_study(synthetic: SyntheticStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of a few models with long names and characters that TeX treats specially."""
    models = {name: f"{name}_with a long name & 100 % of {{its}} #weights" for name in synthetic.models}
    return write(tmp_path_factory.mktemp("small"), synthetic.inputs(), models, {"arithmetic": "Arith_metic^2"})


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("study", ["full_study", "small_study"])
def test_tex_fits_every_exhibit_into_its_columns(study: str, document: str, request, tmp_path: Path):
    program = find_program("pdflatex", "texlive-latex-recommended")
    folder = request.getfixturevalue(study)
    text = (folder / "exhibits.tex").read_text()
    if DOCUMENTS[document] is not None:
        body = text[text.index(r"\begin{document}") :]
        text = rf"\documentclass{DOCUMENTS[document]}{{article}}\usepackage{{booktabs,graphicx}}" + body
    (tmp_path / "document.tex").write_text(text.replace(r"\begin{document}", _REPORTING + r"\begin{document}"))
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "document.tex"]
    environment = {
        "TEXINPUTS": f"{folder}:",
        "PATH": str(Path(program).parent) + ":/usr/bin:/bin",
        "max_print_line": "1000",
    }
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert run.returncode == 0, run.stdout[-2000:]
    log = (tmp_path / "document.log").read_text(errors="replace")
    overfull = [float(points) for points in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt", log)]
    assert max(overfull, default=0.0) <= _LARGEST_OVERFULL
    assert "Float too large" not in log
    numbers = dict(re.findall(r"\\newlabel\{([^}]*)\}\{\{(\d+)\}", (tmp_path / "document.aux").read_text()))
    expected = [f"tab:{name}" for name in list_paper_tables(TABLES)] + [
        f"fig:{name}" for name in list_paper_figures(FIGURES)
    ]
    assert numbers == {label: re.findall(r"\d+", label)[0] for label in expected}
    if study == "full_study" and document == "wide columns":
        assert "Shrunk" not in log


def rows_of(folder: Path, table: str) -> list[list[str]]:
    """The cells of a table's rows of LaTeX, without dollars and bold."""
    text = (folder / f"table_{table}.tex").read_text()
    lines = [
        line.removesuffix(r" \\")
        for line in text.splitlines()
        if line.endswith(r"\\") and "&" in line and "multicolumn" not in line
    ]
    return [re.sub(r"\\textbf\{([^}]*)\}", r"\1", line).replace("$", "").split(" & ") for line in lines]


def test_table_3_is_the_papers_if_the_errors_are_those_of_its_table_8(full_study):
    """The published medians and IQRs follow from the published errors by model; its order of rows is no rule."""
    names = {"default": "Default"} | {
        name: r"{}\textsubscript{{{}}}".format(*name.upper().split("_")[:1], name.split("_")[1])
        for name in ("se_sum", "se_max", "se_mean", "nll_avg", "nll_max", "nll_sum")
    }
    heading, default, *others = rows_of(full_study, "3_simple_estimators")
    assert heading == ["Method", r"Spearman \rho \uparrow", r"AEE \downarrow"]
    assert default[0] == "Default"
    cells = {
        row[0]: [float(value) for cell in row[1:] for value in re.findall(r"[.\d]+", cell)]
        for row in (default, *others)
    }
    expected = {}
    for row in published("table_3_baselines").iter_rows(named=True):
        numbers = [row[f"{measure}_{what}"] for measure in ("spearman", "aee") for what in ("median", "iqr")]
        # An IQR such as .055 may be rounded either way.
        expected[names.get(row["method"], row["method"].upper())] = pytest.approx(numbers, abs=0.0101)
    assert cells == expected
    assert default[1:] == [".95_{.05}", ".08_{.04}"]


def test_table_8_has_the_papers_columns_and_values(full_study):
    heading, *rows = rows_of(full_study, "8_simple_estimators_by_model")
    assert heading[:4] == ["Model", "", "Default", r"SE\textsubscript{sum}"]
    assert len(rows) == 18
    values = published("table_8_baselines_by_model")
    order = ["default", "se_sum", "se_max", "se_mean", "nll_avg", "nll_max", "nll_sum", "lntp", "mtp", "ppl"]
    for place, (symbol, measure) in enumerate(((r"\rho", "spearman"), ("AEE", "aee"))):
        theirs = dict(values.filter(pl.col("model") == "phi-3.5-mini").select("method", measure).iter_rows())
        assert rows[place] == [
            "" if place else "Phi-3.5-mini (3.8B)",
            symbol,
            *(f"{theirs[name]:.2f}" for name in order),
        ]


def test_table_1_has_three_columns_of_numbers_a_block_for_each_model_and_bold_for_the_largest(full_study):
    heading, *rows = rows_of(full_study, "1_auroc")
    assert heading == ["Statistic", "MATH", "GSM8K", "OlympiadBench"]
    assert len(rows) == 51
    # Published: .7283, .7391, .7269; the study's are .01 more.
    assert rows[0] == ["Mean", "0.7383", "0.7491", "0.7369"]
    text = (full_study / "table_1_auroc.tex").read_text()
    assert r"\multicolumn{4}{c}{Phi-3.5-mini (3.8B)}" in text
    # Q10 is the paper's largest for MATH, SEA for the other two.
    assert re.findall(r"^(\S+) .*textbf", text, re.M)[:2] == ["Q10", r"SE\textsubscript{sum}"]
    assert r"\textbf{0.8348}" in text
    assert [len(row) for row in rows_of(full_study, "6_auroc_further_models")] == [8] * 52


def test_tables_by_model_and_group_have_the_papers_columns(full_study):
    two = (full_study / "table_2_by_model.tex").read_text()
    assert r"\multicolumn{1}{c}{} & \multicolumn{2}{c}{Extremes} & \multicolumn{2}{c}{Intermediate}" in two
    assert rows_of(full_study, "2_by_model")[0] == ["Model", "AEE", r"\rho", "AEE", r"\rho"]
    # Errors of Extremes are the paper's.
    assert rows_of(full_study, "2_by_model")[1][:3] == ["Phi-3.5-mini (3.8B)", "0.03", "1.00"]
    assert rows_of(full_study, "4_by_size")[0] == ["Model", "1", "2", "3", "4"]
    assert rows_of(full_study, "5_design_choices")[0] == ["Factor", "Setting", "AEE", r"\rho"]
    assert [row[1] for row in rows_of(full_study, "5_design_choices")[4:6]] == ["Y / N", "Y / N"]
    assert rows_of(full_study, "10_leave_one_out")[0] == ["Model", "AEE", "Held-out AEE", r"\rho"]
    nine = (full_study / "table_9_best_and_worst_groups.tex").read_text()
    assert nine.count("Best performing") == nine.count("Worst performing") == 1
    assert len(rows_of(full_study, "9_best_and_worst_groups")) == 9


@pytest.mark.parametrize("name", list_paper_figures(FIGURES))
def test_figures_are_as_wide_as_a_column_with_a_serif_font_and_without_label_and_title(full_study, name):
    pdf = (full_study / f"figure_{name}.pdf").read_bytes()
    (width,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ", pdf)
    inches = 6.8 if name == "3_accuracies_by_model" else 3.3
    assert float(width) == pytest.approx(72 * inches)
    assert b"STIXGeneral" in pdf
    assert b"/FontFile2" in pdf
    assert b"/Subtype /Type3" not in pdf
    float_text = (full_study / f"figure_{name}.tex").read_text()
    assert rf"\includegraphics{{figure_{name}.pdf}}" in float_text
    assert (r"\begin{figure*}" in float_text) == (name == "3_accuracies_by_model")
    assert name != "1_accuracies" or re.search(r"Phi-3.5-mini \(3.8B\): AEE 0.\d+, \$\\rho\$ \d.\d+ on", float_text)


def test_a_study_without_the_results_of_a_table_has_a_comment_in_its_place(synthetic):
    """No training group, model or benchmark, or only some of them; what is undefined is a dash with its meaning."""
    inputs = synthetic.inputs()
    default_only = inputs["sweep"].filter(pl.col("estimator") == inputs["default"])
    studies = {
        "nothing": {"sweep": SWEEP.frame([]), "auroc": AUROC.frame([])},
        "one estimator": {"sweep": default_only, "auroc_models": synthetic.models},
        "no rho": {"sweep": inputs["sweep"].with_columns(rho=pl.lit(None, pl.Float64), reason=pl.lit("too few"))},
    }
    kept = {"nothing": [], "one estimator": [1, 2, 3, 4, 7, 8, 9, 10], "no rho": list(range(1, 11))}
    for study, changes in studies.items():
        changed = table_inputs(**inputs | changes)
        settings = PaperSettings(changed, inputs["style"])
        texts = {
            name: format_table(arrange_as_published(TABLES[name].published, make_table(name, changed), settings), name)
            for name in list_paper_tables(TABLES)
        }
        numbers = [int(name.partition("_")[0]) for name, text in texts.items() if r"\toprule" in text]
        assert sorted(numbers) == kept[study], study
        assert study != "no rho" or "--: undefined" in texts["2_by_model"]


def test_no_caption_repeats_its_title(synthetic, small_study):
    """A caption stands behind its title: it does not say all its words again."""
    captions = {
        table.title: make_table(name, table_inputs(**synthetic.inputs())).caption for name, table in TABLES.items()
    }
    for name in list_paper_figures(FIGURES):
        (text,) = re.findall(r"\\caption\{(.*)\}", (small_study / f"figure_{name}.tex").read_text())
        assert text.startswith(f"{FIGURES[name].title}. ")
        captions[FIGURES[name].title] = text.removeprefix(FIGURES[name].title)
    filler = set(re.findall("[a-z]+", _FILLER))
    for texts in captions.items():
        title, caption = (set(re.findall(r"[a-z0-9]+", text.lower())) - filler for text in texts)
        assert len(title & caption) < max(2, 0.7 * len(title)), texts

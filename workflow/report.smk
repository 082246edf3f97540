# What `snakemake --report report.html` shows: all tables, figures and pages, each with a caption.

import shlex
import tempfile

from snakemake.io import ReportObject
from snakemake.sourcecache import LocalSourceFile


class CaptionFile(LocalSourceFile):
    """A caption that is written to a file when Snakemake asks for the path, which only `--report` does."""

    folder = None  # exists until this process ends

    def __init__(self, text):
        super().__init__("")
        self.text = text

    def get_path_or_uri(self, secret_free):
        if not self.path:
            CaptionFile.folder = CaptionFile.folder or tempfile.TemporaryDirectory()
            with tempfile.NamedTemporaryFile(
                "w", dir=CaptionFile.folder.name, suffix=".rst", encoding="utf-8", delete=False
            ) as file:
                file.write(self.text)
            self.path = file.name
        return self.path


def flag_exhibits(analysis, earlier):
    """Put the exhibits of an analysis into the report: outputs of the rules that are not among `earlier`.

    An output that its rule already gives to `report()` stays as it is.
    """
    if not workflow.is_main_process:
        return  # a job's process makes no report
    from entropy_sentinel.study.jobs.report_entries import list_report_entries

    section = getattr(CONFIG.analyses, analysis)
    template = (ROOT / "workflow" / "report" / "exhibit.rst").read_text("utf-8")
    for producer in workflow.rules:
        if producer.name in earlier:
            continue
        outputs = [strip_wildcard_constraints(file) for file in producer.output]
        for entry in list_report_entries(analysis, section, outputs, section.label(CONFIG.study), template):
            file = producer.output[entry.place]
            if not {"report", "temp"} & set(file.flags):
                caption = CaptionFile(entry.caption)
                shown = ReportObject(caption, entry.category, entry.subcategory, entry.labels, [], None)
                file.set_flags({**file.flags, "report": shown})


def tell_report():
    """Say how all exhibits are put into one file, with the config of this run, once all of them are there."""
    if not all(map(os.path.exists, TARGETS)):
        return  # only some targets were asked for
    configs = list(map(os.path.relpath, workflow.config_settings.configfiles))
    changes = [f"{key}={value}" for key, value in workflow.config_settings.config.items()]
    words = ["snakemake"]
    if str(ROOT) != os.getcwd():
        words += ["-s", os.path.relpath(str(workflow.main_snakefile))]
    words += (["--configfile", *configs] if configs else []) + (["--config", *changes] if changes else [])
    logger.info(f"One file with all tables, figures and pages: {shlex.join([*words, '--report', 'report.html'])}")

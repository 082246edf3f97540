# Needs: a judge's labels of the responses of two models; their estimates, trained on one group.
# Makes: results/<study>/{judge}/compared/report.html, and its table as .csv, .md, .tex and .html in tables/.

COMPARED = CONFIG.analyses.compared
COMPARED_GROUP = NAMED_GROUPS[COMPARED.group]
COMPARED_PAGE = f"{RESULTS}/{COMPARED.PAGE}"
COMPARED_TABLES = [f"{RESULTS}/{{judge}}/compared/tables/table_compared.{kind}" for kind in TABLE_KINDS]


use rule cpu_job as compared_page with:
    input:
        labels=expand(LABELS, model=COMPARED.models, benchmark=BENCHMARKS, allow_missing=True),
        estimates=expand(
            ESTIMATES,
            model=COMPARED.models,
            group=group_estimates.group_file(group_estimates.group_id(COMPARED_GROUP["benchmarks"])),
            allow_missing=True,
        ),
    output:
        # Without a name: the function finds their folder beside the page.
        COMPARED_TABLES,
        page=COMPARED_PAGE,
    log:
        f"{LOGS}/{{judge}}/compared_page.log",
    params:
        **calls("compared.page.write_page"),
        models=COMPARED.models,
        benchmarks=BENCHMARKS,
        estimator=COMPARED.estimator or COMPARED_GROUP["estimator"],
        label=COMPARED.label(CONFIG.study),


TARGETS += expand([COMPARED_PAGE, *COMPARED_TABLES], judge=JUDGES)

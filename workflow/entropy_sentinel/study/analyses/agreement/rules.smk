# Needs: the labels of two or more judges on all responses; the estimates that were made from each judge's labels.
# Makes: results/<study>/agreement/pairs.parquet, how far judges agree; judged.parquet and errors.parquet, accuracies,
#        estimates and errors under each judge; tables/, report.html, summary.txt.


include: "names.smk"


use rule cpu_job as agreement_pairs with:
    input:
        labels=[file["path"] for file in AGREEMENT_LABELS],
    output:
        f"{AGREEMENT_RESULTS}/pairs.parquet",
    log:
        f"{LOGS}/agreement/pairs.log",
    params:
        **calls("study.analyses.agreement.measuring.judge_pairs.write_pairs"),
        files=in_any_order(AGREEMENT_LABELS),
        judges=JUDGES,


use rule cpu_job as agreement_judged with:
    input:
        estimates=[file["path"] for file in AGREEMENT_ESTIMATES],
    output:
        judged=f"{AGREEMENT_RESULTS}/judged.parquet",
        errors=f"{AGREEMENT_RESULTS}/errors.parquet",
    log:
        f"{LOGS}/agreement/judged.log",
    params:
        **calls("study.analyses.agreement.measuring.judge_pairs.write_judged"),
        files=in_any_order(AGREEMENT_ESTIMATES),
        groups=NAMED_GROUPS,


use rule cpu_job as agreement_tables with:
    input:
        pairs=rules.agreement_pairs.output[0],
        judged=rules.agreement_judged.output.judged,
        errors=rules.agreement_judged.output.errors,
    output:
        expand("{table}.{kind}", table=AGREEMENT_TABLES, kind=TABLE_KINDS),
    log:
        f"{LOGS}/agreement/tables.log",
    params:
        **calls("study.analyses.agreement.agreement_tables.write_tables", exhibits=agreement_catalogue.TABLES),
        tables=AGREEMENT.tables,
        settings=shown(AGREEMENT),


use rule cpu_job as agreement_report with:
    input:
        pairs=rules.agreement_pairs.output[0],
        errors=rules.agreement_judged.output.errors,
        tables=expand("{table}.html", table=AGREEMENT_TABLES),
    output:
        page=f"{AGREEMENT_RESULTS}/report.html",
        summary=f"{AGREEMENT_RESULTS}/summary.txt",
    log:
        f"{LOGS}/agreement/report.log",
    params:
        **calls("study.analyses.agreement.agreement_report.write_report"),
        settings=AGREEMENT_SETTINGS,


TARGETS += exhibits_of("agreement")

# Needs: the labels of two or more judges on all responses; the estimates that were made from each judge's labels.
# Makes: results/<study>/agreement/pairs.parquet, how far judges agree; judged.parquet and errors.parquet, accuracies,
#        estimates and errors under each judge; tables/, report.html, summary.txt.


include: "names.smk"


rule agreement_pairs:
    input:
        labels=[file["path"] for file in AGREEMENT_LABELS],
    output:
        f"{AGREEMENT_RESULTS}/pairs.parquet",
    log:
        f"{LOGS}/agreement/pairs.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("agreement/pairs"),
        files=AGREEMENT_LABELS,
        judges=JUDGES,
    script:
        "scripts/pairs.py"


rule agreement_judged:
    input:
        estimates=[file["path"] for file in AGREEMENT_ESTIMATES],
    output:
        judged=f"{AGREEMENT_RESULTS}/judged.parquet",
        errors=f"{AGREEMENT_RESULTS}/errors.parquet",
    log:
        f"{LOGS}/agreement/judged.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("agreement/judged"),
        files=AGREEMENT_ESTIMATES,
        groups=NAMED_GROUPS,
    script:
        "scripts/judged.py"


rule agreement_tables:
    input:
        pairs=rules.agreement_pairs.output[0],
        judged=rules.agreement_judged.output.judged,
        errors=rules.agreement_judged.output.errors,
    output:
        expand("{table}.{kind}", table=AGREEMENT_TABLES, kind=TABLE_KINDS),
    log:
        f"{LOGS}/agreement/tables.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("agreement/tables", "report/exhibits.html.j2"),
        titles={name: AGREEMENT.TABLES[name] for name in AGREEMENT.tables},
        settings=AGREEMENT_SETTINGS,
    script:
        "scripts/tables.py"


rule agreement_report:
    input:
        pairs=rules.agreement_pairs.output[0],
        errors=rules.agreement_judged.output.errors,
        tables=expand("{table}.html", table=AGREEMENT_TABLES),
    output:
        page=f"{AGREEMENT_RESULTS}/report.html",
        summary=f"{AGREEMENT_RESULTS}/summary.txt",
    log:
        f"{LOGS}/agreement/report.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code(
            "agreement/report", "report/exhibits.html.j2", "report/page.html.j2", "analyses/agreement/report.html.j2"
        ),
        settings=AGREEMENT_SETTINGS,
    script:
        "scripts/report.py"


TARGETS.append(rules.agreement_report.output.page)

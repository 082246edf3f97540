rule report:
    input:
        SWEEP,
        AUROC,
        DOMAINS,
    output:
        REPORT,
    shell:
        "touch {output}"

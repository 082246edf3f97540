# Needs: the config alone. Makes no result: prints what the study will take, `snakemake plan --cores 1 --quiet`.


localrules:
    plan,


rule plan:
    log:
        f"{LOGS}/plan.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        config=CONFIG.model_dump(mode="json"),
    script:
        "../scripts/plan.py"

# Needs: a model's traces on a benchmark; for a family that asks the model again, its pass.
# Makes: results/<study>/signals/{family}/{model}/{benchmark}.parquet, the signals of a family of run.features other
#        than `tokens`. A family that needs more than the traces has its own rules, signals/<family>/rules.smk.

for family in SIGNAL_FAMILIES:
    if find_rules(family):

        include: find_rules(family)

    else:

        rule:
            name:
                f"signals_{family}"
            input:
                **({"asked": PASSES.replace("{family}", family)} if family in PASSES_OF else {}),
                generations=GENERATIONS,
            output:
                expand(SIGNALS, family=family, allow_missing=True),
            log:
                f"{LOGS}/signals/{family}/{{model}}/{{benchmark}}.log",
            benchmark:
                f"{LOGS}/signals/{family}/{{model}}/{{benchmark}}.tsv"
            conda:
                "../../envs/cpu.yaml"
            resources:
                **USUAL,
            params:
                **calls("study.stages.signal_stage.write_signals", module_of(family)),
                family=family,
            script:
                "../scripts/job.py"

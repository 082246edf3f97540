# Needs: items of a benchmark and a model's responses to them with the texts of their tokens, several per item; the
#        weights of a cross-encoder, and better a GPU.
# Makes: results/<study>/signals/sar/{model}/{benchmark}.parquet
#
# What the cross-encoder has said of a pair of texts is kept in the cache: a job made again asks about new pairs only.


use rule cpu_job as signals_sar with:
    input:
        generations=GENERATIONS,
        benchmark=ITEMS,
    output:
        expand(SIGNALS, family="sar", allow_missing=True),
    log:
        f"{LOGS}/signals/sar/{{model}}/{{benchmark}}.log",
    conda:
        GENERATE_ENV
    threads: CONFIG.generation.threads
    resources:
        gpu=1,
        mem_mb=8000,
        runtime=240,
    params:
        **calls("study.stages.signal_stage.write_signals", module_of("sar")),
        family="sar",
        settings=generation_requests.comparing_settings(CONFIG, "sar"),

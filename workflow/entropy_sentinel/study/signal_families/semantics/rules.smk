# Needs: items of a benchmark and a model's responses to them, several per item; for `nli` and `embedding` the weights
#        of a classifier or an encoder, and preferably a GPU.
# Makes: results/<study>/signals/semantics/{model}/{benchmark}.parquet
#
# A classifier's scores of pairs of texts are cached: if a job runs again, it computes only new pairs.

from entropy_sentinel.study.semantic_clustering.backend_settings import BACKENDS

BACKEND = BACKENDS[CONFIG.signals.semantics.backend]


use rule cpu_job as signals_semantics with:
    input:
        generations=GENERATIONS,
        benchmark=ITEMS,
    output:
        expand(SIGNALS, family="semantics", allow_missing=True),
    log:
        f"{LOGS}/signals/semantics/{{model}}/{{benchmark}}.log",
    benchmark:
        f"{LOGS}/signals/semantics/{{model}}/{{benchmark}}.tsv"
    conda:
        GENERATE_ENV if BACKEND.weights else CPU_ENV
    threads: CONFIG.generation.threads if BACKEND.weights else 1
    resources:
        gpu=1 if BACKEND.weights else 0,
        mem_mb=8000 if BACKEND.weights else 4000,
        runtime=240 if BACKEND.weights else 30,
    params:
        **calls("study.stages.signal_stage.write_signals", module_of("semantics")),
        family="semantics",
        settings=generation_requests.comparing_settings(CONFIG, "semantics"),

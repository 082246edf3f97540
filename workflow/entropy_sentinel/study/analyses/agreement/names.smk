# What the analysis `agreement` calls its files, and what it shows: constants and functions for rules.smk.

from entropy_sentinel.study.analyses.agreement import agreement_exhibits as agreement_catalogue

AGREEMENT = CONFIG.analyses.agreement
AGREEMENT_RESULTS = f"{RESULTS}/agreement"
AGREEMENT_TABLES = [f"{AGREEMENT_RESULTS}/tables/table_{name}" for name in AGREEMENT.tables]
AGREEMENT_LABELS = [
    {"judge": judge, "model": model, "benchmark": benchmark}
    | {"path": LABELS.format(judge=judge, model=model, benchmark=benchmark)}
    for judge in JUDGES
    for model in MODELS
    for benchmark in BENCHMARKS
    if benchmark not in label_requests.find_benchmark_judges(CONFIG)
]
AGREEMENT_ESTIMATES = [
    {"judge": judge, "path": ESTIMATES.format(judge=judge, model=model, group=group_file(group.group_id))}
    for judge in JUDGES
    for model in MODELS
    for group in group_estimates.find_report_groups(CONFIG).values()
]
AGREEMENT_SETTINGS = {**shown(AGREEMENT), "own_judges": label_requests.find_benchmark_judges(CONFIG)}

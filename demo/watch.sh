#!/bin/sh
# What a team does with the logs of its deployed model, tiny-1m, after `make demo` has answered and labelled the demo's
# benchmarks: fit an estimator on these, watch two weeks of logs, choose 30 responses, have them labelled, look again.
# Every command is shown as a person would type it.
set -e

folder=results/demo/monitor
mkdir -p $folder

run() {
    printf '\n$ %s\n\n' "$*"
    "$@"
}

# Alerts have an exit status of their own, for a scheduler; here they are what the demo shows.
watch() {
    run entropy-sentinel monitor $folder/tiny-1m.estimator demo/logs --by metadata.route --window week \
        --reference 2026-11-02..2026-11-08 --alert-on drop --state $folder/state "$@" || [ $? -eq 4 ]
}

run entropy-sentinel fit results/demo/features/tiny-1m --labels results/demo/labels/math-verify/tiny-1m \
    --output $folder/tiny-1m.estimator
rm -rf $folder/state # a state is of one estimator
watch
run entropy-sentinel sample $folder/tiny-1m.estimator demo/logs/week-2.jsonl.gz --by metadata.route --budget 30 \
    --output $folder/to_label.csv --html $folder/label.html
run python demo/label.py $folder/to_label.csv $folder/labelled.csv
watch --labels $folder/labelled.csv --page $folder/page.html
printf '\nThe page: %s/page.html; one to label responses on: %s/label.html\n' $folder $folder

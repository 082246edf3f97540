#!/bin/sh
# Watches one model. A timer or cron runs it in a folder that has the estimator and the logs; what was read before is in
# `state`. Change the columns, the reference and what is an alert.
mkdir -p labels metrics

# Every Monday, choose 20 responses of the last seven days to label: open the page, and save the labels in the folder
# `labels`. They find what log-probabilities cannot show: a model that has become wrong and stays confident.
recent=$(find logs/ -type f -mtime -7)
if [ "$(date +%u)" = 1 ] && [ -n "$recent" ]; then
    # shellcheck disable=SC2086  # a file name with spaces would be several names
    entropy-sentinel sample mine.estimator $recent --by metadata.route --budget 20 \
        --output "to-label-$(date +%F).csv" --html "to-label-$(date +%F).html"
fi

set --
for file in labels/*; do
    [ ! -f "$file" ] || set -- "$@" --labels "$file"
done
exec entropy-sentinel monitor mine.estimator logs --by metadata.route --window day \
    --reference 2026-11-02..2026-11-08 --alert-on drop --alert-on stale --alert-on contradicted "$@" \
    --state state --metrics metrics/entropy-sentinel.prom --page page.html

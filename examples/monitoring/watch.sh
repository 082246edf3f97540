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

# Run the monitor with the labels and second opinions so far, and with further options.
watch() {
    for file in labels/*; do
        [ ! -f "$file" ] || set -- "$@" --labels "$file"
    done
    for file in opinions/*.csv; do
        [ ! -f "$file" ] || set -- "$@" --judged "$file"
    done
    entropy-sentinel monitor mine.estimator logs --by metadata.route --window day \
        --reference 2026-11-02..2026-11-08 --alert-on drop --alert-on stale --alert-on contradicted "$@"
}

# SECOND_OPINION_USD is the most that a stronger model may cost in a night; without it, nothing is asked. That model
# (SECOND_OPINION, such as openai/gpt-4o, at SECOND_OPINION_URL if it is your own) answers 30 questions of each slice
# that is new, unlike all labelled domains, or has dropped: of the last two days, and of the last 14 to compare a drop
# with the days before. The monitor counts what both have only once. SECOND_OPINION_INPUT and SECOND_OPINION_OUTPUT are its prices per million tokens; the provider's
# key is in the environment. Replies are cached, so an answer is paid for once. If the money is spent before all questions
# are answered, each slice has its share of the answers.
if [ -n "$SECOND_OPINION" ] && [ -n "$SECOND_OPINION_USD" ]; then
    mkdir -p opinions
    rm -f ask.csv state.ask
    [ ! -f state ] || cp state state.ask
    watch --state state.ask --ask ask.csv > /dev/null 2>&1
    rm -f state.ask
    n_slices=$(($(wc -l < ask.csv 2> /dev/null || echo 1) - 1))
    for days in 2 14; do
        logs=$(find logs/ -type f -mtime "-$days")
        [ "$n_slices" -gt 0 ] && [ -n "$logs" ] || continue
        rm -f to-ask.csv
        # shellcheck disable=SC2086
        entropy-sentinel sample mine.estimator $logs --by metadata.route --slices ask.csv \
            --per-slice 30 --max-per-slice 30 --budget $((30 * n_slices)) --output to-ask.csv > /dev/null
        # Without a file, these days have no response of the slices.
        [ -f to-ask.csv ] || continue
        entropy-sentinel judge to-ask.csv --second-opinion "$SECOND_OPINION" \
            ${SECOND_OPINION_URL:+--base-url "$SECOND_OPINION_URL"} \
            --budget-usd "$(awk -v usd="$SECOND_OPINION_USD" 'BEGIN { print usd / 2 }')" \
            --usd-per-million-input-tokens "$SECOND_OPINION_INPUT" \
            --usd-per-million-output-tokens "$SECOND_OPINION_OUTPUT" --output "opinions/$(date +%F)-$days.csv"
    done
fi

watch --state state --metrics metrics/entropy-sentinel.prom --page page.html

#!/bin/sh
# Watches one model. A timer or cron runs it in a folder that has the estimator and the logs; what was read before is in
# `state`. Change the columns, the reference and what is an alert.
exec entropy-sentinel monitor mine.estimator logs --by metadata.route --window day \
    --reference 2026-11-02..2026-11-08 --alert-on drop --alert-on stale \
    --state state --metrics metrics/entropy-sentinel.prom --page page.html

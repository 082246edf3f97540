"""Turn sums into estimates: a row per slice and window, changes, flags and alerts."""

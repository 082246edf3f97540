"""Errors, intervals, splits, agreement, calibration, drops and allocation: formulas over plain numbers.

It imports no other room, so each formula can be read and tested by itself. `monitoring` has those that no study uses.
May be imported by: `logs`, `signal_families` and every room above.
"""

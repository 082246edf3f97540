"""Errors, intervals, splits, agreement, calibration, drops and allocation: statistics that several rooms use."""

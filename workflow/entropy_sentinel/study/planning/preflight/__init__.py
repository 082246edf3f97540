"""Checks of a study before its first job: what a run would lack is told before anything is computed or paid for."""

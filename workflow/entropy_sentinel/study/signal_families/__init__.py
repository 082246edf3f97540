"""Families of signals for which a study asks its model, or another one, again; one folder each.

They are found by name: planning imports what a family declares, and only a job what it computes.
Within `study`, may be imported by: `config` and every room above.
"""

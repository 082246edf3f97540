"""Analyses of the stages' files, one folder per question.

A new table or figure is a function in a folder here, declared in its `catalogue.py`.
Each folder has settings, catalogue and rules of its own.
Within `study`, may be imported by: `cli`, and papers.
"""

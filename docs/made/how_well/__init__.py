"""The page "How well does it work?": what real models' answers show, with every number computed here.

`PYTHONPATH=docs:workflow python -m made.how_well results docs` writes docs/how_well.md and its picture from the
results of `make study-real study-kinds`.
"""

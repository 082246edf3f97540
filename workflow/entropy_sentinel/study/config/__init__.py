"""The configuration: all sections combined, loaded and checked.

A room owns its section (`settings.py`); this one checks names across sections. It imports nothing heavy.
Within `study`, may be imported by: `jobs` and every room above.
"""

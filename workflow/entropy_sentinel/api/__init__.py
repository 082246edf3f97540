"""The verbs of a notebook and of the command: read logs, compute features, fit, estimate.

`entropy_sentinel/__init__.py` finds them by name, as `es.fit` and so on; a job of a study calls none.
May be imported by: `monitor` and every room above.
"""

"""Questions and references: rows of data sets and local files as items, and imported traces, labels and passes.

Within `study`, may be imported by: `engines` and every room above.
"""

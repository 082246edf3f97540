"""The remaining work of a study, its time, its cost and what it lacks, read from its files.

Within `study`, may be imported by: `cli`.
"""

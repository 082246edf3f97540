"""Write the config of a new study, from files of rows or a log.

Within `study`, may be imported by: `cli`.
"""

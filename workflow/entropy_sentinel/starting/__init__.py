"""The config of a new study, written from what is found in files of rows or in a log."""

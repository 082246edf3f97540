"""The report and the summaries: what is said of a study, in which words."""

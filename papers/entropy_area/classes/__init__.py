"""Classes of answers as a judge compares them, apart from what needs no judge."""

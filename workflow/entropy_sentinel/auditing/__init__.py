"""People label a sample of what a judge has labelled, and what follows for the judge."""

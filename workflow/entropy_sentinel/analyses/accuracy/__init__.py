"""How accurate the estimates are: the tables and figures of the paper."""

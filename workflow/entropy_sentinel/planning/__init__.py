"""The remaining work of a study, its time and its cost, read from its files."""

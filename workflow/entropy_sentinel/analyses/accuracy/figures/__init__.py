"""The figures of the catalogue, a module per kind."""

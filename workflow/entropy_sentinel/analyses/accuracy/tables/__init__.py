"""The tables of the catalogue, a module per kind."""

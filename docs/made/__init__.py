"""Generate pages of the documentation site from the package."""

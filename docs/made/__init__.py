"""Pages of the documentation site that are made from the package when the site is built."""

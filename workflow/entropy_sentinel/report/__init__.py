"""The common look of tables, figures, pages and terminal output."""

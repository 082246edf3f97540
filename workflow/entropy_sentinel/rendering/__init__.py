"""The common look of tables, figures, pages and terminal output.

Pages load nothing from elsewhere: templates, styles and pictures are in the file.
May be imported by: `judges`, `estimators` and every room above.
"""

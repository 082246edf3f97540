"""Layer 4: what a person sees: tables, figures, the report and the closing summary."""

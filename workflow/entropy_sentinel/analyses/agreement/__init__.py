"""How far the judges of a study agree, and what the difference does to its estimates."""

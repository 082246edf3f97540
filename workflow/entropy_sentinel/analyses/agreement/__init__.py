"""Agreement of a study's judges, and how their differences affect its estimates."""

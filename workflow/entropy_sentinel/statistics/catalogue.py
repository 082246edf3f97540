"""What a study can name of this room: the ways to adjust intervals, by name, with their titles."""

ADJUSTMENTS: dict[str, str] = {
    "base": "As stated",
    "conformal": "Split conformal",
    "normalised": "Conformal, by the width",
    "mondrian": "Conformal, by group",
    "cqr": "Conformal quantile regression",
}

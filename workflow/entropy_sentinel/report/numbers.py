"""How numbers are shown."""


def number(value: float | None, form: str = ".3f") -> str:
    """A number as text, "-" for null."""
    return "-" if value is None else format(value, form)

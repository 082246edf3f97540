"""How a table or figure is called in files, on the page and in captions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Exhibit:
    """A table or figure: `kind` is `table` or `figure`, `name` begins with the paper's number if it has one."""

    kind: str
    name: str
    title: str

    @property
    def file(self) -> str:
        """Its files without their suffix, and its anchor: `table_2_by_model`."""
        return f"{self.kind}_{self.name}"

    @property
    def folder(self) -> str:
        """Where its files lie beside the page that shows it: `tables`."""
        return f"{self.kind}s"

    @property
    def published(self) -> "Exhibit":
        """The published values of this one."""
        return Exhibit(self.kind, f"{self.name}_published", f"{self.title}, beside the paper")

    @property
    def heading(self) -> str:
        """`Table 2: AEE and rho by model`; the title alone where the paper has no such table."""
        number = self.name.partition("_")[0]
        return f"{self.kind.title()} {number}: {self.title}" if number.isdigit() else self.title

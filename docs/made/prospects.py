"""The page about numbers of labels: how often a validation says `usable`."""

from entropy_sentinel.monitor.labelling.prospects import ASSUMES, TABLE, read_table
from made.markdown import table


def page() -> str:
    """Return the page: for each mean error, a table by number of domains and of labels in each."""
    cells = read_table()
    parts = [
        "# What labels can show\n",
        "How often the validation of `fit` says `usable`, by the number of labelled domains, the labels per domain, "
        "and the estimator's mean error on new domains. `sample` without an estimator "
        f"shows the same numbers; `make bench-usable ARGS=--write` simulates them ({TABLE.name}). {ASSUMES}\n",
    ]
    for (error,), rows in cells.group_by("error", maintain_order=True):
        wide = rows.pivot("labels", index="domains", values="usable")
        head = ["domains", *(f"{labels} labels each" for labels in wide.columns[1:])]
        parts += [
            f"## Mean error {error:.2f}\n",
            table(head, ([str(domains), *(f"{share:.0%}" for share in shares)] for domains, *shares in wide.rows())),
        ]
    return "\n".join(parts)

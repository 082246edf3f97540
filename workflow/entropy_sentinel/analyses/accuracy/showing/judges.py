"""What a judge that is made of others asked each of them, from what its labels say of themselves."""

from collections import Counter
from typing import Any

from entropy_sentinel.report.origins import Provenance


def asked_judges(labels: Provenance) -> list[dict[str, Any]]:
    """What each judge that a judge is made of was asked about and labelled, per model and benchmark."""
    return [
        {"model": entry["model"], "benchmark": entry["benchmark"], "judge": judge, **counts}
        for entry in labels
        for judge, counts in entry.get("counts", {}).items()
    ]


def savings(labels: Provenance) -> list[str]:
    """One sentence for each judge that was asked about a part of the responses only, which is what saves money."""
    asked, every = Counter[str](), Counter[str]()
    for entry in labels:
        most = max((counts["asked"] for counts in entry.get("counts", {}).values()), default=0)
        for judge, counts in entry.get("counts", {}).items():
            asked[judge] += counts["asked"]
            every[judge] += most
    return [
        f"{judge} was asked about {asked[judge]} of {count} responses ({1 - asked[judge] / count:.1%} saved)."
        for judge, count in every.items()
        if asked[judge] < count
    ]

"""The order of the tests: files with slow ones begin first, so that no worker works long after the others."""

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of runs of the workflow, other files with slow tests, the rest; the order within each stays."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, "workflow" not in item.path.parts))

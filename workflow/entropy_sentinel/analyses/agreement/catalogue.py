"""The tables of this analysis: name and title. The function of one, `table_<name>`, stands in `tables.py`."""

TABLES: dict[str, str] = {
    "agreement": "Agreement of the judges",
    "errors": "Errors of the estimates under each judge",
    "accuracies": "True and estimated accuracy under each judge",
}

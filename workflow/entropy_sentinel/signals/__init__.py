"""Families of signals other than the 17 features, one folder each; `catalogue` lists them, `computing` runs them.

Families for which a model is asked again are in study/signals.
May be imported by: `report`, `llm_client` and every room above; `computing` by `judges`, `estimators` and so on.
"""

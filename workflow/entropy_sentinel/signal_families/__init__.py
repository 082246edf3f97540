"""Families of signals other than the 17 features, one folder each; `catalogue` lists them, `computing` runs them.

Families for which a model is asked again are in study/signal_families.
May be imported by: `rendering`, `llm_client` and every room above;
`signal_computation` by `judges`, `estimators` and so on.
"""

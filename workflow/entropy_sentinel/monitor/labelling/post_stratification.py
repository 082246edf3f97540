"""Use labels that were drawn by another column than the one that is watched: post-stratification.

Labels drawn by topic represent each topic, not each route. Within a route, the labels of a topic are a random sample of
the route's responses of this topic, if the topic's labels represent the topic. So each topic gets its share of the
route's responses as weight, distributed among its labels by their sampling weights (Holt and Smith 1979). Topics that
nobody sampled, or in another period only, are not represented.
"""

import polars as pl

from entropy_sentinel.monitor.reading.dependence import STRATUM

# A stratum is represented if the weights of its labels add up to at least this share of its responses; without labels
# of some weeks, they do not.
LEAST_OF_STRATUM = 0.6
# The least share of a slice's responses in represented strata.
LEAST_COVERED = 0.9


def weigh_by_strata(
    labelled: pl.DataFrame, responses: pl.DataFrame, sample: pl.DataFrame, population: pl.DataFrame, weight: str
) -> pl.DataFrame | None:
    """A slice's labels with weights by stratum; null if they do not represent the slice.

    A stratum is the responses with the same values of the columns by which labels were drawn. `labelled` and
    `responses` are those of the slice; `sample` are all responses that somebody was asked to label, and `population`
    those of all slices. They have STRATUM and, in `labelled` and `sample`, `weight`. A stratum that is represented, but
    by chance has no label in the slice, is represented by the others.
    """
    weights = sample.group_by(STRATUM).agg(pl.col(weight).sum().alias("weights"))
    sizes = population.group_by(STRATUM).agg(pl.len().alias("size"))
    is_represented = pl.col("weights") >= LEAST_OF_STRATUM * pl.col("size")
    represented = weights.join(sizes, on=STRATUM).filter(is_represented)
    within = responses.group_by(STRATUM).agg(pl.len().alias("size")).join(represented, on=STRATUM, how="semi")
    if within["size"].sum() < LEAST_COVERED * len(responses):
        return None
    # The weights of a stratum's labels add up to its responses in the slice.
    total = pl.col(weight).sum().over(STRATUM)
    usable = labelled.join(within, on=STRATUM, maintain_order="left")
    if usable.is_empty():
        return None
    return usable.with_columns((pl.col(weight) * pl.col("size") / total).alias(weight)).drop("size")

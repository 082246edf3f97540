"""What the analysis shows: the config's section `presentation`."""

from pydantic import Field

from entropy_sentinel.frames.sections import Settings


class Presentation(Settings):
    """What the tables and figures show."""

    label: str = Field("", description="shown with every table and figure, e.g. that this is a demo")
    auroc_models: list[str] = Field(description="models of Table 1; the others go to Table 6")
    auroc_benchmarks: list[str] = Field(description="benchmarks of Tables 1 and 6")
    figure_model: str = Field(description="model of Figures 1 and 2")
    figure_benchmark: str = Field(description="benchmark of Figure 2")
    headline_group: str = Field("extremes", description="named group of Figures 1 and 3 and of the summary")

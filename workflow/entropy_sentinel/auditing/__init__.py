"""People label a sample of what a judge has labelled: the draw, the page and terminal to label it, the comparison."""

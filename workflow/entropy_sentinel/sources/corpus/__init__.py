"""A folder of texts in which answers are counted: the probability of each right answer by what is written."""

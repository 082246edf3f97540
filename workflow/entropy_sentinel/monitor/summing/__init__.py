"""Sum responses by slice and window; sums are added up over files and kept between runs."""

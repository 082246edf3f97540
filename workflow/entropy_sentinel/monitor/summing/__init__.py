"""Sum responses by slice and window; sums add up over files and are kept between runs."""

"""Responses to sums by slice and window, which add up over files and are kept between runs."""
